//! What a number hangs on besides the product: facts that must be equal before two records are compared.

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::event::{ProofNote, RoleNote};
use crate::evidence::fold::Evidence;
use crate::model::cell::CellId;
use crate::model::digest;
use crate::model::facts::Facts;

/// Fact to value, each read off the hosts of one cell.
pub type Key = BTreeMap<String, String>;

/// Facts of a host that say which machine it is.
const MACHINE: [&str; 4] = ["hostname", "arch", "cpu_model", "cpu_count"];
/// Facts of a host that a campaign may hold, and that make another speed of the same machine.
const HELD: [&str; 6] = ["governor", "energy_preference", "turbo", "smt", "power_mode", "freq_max_khz"];
/// Facts of a port that say which card it is.
const CARD: [&str; 3] = ["driver", "speed_mbps", "pcie_width"];

/// Programs that run whatever they are told, so that their own digest says nothing about a product.
const INTERPRETERS: [&str; 12] =
    ["sh", "bash", "dash", "ash", "busybox", "env", "perl", "ruby", "node", "java", "taskset", "fieldtrial"];

/// The key of a cell from the proof of its work, the facts of its hosts, and the settings brought about.
pub fn key(evidence: &Evidence, cell: &CellId) -> Key {
    let mut key = Key::new();
    let Some(proof) = proof(evidence, cell) else { return key };
    for (fact, value) in &proof.proof.identity {
        key.insert(format!("work: {fact}"), value.clone());
    }
    for (fact, value) in &proof.proof.answer {
        key.insert(format!("answer: {fact}"), value.clone());
    }
    for role in &proof.roles {
        key.insert(format!("role {}", role.role), role.host.clone());
        key.insert(format!("command of {}", role.role), without_product(role));
        machine(evidence, &role.host, &mut key);
    }
    let (tool, timeout) = setup(evidence, &proof.roles);
    key.insert("tool".into(), tool);
    key.insert("timeout".into(), timeout);
    key
}

/// A short name of a key, for a line of history.
pub fn name(key: &Key) -> String {
    let text: String = key.iter().map(|(fact, value)| format!("{fact}\u{0}{value}\u{0}")).collect();
    digest::of_bytes(text.as_bytes())
}

/// Facts in which two keys differ, one line each; empty where they are equal.
pub fn differences(published: &Key, found: &Key) -> Vec<String> {
    let facts: BTreeSet<&String> = published.keys().chain(found.keys()).collect();
    let of = |key: &Key, fact: &String| key.get(fact).map_or("(absent)".to_owned(), |v| format!("`{v}`"));
    facts
        .into_iter()
        .filter(|fact| published.get(*fact) != found.get(*fact))
        .map(|fact| format!("{fact}: published with {}, now {}", of(published, fact), of(found, fact)))
        .collect()
}

/// Digests of the programs that a cell ran and that are a product; empty where only shells and interpreters
/// ran, whose digests say nothing.
pub fn programs(evidence: &Evidence, cell: &CellId) -> BTreeSet<String> {
    let Some(proof) = proof(evidence, cell) else { return BTreeSet::new() };
    let products = proof.roles.iter().filter_map(|role| role.report.program.as_ref());
    products
        .filter(|file| {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
            !INTERPRETERS.contains(&plain) && plain != "python"
        })
        .map(|file| file.sha256.clone())
        .collect()
}

/// The last accepted proof of a cell.
pub fn proof<'a>(evidence: &'a Evidence, cell: &CellId) -> Option<&'a ProofNote> {
    evidence.proofs.iter().rev().find(|note| note.accepted && note.cell == *cell)
}

