//! What the campaign held on its hosts, what moved all the same, and in what the hosts differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::origin::flatten;
use crate::evidence::fold::Evidence;

/// Facts that tell hosts apart anyway and say nothing of the numbers, or that move by themselves.
const OWN: [&str; 8] = ["hostname", "boot_id", "machine_id", "load_1m", "uptime", "time", "mac", "address"];

/// Held, moved and different, as sentences of one host or several.
#[derive(Debug, Serialize)]
pub struct HeldView {
    /// Host, setting and its change; equal ones of several sessions are one.
    pub held: Vec<(String, String)>,
    /// Host, fact, before, after, when.
    pub moved: Vec<[String; 5]>,
    /// Fact, and each value with the hosts that have it.
    pub differ: Vec<(String, String)>,
    /// What is still not as it was before: host and setting.
    pub stuck: Vec<(String, String)>,
}

/// Reads settings, changes and facts of a record.
pub fn held(evidence: &Evidence) -> HeldView {
    let settings: BTreeSet<(String, String)> =
        evidence.settings.iter().map(|(_, n)| (n.host.clone(), n.applied.to_string())).collect();
    let moved = evidence.changes.iter().map(|(_, n)| {
        [n.host.clone(), n.fact.clone(), n.was.clone(), n.now.clone(), format!("after block {}", n.after)]
    });
    let stuck = evidence.stuck();
    let stuck =
        stuck.into_iter().flat_map(|(host, stuck)| stuck.iter().map(move |s| (host.to_owned(), s.clone())));
    HeldView {
        held: settings.into_iter().collect(),
        moved: moved.collect(),
        differ: differ(evidence),
        stuck: stuck.collect(),
    }
}

/// Facts that are not the same on all hosts.
fn differ(evidence: &Evidence) -> Vec<(String, String)> {
    let mut last: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    for (_, note) in &evidence.hosts {
        let mut facts = vec![];
        for (name, value) in note.facts.iter().filter(|(name, _)| *name != "ports") {
            flatten(name, value, &mut facts);
        }
        last.insert(&note.host, facts);
    }
    let mut by_fact: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for (host, facts) in &last {
        for (name, value) in facts.iter().filter(|(name, _)| !OWN.iter().any(|own| name.contains(own))) {
            by_fact.entry(name).or_default().entry(value).or_default().push(host);
        }
    }
    let told = |values: &BTreeMap<&str, Vec<&str>>| {
        values.iter().map(|(v, hosts)| format!("{v} on {}", hosts.join(", "))).collect::<Vec<_>>().join("; ")
    };
    let several = by_fact.iter().filter(|(_, values)| values.len() > 1);
    several.map(|(name, values)| ((*name).to_owned(), told(values))).collect()
}
