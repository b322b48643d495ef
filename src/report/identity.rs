//! What really ran: programs, inputs, artifacts and builds by their digests, and what the proof saw.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::number::{duration, plural};
use crate::evidence::fold::Evidence;
use crate::model::cell::CellId;

/// Rows of programs, inputs and facts of a proof; more are in the journal.
const MOST: usize = 100;

/// One thing with a digest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ThingView {
    pub what: String,
    pub host: String,
    pub name: String,
    pub bytes: String,
    pub sha256: String,
}

/// What ran, for a reader who wants to know whether it was the same.
#[derive(Debug, Serialize)]
pub struct IdentityView {
    /// With the number of runs that had it.
    pub things: Vec<(ThingView, u64)>,
    /// Things that are not listed.
    pub left_out: usize,
    /// What a proof found: where, name, value, and how many cells it was found in.
    pub proofs: Vec<(String, String, String, String)>,
}

/// Digests of all that took part.
pub fn identity(evidence: &Evidence) -> IdentityView {
    let mut things: BTreeMap<ThingView, u64> = BTreeMap::new();
    let thing = |what: &str, host: &str, name: &str, bytes: String, sha256: &str| ThingView {
        what: what.to_owned(),
        host: host.to_owned(),
        name: name.to_owned(),
        bytes,
        sha256: sha256.to_owned(),
    };
    for role in evidence.runs.iter().flat_map(|r| &r.note.roles) {
        let mut seen = |what: &str, file: &crate::model::job::FileId| {
            let what = format!("{what} of {}", role.role);
            *things
                .entry(thing(&what, &role.host, &file.path, file.bytes.to_string(), &file.sha256))
                .or_default() += 1;
        };
        role.report.program.iter().for_each(|file| seen("program", file));
        role.report.inputs.iter().for_each(|file| seen("input", file));
    }
    let mut found: Vec<(ThingView, u64)> = things.into_iter().collect();
    for (_, note) in &evidence.artifacts {
        let version = note.version.as_ref().map_or(String::new(), |v| format!(" ({v})"));
        let name = format!("{}{version}", note.from);
        found.push((thing("artifact", &note.host, &name, note.file.bytes.to_string(), &note.file.sha256), 0));
    }
    for (_, build) in &evidence.builds {
        let how = [&build.toolchain, &build.target, &build.profile]
            .into_iter()
            .flatten()
            .cloned()
            .collect::<Vec<_>>();
        let took = duration(build.wall_ns);
        let name =
            format!("{} ({}{}{took})", build.command, how.join(", "), if how.is_empty() { "" } else { ", " });
        let output = build.output.as_ref();
        let digest = output.map_or_else(|| build.failure.clone().unwrap_or_default(), |o| o.sha256.clone());
        found.push((
            thing(
                "build",
                &build.host,
                &name,
                output.map_or(String::new(), |o| o.bytes.to_string()),
                &digest,
            ),
            0,
        ));
    }
    let left_out = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    IdentityView { things: found, left_out, proofs: proofs(evidence) }
}

/// Facts of the accepted proofs; equal ones of several cells are one row.
fn proofs(evidence: &Evidence) -> Vec<(String, String, String, String)> {
    let mut facts: BTreeMap<(&str, &str, &str), BTreeSet<&CellId>> = BTreeMap::new();
    for note in evidence.proofs.iter().filter(|p| p.accepted) {
        let parts = [("same work", &note.proof.identity), ("same answer", &note.proof.answer)];
        for (kind, (name, value)) in
            parts.into_iter().flat_map(|(kind, facts)| facts.iter().map(move |f| (kind, f)))
        {
            facts.entry((kind, name, value)).or_default().insert(&note.cell);
        }
    }
    let row = |((kind, name, value), cells): ((&str, &str, &str), BTreeSet<&CellId>)| {
        let cells = match (cells.first(), cells.len()) {
            (Some(one), 1) => one.0.clone(),
            (_, n) => plural(n as u64, "cell"),
        };
        (kind.to_owned(), name.to_owned(), value.to_owned(), cells)
    };
    facts.into_iter().map(row).take(MOST).collect()
}
