//! One host of the inventory: how it is reached, its ports and its requirements.

use std::collections::BTreeMap;
use std::path::PathBuf;

use indexmap::IndexMap;

use super::parse::Places;
use crate::model::facts;
use crate::model::hosts::{Become, Host, Port, Transport};
use crate::rule::{Condition, Rule};
use crate::yaml::{Complaint, Entry, Fields, Loc, Node, Source, unknown};

pub(super) const HOST_KEYS: [&str; 7] = ["transport", "ssh", "user", "config", "become", "ports", "require"];
pub(super) const PORT_KEYS: [&str; 3] = ["interface", "expect", "queues"];
/// More than a lab in a box has use for.
const MOST_QUEUES: u64 = 64;
/// Keys that only mean something for a host reached over ssh.
const SSH_KEYS: [&str; 4] = ["ssh", "user", "config", "become"];
/// `IFNAMSIZ` is 16 with the closing NUL.
const LONGEST_INTERFACE: usize = 15;

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Ssh,
    Netns,
    Local,
}

/// Reads one host; `shared` are the requirements of every host.
pub(super) fn read(
    entry: &Entry,
    shared: &IndexMap<String, String>,
    source: &Source,
    places: &mut Places,
    out: &mut Vec<Complaint>,
) -> Option<Host> {
    let name = entry.key.value.as_str();
    let named = name_of(&entry.key, "a host", out);
    let what = format!("the host `{name}`");
    let fields = Fields::open(&entry.value, entry.key.span, &what, &HOST_KEYS, out)?;
    let transport = transport(&fields, name, &what, out);
    let ports = match fields.get("ports") {
        Some(entry) => ports(entry, name, transport.as_ref(), places, out),
        None => Some(IndexMap::new()),
    };
    let mut requirements = shared.clone();
    if let Some(require) = fields.get("require") {
        for (key, rule) in self::requirements(&require.value, source, out) {
            if requirements.insert(key.clone(), rule).is_some() {
                let message = format!("{what}: the requirement `{key}` is already one of every host");
                out.push(Complaint::error(require.key.span, message).help("give it another name"));
            }
        }
    }
    named.then_some(())?;
    Some(Host { name: name.to_owned(), transport: transport?, ports: ports?, requirements })
}

/// Hosts and ports are named in `host.port`, so neither may hold a dot.
fn name_of(key: &Loc<String>, what: &str, out: &mut Vec<Complaint>) -> bool {
    let name = &key.value;
    let fits = name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|each| each.is_ascii_alphanumeric() || "_-".contains(each))
        && name.len() <= 64;
    if !fits {
        let message =
            format!("the name of {what}: expected letters, digits, `_` and `-`, at most 64, found `{name}`");
        out.push(Complaint::error(key.span, message));
    }
    fits
}

fn transport(fields: &Fields<'_>, name: &str, what: &str, out: &mut Vec<Complaint>) -> Option<Transport> {
    let ways = [("ssh", Way::Ssh), ("netns", Way::Netns), ("local", Way::Local)];
    let way = match (fields.get("transport"), fields.get("ssh")) {
        (Some(entry), _) => entry.value.choice("`transport`", &ways, out)?,
        (None, Some(_)) => Way::Ssh,
        (None, None) => {
            let message = format!("{what} lacks the key `transport`");
            let help = "write `transport: netns`, `transport: local` or `ssh: ALIAS`";
            out.push(Complaint::error(fields.at, message).label("missed here").help(help));
            return None;
        }
    };
    if way != Way::Ssh {
        for key in SSH_KEYS {
            if let Some(entry) = fields.get(key) {
                let message = format!("{what}: `{key}` only means something for a host reached over ssh");
                out.push(Complaint::error(entry.key.span, message).help("take it out"));
            }
        }
    }
    match way {
        Way::Netns => Some(Transport::Netns),
        Way::Local => Some(Transport::Local),
        Way::Ssh => ssh(fields, name, out),
    }
}