fn machine(evidence: &Evidence, host: &str, key: &mut Key) {
    let Some((_, note)) = evidence.hosts.iter().rev().find(|(_, note)| note.host == host) else { return };
    let mut put = |facts: &Facts, of: &str, names: &[&str]| {
        for name in names {
            if let Some(value) = facts.get(*name) {
                key.insert(format!("{of}: {name}"), text(value));
            }
        }
    };
    put(&note.facts, host, &MACHINE);
    put(&note.facts, host, &HELD);
    if let Some(ports) = note.facts.get("ports").and_then(|ports| ports.as_object()) {
        for (port, facts) in ports {
            let facts: Facts =
                facts.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
            put(&facts, &format!("{host}.{port}"), &CARD);
        }
    }
    for (_, setting) in evidence.settings.iter().filter(|(_, setting)| setting.host == host) {
        let of = setting.applied.interface.as_ref().map_or(host.to_owned(), |port| format!("{host} {port}"));
        key.insert(format!("{of}: held {}", setting.applied.setting), setting.applied.now.clone());
    }
}

/// Tools of ours are part of what is measured, so their digest counts; what runs other programs counts by
/// its version.
fn setup(evidence: &Evidence, roles: &[RoleNote]) -> (String, String) {
    let session = evidence.sessions.last().map(|(_, session)| session);
    let ours = roles.iter().any(|role| role.command.contains("fieldtrial tool "));
    let tool = match session {
        Some(session) if ours => format!("fieldtrial sha256 {}", session.tool_sha256),
        Some(session) => format!("fieldtrial {}", session.version),
        None => String::new(),
    };
    let timeout = evidence.opening.as_ref().map_or(0, |opening| opening.timeout_ms);
    (tool, format!("{timeout} ms"))
}

/// The command with the product taken out: releases differ by path and digest and are compared all the same.
fn without_product(role: &RoleNote) -> String {
    let program = role.report.argv.first().map(String::as_str).unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    let mut command = role.command.clone();
    for word in [program, name] {
        if !word.is_empty() && command.contains(word) {
            command = command.replacen(word, "PROGRAM", 1);
            break;
        }
    }
    without_digests(&command)
}

/// Runs of 64 hex digits are digests of what was uploaded.
fn without_digests(text: &str) -> String {
    let mut out = String::new();
    let mut run = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_hexdigit() {
            run.push(c);
            continue;
        }
        out.push_str(if run.len() == 64 { "DIGEST" } else { &run });
        run.clear();
        out.push(c);
    }
    out.pop();
    out
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::example;
    use crate::model::job::End;

    #[test]
    fn the_release_is_taken_out_of_the_command_and_what_it_is_told_to_do_is_not() {
        let told = |command: &str, program: &str| {
            let mut role = example::role("run", "h1", command, End::Exited(0));
            role.report.argv = vec![program.to_owned()];
            without_product(&role)
        };
        let old = told("env -i PATH=/bin /opt/app-0.5.117 --cores 4", "/opt/app-0.5.117");
        assert_eq!(old, told("env -i PATH=/bin /opt/app-0.5.118 --cores 4", "/opt/app-0.5.118"));
        assert_ne!(old, told("env -i PATH=/bin /opt/app-0.5.118 --cores 1", "/opt/app-0.5.118"));
        let digest = "0123456789abcdef".repeat(4);
        assert_eq!(without_digests(&format!("sh -c '/x/{digest}/app 12'")), "sh -c '/x/DIGEST/app 12'");
        assert_eq!(without_digests("abc"), "abc");
    }

    #[test]
    fn a_fact_that_differs_is_named_with_both_values() {
        let key = |governor: &str| Key::from([("here: governor".to_owned(), governor.to_owned())]);
        assert_eq!(differences(&key("performance"), &key("performance")), Vec::<String>::new());
        assert_eq!(
            differences(&key("performance"), &key("powersave")),
            ["here: governor: published with `performance`, now `powersave`"]
        );
        assert_eq!(differences(&key("x"), &Key::new()), ["here: governor: published with `x`, now (absent)"]);
        assert_ne!(name(&key("performance")), name(&key("powersave")));
    }
}
