//! What the campaign held on its hosts, what moved all the same, and in what the hosts differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::number::plural;
use super::origin::flatten;
use crate::evidence::fold::Evidence;

/// Facts that tell hosts apart anyway and say nothing of the numbers, or that move by themselves.
const OWN: [&str; 8] = ["hostname", "boot_id", "machine_id", "load_1m", "uptime", "time", "mac", "address"];

/// Rows of what jobs were held to; the journal has all.
const MOST: usize = 40;

/// Held, moved and different, as sentences of one host or several.
#[derive(Debug, Serialize)]
pub struct HeldView {
    /// Host, setting and its change; equal ones of several sessions are one.
    pub held: Vec<(String, String)>,
    /// What single jobs were held to, as it was found on the host: role and host, what, in how many jobs.
    pub jobs: Vec<(String, String, String)>,
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
        jobs: jobs(evidence),
        moved: moved.collect(),
        differ: differ(evidence),
        stuck: stuck.collect(),
    }
}

/// Processors and page cache of the jobs that were confined to some, or asked for some state of it.
fn jobs(evidence: &Evidence) -> Vec<(String, String, String)> {
    let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
    for role in evidence.runs.iter().flat_map(|row| &row.note.roles) {
        let report = &role.report;
        let cpus = report.cpus.as_ref().map(|cpus| {
            let list = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            format!("processors {list} alone")
        });
        let cache = report.cache.map(|cache| {
            let state = super::view::word(cache.asked);
            format!("inputs {state} in the page cache, {} of {} pages there", cache.resident, cache.pages)
        });
        for held in cpus.into_iter().chain(cache) {
            *found.entry((format!("{} on {}", role.title(), role.host), held)).or_default() += 1;
        }
    }
    found.into_iter().take(MOST).map(|((of, held), n)| (of, held, plural(n, "job"))).collect()
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
