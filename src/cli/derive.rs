//! Everything of a record that is derived from its journal, written beside it.

use std::collections::BTreeSet;

use super::exit::Exit;
use super::failure::Failure;
use crate::analysis::{Findings, judge};
use crate::campaign::Expect;
use crate::evidence::fold::Evidence;
use crate::evidence::rows;
use crate::model::outcome::{Fate, RunOutcome};
use crate::record::Folder;
use crate::report;

/// Judges the evidence and writes tables, findings and page.
pub fn derive(folder: &Folder, evidence: &Evidence) -> Result<Findings, Failure> {
    let findings = judge(evidence);
    let json = serde_json::to_string_pretty(&findings).map_err(|e| Failure::Fault(e.to_string()))?;
    let page = report::page(evidence, &findings).map_err(|e| Failure::Fault(e.to_string()))?;
    folder.put("runs.csv", &rows::runs_csv(evidence))?;
    folder.put("samples.csv", &rows::samples_csv(evidence))?;
    folder.put("rejected.csv", &rows::rejected_csv(evidence))?;
    folder.put("findings.json", &(json + "\n"))?;
    folder.put(Folder::PAGE, &page)?;
    Ok(findings)
}

/// The exits that a record calls for; outcomes that the campaign declared it expects are none.
pub fn exits(evidence: &Evidence, expect: &Expect) -> Vec<Exit> {
    let mut exits = Vec::new();
    let refused = evidence.cells.values().filter(|c| c.fate == Fate::Refused);
    if refused.into_iter().any(|c| !expect.refused(&c.cell)) {
        exits.push(Exit::Refused);
    }
    let runs = evidence.planned_runs();
    if runs.iter().any(|r| !expect.run(r.note.outcome, &r.note.run.cell)) || !evidence.complete {
        exits.push(Exit::Incomplete);
    }
    let nothing_by_plan = evidence.cells.values().all(|c| c.fate != Fate::Live);
    let expected_none = nothing_by_plan && evidence.complete && !evidence.cells.is_empty() && exits.is_empty();
    if !runs.iter().any(|r| r.note.outcome == RunOutcome::Measured) && !expected_none {
        exits.push(Exit::NothingMeasured);
    }
    exits
}

/// The exits of a rerun: its own block's runs, and no others.
pub fn rerun_exits(evidence: &Evidence) -> Vec<Exit> {
    let session = evidence.sessions.len().saturating_sub(1);
    let own: Vec<_> = evidence.runs.iter().filter(|r| r.session == session).collect();
    if own.is_empty() {
        return vec![Exit::NothingMeasured];
    }
    let outcomes: BTreeSet<RunOutcome> = own.iter().map(|r| r.note.outcome).collect();
    if outcomes.iter().all(|o| *o == RunOutcome::Measured) { vec![] } else { vec![Exit::Incomplete] }
}
