//! Measured losses as entries of a dead-ends file, ready to paste.

use indexmap::IndexMap;
use serde_json::Value;

use crate::analysis::findings::Findings;
use crate::analysis::judge::losses;
use crate::evidence::event::Opening;
use crate::evidence::fold::Evidence;
use crate::evidence::rows::Loss;
use crate::model::level::{Level, Scalar};

/// Facts that an entry is tied to, of the host and of its ports, where all hosts tell the same.
const OF_HOSTS: [&str; 2] = ["cpu_model", "cpu_count"];
const OF_PORTS: [&str; 2] = ["driver", "rx_queues"];

/// A dead-ends file with an entry for each arm that lost at every grid point, and for each cell that lost
/// otherwise; None where nothing lost.
pub fn dead_ends(evidence: &Evidence, findings: &Findings) -> Option<String> {
    let opening = evidence.opening.as_ref()?;
    let lost = losses(findings);
    let facts = facts(evidence);
    let mut entries = String::new();
    for arm in &opening.arms {
        let of_arm = |loss: &&Loss| evidence.cells.get(&loss.cell).is_some_and(|cell| cell.arm == arm.name);
        let cells: Vec<&Loss> = lost.iter().filter(of_arm).collect();
        let judged = findings.effects.iter().filter(|e| !e.exploratory && e.arm == arm.name).count();
        // One primary response decides, so an arm has as many effects of it as grid points.
        let everywhere = cells.len() == judged;
        for (at, loss) in cells.iter().enumerate().take(if everywhere { 1 } else { cells.len() }) {
            let levels = evidence.cells.get(&loss.cell).map(|cell| &cell.levels).filter(|_| !everywhere);
            let rule = arm.changes.iter().chain(levels.into_iter().flatten());
            let rule: Vec<String> = rule.map(|(name, text)| format!("{name} == {}", literal(text))).collect();
            let name = if everywhere { arm.name.clone() } else { format!("{}-{}", arm.name, at + 1) };
            let measured: Vec<&str> = match everywhere {
                true => cells.iter().map(|loss| loss.reason.as_str()).collect(),
                false => vec![&loss.reason],
            };
            let because = arm.because.as_ref().map_or(String::new(), |because| format!(": {because}"));
            let what = format!("{}{because}", arm.name);
            entries += &entry(opening, &name, &what, &rule.join(" && "), &facts, &measured.join(" "));
        }
    }
    (!entries.is_empty()).then(|| format!("dead_ends:\n{entries}"))
}

fn entry(
    opening: &Opening,
    name: &str,
    what: &str,
    rule: &str,
    facts: &IndexMap<&str, String>,
    measured: &str,
) -> String {
    // JSON texts are YAML texts.
    let text = |text: &str| Value::from(text).to_string();
    let mut lines = format!("  {}:\n", text(&format!("{}-{name}", opening.campaign)));
    lines += &format!("    what: {}\n    change: {}\n", text(what), text(rule));
    if !facts.is_empty() {
        lines += "    facts:\n";
        lines.extend(facts.iter().map(|(name, rule)| format!("      {name}: {}\n", text(rule))));
    }
    lines += &format!("    measured: {}\n", text(measured));
    lines += &format!("    again: {}\n", text("one of these facts differs"));
    lines + &format!("    source: {}\n", text(&format!("record {}", opening.record)))
}

/// Facts that all hosts of the record share, each as a rule.
fn facts(evidence: &Evidence) -> IndexMap<&'static str, String> {
    let hosts = || evidence.hosts.iter().map(|(_, note)| &note.facts);
    let ports =
        || hosts().filter_map(|facts| facts.get("ports")?.as_object()).flat_map(|ports| ports.values());
    let of_hosts = OF_HOSTS.map(|name| (name, hosts().map(|facts| facts.get(name)).collect::<Vec<_>>()));
    let of_ports = OF_PORTS.map(|name| (name, ports().map(|facts| facts.get(name)).collect()));
    let shared = |(name, seen): (&'static str, Vec<Option<&Value>>)| {
        let first = (*seen.first()?)?;
        let same = seen.iter().all(|value| *value == Some(first));
        let value = first.as_str().map_or_else(|| first.to_string(), quoted);
        same.then(|| (name, format!("{name} == {value}")))
    };
    of_hosts.into_iter().chain(of_ports).filter_map(shared).collect()
}

/// A level as a rule writes it.
fn literal(text: &str) -> String {
    match Level::plain(text).scalar() {
        Scalar::Int(int) => int.to_string(),
        Scalar::Float(float) => format!("{float:?}"),
        Scalar::Text(text) => quoted(&text),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
