//! What differs between the set-ups of two sessions of one record.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::evidence::event::HostNote;
use crate::evidence::fold::Evidence;
use crate::model::facts::MOVING;

/// Differences between two sessions, `host.fact: before → after`: the tool's digest and all facts of
/// hosts that the later one used, but for those that move by themselves. Empty: the same set-up.
pub fn differences(evidence: &Evidence, before: usize, after: usize) -> Vec<String> {
    let mut found = vec![];
    let tool = |session: usize| evidence.sessions.get(session).map_or("unknown", |(_, s)| &s.tool_sha256);
    if tool(before) != tool(after) {
        found.push(format!("fieldtrial's own digest: {} → {}", tool(before), tool(after)));
    }
    let (old, new) = (hosts(evidence, before), hosts(evidence, after));
    for (host, note) in &new {
        match old.get(host) {
            None => found.push(format!("{host}: no facts in session {}", before + 1)),
            Some(earlier) => compare(host, earlier, note, &mut found),
        }
    }
    if new.is_empty() && !old.is_empty() {
        found.push(format!("hosts: no facts in session {}", after + 1));
    }
    found
}

/// Last note of each host in one session.
pub fn hosts(evidence: &Evidence, session: usize) -> BTreeMap<&str, &HostNote> {
    let of_session = evidence.hosts.iter().filter(|(s, _)| *s == session);
    of_session.map(|(_, note)| (note.host.as_str(), note)).collect()
}

fn compare(host: &str, old: &HostNote, new: &HostNote, found: &mut Vec<String>) {
    let (old, new) = (flat(old), flat(new));
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let (before, after) = (old.get(name), new.get(name));
        if before != after {
            let text = |v: Option<&String>| v.map_or("absent", |v| v.as_str()).to_owned();
            found.push(format!("{host}.{name}: {} → {}", text(before), text(after)));
        }
    }
}

fn flat(note: &HostNote) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::from([
        ("transport".to_owned(), note.transport.clone()),
        ("isolation".to_owned(), note.isolation.clone()),
    ]);
    for (name, value) in &note.facts {
        flatten(name, name, value, &mut facts);
    }
    facts
}

/// Objects become dotted names; everything else its JSON text. serde_json bounds the depth.
fn flatten(path: &str, key: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    if MOVING.contains(&key) {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(&format!("{path}.{key}"), key, value, into);
            }
        }
        Value::String(text) => {
            into.insert(path.to_owned(), text.clone());
        }
        other => {
            into.insert(path.to_owned(), other.to_string());
        }
    }
}
