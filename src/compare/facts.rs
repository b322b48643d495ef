//! Facts of two records side by side: files, tools, hosts, programs, work and settings.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Pair;
use super::comparison::FactDifference;
use crate::evidence::event::ProofNote;
use crate::evidence::fold::Evidence;
use crate::model::cell::CellId;

/// Facts that are other ones at every visit and say nothing.
const TRIVIAL: [&str; 2] = ["agent_pid", "gathered_at"];

type Facts = BTreeMap<String, String>;

/// Facts that differ, and the number of those that are the same.
pub fn differences(before: &Evidence, after: &Evidence, pairs: &[Pair]) -> (Vec<FactDifference>, u64) {
    let mut equal = 0;
    let mut found: Vec<FactDifference> = vec![];
    let mut add = |before: &Facts, after: &Facts, cell: Option<&str>| {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (was, now) = (before.get(name), after.get(name));
            if was == now {
                equal += 1;
                continue;
            }
            let same = |d: &&mut FactDifference| {
                d.fact == *name && d.before.as_ref() == was && d.after.as_ref() == now
            };
            match found.iter_mut().find(same) {
                Some(known) => known.cells.extend(cell.map(str::to_owned)),
                None => found.push(FactDifference {
                    fact: name.clone(),
                    before: was.cloned(),
                    after: now.cloned(),
                    cells: cell.iter().map(|cell| (*cell).to_owned()).collect(),
                }),
            }
        }
    };
    add(&of_record(before), &of_record(after), None);
    for pair in pairs {
        add(&of_cell(before, &pair.before), &of_cell(after, &pair.after), Some(&pair.name));
    }
    (found, equal)
}

/// Why two cells did not do the same work, from what their proofs saw on the hosts.
pub fn other_work(before: &Evidence, cell: &CellId, after: &Evidence, other: &CellId) -> Option<String> {
    let (was, now) = (proof(before, cell)?, proof(after, other)?);
    let parts = [(&was.proof.identity, &now.proof.identity), (&was.proof.answer, &now.proof.answer)];
    let differs = parts
        .into_iter()
        .find_map(|(was, now)| was.keys().chain(now.keys()).find(|name| was.get(*name) != now.get(*name)))?;
    Some(format!("it did other work or gave another answer: {differs} differs"))
}

fn proof<'a>(evidence: &'a Evidence, cell: &CellId) -> Option<&'a ProofNote> {
    evidence.proofs.iter().rev().find(|note| note.accepted && note.cell == *cell)
}

fn of_record(evidence: &Evidence) -> Facts {
    let mut facts = Facts::new();
    let mut put = |name: &str, value: String| drop(facts.insert(name.to_owned(), value));
    if let Some((_, session)) = evidence.sessions.first() {
        put("fieldtrial", session.version.clone());
        put("fieldtrial sha256", session.tool_sha256.clone());
    }
    if let Some(opening) = &evidence.opening {
        put("campaign", opening.campaign.clone());
        put("campaign file sha256", opening.campaign_sha256.clone());
        put("hosts file sha256", opening.hosts_sha256.clone());
        put("condition", opening.condition.clone());
        put("timeout", format!("{} ms", opening.timeout_ms));
        put("order of cells", opening.order.clone());
        put("seed", opening.seed.to_string());
        for (name, levels) in &opening.variables {
            put(&format!("levels of {name}"), levels.join(", "));
        }
        for arm in &opening.arms {
            let changes = arm.changes.iter().map(|(name, value)| format!("{name}={value}"));
            put(&format!("arm {}", arm.name), changes.collect::<Vec<_>>().join(", "));
        }
    }
    for (_, note) in evidence.hosts.iter().filter(|(session, _)| *session == 0) {
        put(&format!("{}: transport", note.host), note.transport.clone());
        put(&format!("{}: isolation", note.host), note.isolation.clone());
        for (name, value) in note.facts.iter().filter(|(name, _)| !TRIVIAL.contains(&name.as_str())) {
            flatten(&format!("{}: {name}", note.host), value, &mut put);
        }
    }
    for (_, note) in &evidence.settings {
        let of = note.applied.interface.as_deref().map_or(String::new(), |port| format!(" of {port}"));
        put(&format!("{}: set {}{of}", note.host, note.applied.setting), note.applied.now.clone());
    }
    for (_, build) in &evidence.builds {
        let what = [&build.toolchain, &build.target, &build.profile];
        let what: Vec<&str> = what.into_iter().flatten().map(String::as_str).collect();
        put(&format!("{}: toolchain of `{}`", build.host, build.command), what.join(", "));
    }
    for (_, artifact) in &evidence.artifacts {
        put(&format!("{}: artifact {}", artifact.host, artifact.from), artifact.file.sha256.clone());
        put(
            &format!("{}: version of {}", artifact.host, artifact.from),
            artifact.version.clone().unwrap_or_default(),
        );
    }
    facts
}

fn of_cell(evidence: &Evidence, cell: &CellId) -> Facts {
    let mut facts = Facts::new();
    let Some(note) = proof(evidence, cell) else { return facts };
    for (name, value) in &note.proof.identity {
        facts.insert(format!("work: {name}"), value.clone());
    }
    for (name, value) in &note.proof.answer {
        facts.insert(format!("answer: {name}"), value.clone());
    }
    for role in &note.roles {
        let of = role.title();
        facts.insert(format!("host of {of}"), role.host.clone());
        facts.insert(format!("command of {of}"), role.command.clone());
        if let Some(program) = &role.report.program {
            facts.insert(format!("program of {of}"), program.path.clone());
            facts.insert(format!("program of {of}: sha256"), program.sha256.clone());
        }
        for input in &role.report.inputs {
            facts.insert(format!("input {} of {of}: sha256", input.path), input.sha256.clone());
        }
    }
    facts
}

/// Objects become dotted names, so that one driver of one port is one fact.
fn flatten(name: &str, value: &Value, put: &mut impl FnMut(&str, String)) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(&format!("{name}.{key}"), value, put);
            }
        }
        Value::String(text) => put(name, text.clone()),
        other => put(name, other.to_string()),
    }
}
