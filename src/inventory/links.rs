//! Links: which port is cabled to which.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::parse::Places;
use crate::model::hosts::{Host, PortRef, Transport};
use crate::yaml::{Complaint, Entry, Loc, Node, Span, unknown};

/// Reads `links`; every end must be a port of the file, and no port has two cables.
pub(super) fn read(
    entry: Option<&Entry>,
    hosts: &IndexMap<String, Host>,
    out: &mut Vec<Complaint>,
) -> Option<Vec<(PortRef, PortRef)>> {
    let Some(entry) = entry else { return Some(Vec::new()) };
    let mut used: HashMap<PortRef, Span> = HashMap::new();
    let mut links = Vec::new();
    for item in entry.value.items("`links`", out)? {
        let Some((one, other)) = link(item, hosts, out) else { continue };
        for end in [&one, &other] {
            if let Some(first) = used.insert(end.value.clone(), end.span) {
                let message = format!("the port `{}` has two cables", end.value);
                out.push(Complaint::error(end.span, message).also(first, "the first one"));
            }
        }
        let netns = |end: &PortRef| hosts.get(&end.host).map(|host| host.transport == Transport::Netns);
        if netns(&one.value) != netns(&other.value) {
            let message = "a port of a `netns` host can only be linked to a port of another `netns` host";
            out.push(Complaint::error(item.span, message));
        }
        links.push((one.value, other.value));
    }
    Some(links)
}

fn link(
    node: &Node,
    hosts: &IndexMap<String, Host>,
    out: &mut Vec<Complaint>,
) -> Option<(Loc<PortRef>, Loc<PortRef>)> {
    let [one, other] = node.items("a link", out)? else {
        node.expected("a link", "two ports like `[tx.port0, rx.port0]`", out);
        return None;
    };
    let ends = (end(one, hosts, out), end(other, hosts, out));
    ends.0.zip(ends.1)
}

fn end(node: &Node, hosts: &IndexMap<String, Host>, out: &mut Vec<Complaint>) -> Option<Loc<PortRef>> {
    let text = node.text("the end of a link", out)?;
    let known = hosts.values().flat_map(|host| host.ports.keys().map(|port| format!("{}.{port}", host.name)));
    let known: Vec<String> = known.collect();
    let parts = text.value.split_once('.').filter(|_| known.iter().any(|port| port == text.value));
    let Some((host, port)) = parts else {
        let message = format!("`{}` is no port of this file", text.value);
        out.push(unknown(text.span, message, text.value, known.iter().map(String::as_str)));
        return None;
    };
    Some(Loc::new(PortRef { host: host.to_owned(), port: port.to_owned() }, text.span))
}

/// The embedded lab makes a port by making its link, so each of its ports needs one.
pub(super) fn check_lab(
    hosts: &IndexMap<String, Host>,
    links: &[(PortRef, PortRef)],
    places: &Places,
    out: &mut Vec<Complaint>,
) {
    for host in hosts.values().filter(|host| host.transport == Transport::Netns) {
        for port in host.ports.keys() {
            let end = PortRef { host: host.name.clone(), port: port.clone() };
            if !links.iter().any(|(one, other)| *one == end || *other == end) {
                let span = places.get(&end.to_string()).copied().unwrap_or_default();
                let message =
                    format!("the port `{end}` has no link, and the embedded lab makes ports in pairs");
                out.push(Complaint::error(span, message).help("add it to `links`, or take it out"));
            }
        }
    }
}
