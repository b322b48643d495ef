//! The whole hosts file, part by part.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::{host, links};
use crate::model::hosts::{Host, Hosts, Transport};
use crate::yaml::{self, Complaint, Entry, Fields, Node, Source, Span, has_errors};

pub(super) const KEYS: [&str; 4] = ["hosts", "links", "lease", "require"];

const LEASE_MS: u64 = 10_000;
/// Shorter leases end on a busy machine without a fault; longer ones leave a dead job running.
const LEASES_MS: std::ops::RangeInclusive<u64> = 1_000..=600_000;

/// What came of a hosts file. There are hosts where no complaint is an error.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// None where a complaint is an error.
    pub hosts: Option<Hosts>,
    /// Everything that is wrong, in no order.
    pub complaints: Vec<Complaint>,
}

/// The places that checks across hosts point at: hosts, and ports as `host.port`.
pub(super) type Places = BTreeMap<String, Span>;

/// Reads a hosts file and complains about all that is wrong with it at once.
pub fn parse(source: &Source) -> Parsed {
    let mut out = Vec::new();
    let root = yaml::read(source, &mut out);
    let hosts = root.and_then(|root| {
        if let Some(entry) = campaign_key(&root) {
            let complaint = Complaint::error(entry.key.span, "expected a hosts file, but this is a campaign");
            out.push(complaint.help("name the file that stands after `hosts:` in it"));
            return None;
        }
        let fields = Fields::open(&root, root.span, "the hosts file", &KEYS, &mut out)?;
        whole(&fields, source, &mut out)
    });
    Parsed { hosts: hosts.filter(|_| !has_errors(&out)), complaints: out }
}

/// The key that every campaign has and no hosts file.
fn campaign_key(root: &Node) -> Option<&Entry> {
    let entries = root.entries("the hosts file", &mut Vec::new())?;
    entries.iter().find(|entry| entry.key.value == "campaign")
}

fn whole(fields: &Fields<'_>, source: &Source, out: &mut Vec<Complaint>) -> Option<Hosts> {
    let lease_ms = fields
        .get("lease")
        .map_or(Some(LEASE_MS), |entry| entry.value.duration_ms("`lease`", LEASES_MS, out));
    let shared = match fields.get("require") {
        Some(entry) => host::requirements(&entry.value, source, out),
        None => IndexMap::new(),
    };
    let declared = fields.need("hosts", "the hosts file", out)?;
    let entries = declared.value.entries("`hosts`", out)?;
    if entries.is_empty() {
        out.push(Complaint::error(declared.key.span, "`hosts`: expected at least one host, found none"));
    }
    let mut places = Places::new();
    let mut hosts: IndexMap<String, Host> = IndexMap::new();
    for entry in entries {
        places.insert(entry.key.value.clone(), entry.key.span);
        if let Some(host) = host::read(entry, &shared, source, &mut places, out) {
            hosts.insert(entry.key.value.clone(), host);
        }
    }
    one_local(entries, &hosts, out);
    // A link to a host that could not be read is no fault of the link.
    if hosts.len() < entries.len() {
        return None;
    }
    let links = links::read(fields.get("links"), &hosts, out)?;
    links::check_lab(&hosts, &links, &places, out);
    Some(Hosts { hosts, links, lease_ms: lease_ms? })
}

/// A machine serves one campaign, and one agent, at a time.
fn one_local(entries: &[Entry], hosts: &IndexMap<String, Host>, out: &mut Vec<Complaint>) {
    let is_local =
        |entry: &&Entry| hosts.get(&entry.key.value).map(|host| &host.transport) == Some(&Transport::Local);
    let local: Vec<&Entry> = entries.iter().filter(is_local).collect();
    if let [first, second, ..] = local[..] {
        let message = format!("`{}` and `{}` are both this machine", first.key.value, second.key.value);
        let complaint = Complaint::error(second.key.span, message).also(first.key.span, "the first one");
        out.push(complaint.help("give one host all the ports, or use `transport: netns`"));
    }
}