fn ssh(fields: &Fields<'_>, name: &str, out: &mut Vec<Complaint>) -> Option<Transport> {
    let mut word = |key: &str| match fields.get(key) {
        Some(entry) => ssh_word(&entry.value, key, out).map(Some),
        None => Some(None),
    };
    let (alias, user) = (word("ssh"), word("user"));
    let config = match fields.get("config") {
        Some(entry) => entry.value.words("`config`", out).map(|text| Some(PathBuf::from(text.value))),
        None => Some(None),
    };
    let choices = [("sudo", Become::Sudo), ("no", Become::No)];
    let r#become = match fields.get("become") {
        Some(entry) => entry.value.choice("`become`", &choices, out),
        None => Some(Become::No),
    };
    let alias = alias?.unwrap_or_else(|| name.to_owned());
    Some(Transport::Ssh { alias, user: user?, config: config?, r#become: r#become? })
}

/// A word that `ssh` is given: a leading `-` would be read as an option of it.
fn ssh_word(node: &Node, key: &str, out: &mut Vec<Complaint>) -> Option<String> {
    let text = node.words(&format!("`{key}`"), out)?;
    let fits = !text.value.starts_with('-')
        && !text.value.chars().any(|each| each.is_whitespace() || each.is_control());
    if !fits {
        node.expected(&format!("`{key}`"), "one word that does not begin with `-`", out);
        return None;
    }
    Some(text.value.to_owned())
}

fn ports(
    entry: &Entry,
    host: &str,
    transport: Option<&Transport>,
    places: &mut Places,
    out: &mut Vec<Complaint>,
) -> Option<IndexMap<String, Port>> {
    let mut ports = Some(IndexMap::new());
    let mut interfaces: BTreeMap<String, &Loc<String>> = BTreeMap::new();
    for Entry { key, value } in entry.value.entries("`ports`", out)? {
        places.insert(format!("{host}.{}", key.value), key.span);
        let named = name_of(key, "a port", out);
        match port(value, key, transport, out) {
            Some(port) if named => {
                if let Some(first) = interfaces.insert(port.interface.clone(), key) {
                    let message =
                        format!("the ports `{}` and `{}` name the same interface", first.value, key.value);
                    out.push(Complaint::error(key.span, message).also(first.span, "the other one"));
                }
                ports.as_mut().map(|ports| ports.insert(key.value.clone(), port));
            }
            _ => ports = None,
        }
    }
    ports
}

fn port(
    node: &Node,
    key: &Loc<String>,
    transport: Option<&Transport>,
    out: &mut Vec<Complaint>,
) -> Option<Port> {
    let what = format!("the port `{}`", key.value);
    let fields = Fields::open(node, key.span, &what, &PORT_KEYS, out)?;
    let interface = fields.need("interface", &what, out).and_then(|entry| interface(&entry.value, out));
    let mut expect = BTreeMap::new();
    if let Some(entry) = fields.get("expect") {
        for Entry { key, value } in entry.value.entries("`expect`", out)? {
            let text = value.words(&format!("`expect.{}`", key.value), out)?;
            expect.insert(key.value.clone(), text.value.to_owned());
        }
    }
    let queues = fields.get("queues").map_or(Some(1), |entry| {
        if transport.is_some_and(|transport| *transport != Transport::Netns) {
            let message = format!("{what}: `queues` only means something for a port that fieldtrial makes");
            let help = "take it out; what a real port must have stands in `expect`";
            out.push(Complaint::error(entry.key.span, message).help(help));
        }
        entry.value.count("`queues`", 1..=MOST_QUEUES, out)
    });
    Some(Port { interface: interface?, expect, queues: queues? as u32 })
}

/// What the kernel takes as the name of an interface (`dev_valid_name`), except the loopback.
fn interface(node: &Node, out: &mut Vec<Complaint>) -> Option<String> {
    let text = node.text("`interface`", out)?.value;
    let odd = |each: char| each.is_whitespace() || each.is_control() || "/:%".contains(each);
    let fits =
        (1..=LONGEST_INTERFACE).contains(&text.len()) && !text.contains(odd) && ![".", ".."].contains(&text);
    if !fits || text.starts_with('-') {
        node.expected("`interface`", "the name of an interface, at most 15 characters (like `enp1s0`)", out);
        return None;
    }
    if text == "lo" {
        node.expected("`interface`", "a port that can be cabled, and the loopback cannot", out);
        return None;
    }
    Some(text.to_owned())
}

/// Requirement name to rule over the facts of the host.
pub(super) fn requirements(
    node: &Node,
    source: &Source,
    out: &mut Vec<Complaint>,
) -> IndexMap<String, String> {
    let mut rules = IndexMap::new();
    for Entry { key, value } in node.entries("`require`", out).unwrap_or(&[]) {
        let Some(text) = value.words(&format!("`require.{}`", key.value), out) else { continue };
        if let Some(condition) = Condition::parse(text.value) {
            if facts::is_known(&condition.fact) {
                rules.insert(key.value.clone(), text.value.to_owned());
            } else {
                let message = format!("no host or port tells a fact `{}`", condition.fact);
                out.push(unknown(value.span, message, &condition.fact, facts::names()));
            }
            continue;
        }
        match Rule::parse(text.value) {
            Ok(_) => drop(rules.insert(key.value.clone(), text.value.to_owned())),
            Err(error) => {
                let span = value.inside(error.offset, &source.text);
                let help = "write a condition over facts like `cpu_count >= 2`, `ntuple on` or `rx_filter can be all`";
                out.push(Complaint::error(span, error.to_string()).help(help));
            }
        }
    }
    rules
}
