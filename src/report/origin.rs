//! Where the numbers come from: sessions, hosts, programs and exact commands.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::view::{anchor, word};
use crate::evidence::event::PutBackNote;
use crate::evidence::fold::Evidence;
use crate::model::cell::CellId;

/// One command that worked on the record.
#[derive(Debug, Serialize)]
pub struct SessionView {
    pub number: usize,
    pub kind: String,
    pub at: String,
    pub command: String,
    pub version: String,
    pub digest: String,
}

/// One host in one session.
#[derive(Debug, Serialize)]
pub struct HostView {
    pub host: String,
    pub session: usize,
    pub transport: String,
    pub isolation: String,
    pub lease: u64,
    pub facts: Vec<(String, String)>,
}

/// The commands of one cell.
#[derive(Debug, Serialize)]
pub struct CommandView {
    pub cell: String,
    pub anchor: String,
    pub roles: Vec<RoleView>,
    /// Ready to paste.
    pub rerun: String,
}

/// What one role ran, and how often just so.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoleView {
    pub role: String,
    pub host: String,
    pub command: String,
    pub program: String,
    pub runs: usize,
}

/// Sessions in order, numbered from 1.
pub fn sessions(evidence: &Evidence) -> Vec<SessionView> {
    let view = |(i, (at, s)): (usize, &(String, crate::evidence::event::Session))| SessionView {
        number: i + 1,
        kind: word(s.kind),
        at: at.clone(),
        command: s.command.iter().map(|a| quoted(a)).collect::<Vec<_>>().join(" "),
        version: s.version.clone(),
        digest: s.tool_sha256.clone(),
    };
    evidence.sessions.iter().enumerate().map(view).collect()
}

/// Facts of every host, as each session found them.
pub fn hosts(evidence: &Evidence) -> Vec<HostView> {
    evidence
        .hosts
        .iter()
        .map(|(session, note)| {
            let mut facts = vec![];
            for (name, value) in &note.facts {
                flatten(name, value, &mut facts);
            }
            let set = evidence.settings.iter().filter(|(s, n)| s == session && n.host == note.host);
            let set = set.map(|(_, n)| ("set by the campaign".to_owned(), n.applied.to_string()));
            facts.extend(set);
            let back = evidence.put_back.iter().filter(|(s, n)| s == session && n.host == note.host);
            facts.extend(back.flat_map(|(_, n)| put_back(n)));
            facts.extend(programs(evidence, *session, &note.host));
            HostView {
                host: note.host.clone(),
                session: session + 1,
                transport: note.transport.clone(),
                isolation: note.isolation.clone(),
                lease: note.lease,
                facts,
            }
        })
        .collect()
}

/// What was built on a host in a session, and which programs were brought there.
fn programs(evidence: &Evidence, session: usize, host: &str) -> Vec<(String, String)> {
    let builds = evidence.builds.iter().filter(|(s, note)| *s == session && note.host == host);
    let built = builds.map(|(_, note)| {
        let first = |text: &String| text.lines().next().unwrap_or_default().to_owned();
        let parts = [
            Some(note.command.clone()),
            note.toolchain.as_ref().map(|line| format!("toolchain {line}")),
            note.target.as_ref().map(|target| format!("target {target}")),
            note.profile.as_ref().map(|profile| format!("profile {profile}")),
            note.output.as_ref().map(|file| format!("made {} bytes, sha256 {}", file.bytes, file.sha256)),
            note.failure.as_ref().map(first),
            note.log.as_ref().map(|log| format!("log {log}")),
        ];
        ("built".to_owned(), parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
    });
    let brought = evidence.artifacts.iter().filter(|(s, note)| *s == session && note.host == host);
    let brought = brought.map(|(_, note)| {
        let version = note.version.as_ref().map_or(String::new(), |line| format!("; it says {line}"));
        let file = &note.file;
        let text = format!("{}: {} bytes, sha256 {}{version}", note.from, file.bytes, file.sha256);
        ("artifact".to_owned(), text)
    });
    built.chain(brought).collect()
}

fn put_back(note: &PutBackNote) -> Vec<(String, String)> {
    let when = if note.at_start { " (left by a killed session)" } else { "" };
    let back = note.done.back.iter().map(|applied| (format!("put back{when}"), applied.to_string()));
    let gone = note.done.gone.iter().map(|text| (format!("nothing left to put back{when}"), text.clone()));
    let old = note.done.before_reboot.iter().map(|text| ("not replayed after a reboot".into(), text.clone()));
    let stuck = note.done.stuck.iter().map(|text| ("NOT put back".into(), text.clone()));
    back.chain(gone).chain(old).chain(stuck).collect()
}

/// A fact as lines of a path and a text.
pub(super) fn flatten(path: &str, value: &Value, into: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(&format!("{path}.{key}"), value, into);
            }
        }
        Value::String(text) => into.push((path.to_owned(), text.clone())),
        other => into.push((path.to_owned(), other.to_string())),
    }
}

/// Distinct commands of each wanted cell that ran, with the command that measures the cell again.
pub fn commands(evidence: &Evidence, wanted: impl Fn(&CellId) -> bool) -> Vec<CommandView> {
    let mut by_cell: BTreeMap<&CellId, Vec<RoleView>> = BTreeMap::new();
    for row in evidence.runs.iter().filter(|row| wanted(&row.note.run.cell)) {
        let found = by_cell.entry(&row.note.run.cell).or_default();
        for role in &row.note.roles {
            let program = role.report.program.as_ref();
            let view = RoleView {
                role: role.title(),
                host: role.host.clone(),
                command: role.command.clone(),
                program: program.map_or(String::new(), |p| format!("{} sha256 {}", p.path, p.sha256)),
                runs: 1,
            };
            match found.iter_mut().find(|v| RoleView { runs: 1, ..(*v).clone() } == view) {
                Some(same) => same.runs += 1,
                None => found.push(view),
            }
        }
    }
    let view = |cell: &CellId, roles: Vec<RoleView>| CommandView {
        cell: cell.0.clone(),
        anchor: anchor(cell),
        rerun: format!("fieldtrial rerun . --cell {}", quoted(&cell.0)),
        roles,
    };
    let in_order = evidence.cells.keys();
    in_order.filter_map(|cell| Some(view(cell, by_cell.remove(cell)?))).collect()
}

/// A word for a POSIX shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_where_a_shell_would_read_them() {
        assert_eq!(quoted("frame_size=64,streams=4/xdp-rx"), "frame_size=64,streams=4/xdp-rx");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
