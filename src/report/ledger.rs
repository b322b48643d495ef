//! What was turned down and what every run came to, as rows.

use std::collections::BTreeMap;

use serde::Serialize;

use super::number::{Scale, exact, moment, quantity};
use super::trail::Trail;
use super::view::anchor;
use crate::analysis::findings::Findings;
use crate::analysis::judge::losses;
use crate::evidence::event::{CellNote, ProofNote, RoleNote};
use crate::evidence::fold::{Evidence, RunRow};
use crate::evidence::rows::metrics;
use crate::model::cell::CellId;
use crate::model::job::End;
use crate::model::outcome::{Fate, RunOutcome};

/// Rows of one table; the rest is in `rejected.csv` and `runs.csv`.
pub const MOST_ROWS: usize = 300;

/// A configuration that was turned down, or a run that did not come to its end.
#[derive(Debug, Serialize)]
pub struct TurnedDown {
    /// Cell, or run as `CELL#BLOCK.ATTEMPT`.
    pub what: String,
    pub anchor: String,
    pub stage: String,
    pub reason: String,
    /// The difference or fact itself, line by line.
    pub evidence: Vec<String>,
    /// What had been observed by then.
    pub observed: Vec<String>,
    pub roles: Vec<RoleView>,
}

/// What one role did, for a reader who wants to try it.
#[derive(Debug, Serialize)]
pub struct RoleView {
    pub role: String,
    pub host: String,
    pub end: String,
    pub command: String,
    /// Name and text of each stream that wrote something.
    pub heads: Vec<(String, String)>,
}

/// One attempt.
#[derive(Debug, Serialize)]
pub struct RunView {
    /// Row of `runs.csv`, which is its address on the page too.
    pub number: usize,
    pub cell: String,
    pub anchor: String,
    pub block: u32,
    pub attempt: u32,
    pub position: u32,
    pub session: usize,
    pub added: bool,
    pub ended_at: String,
    pub elapsed: String,
    pub outcome: String,
    pub class: String,
    /// One text and its exact form per response; a dash where there is none.
    pub values: Vec<(String, String)>,
    pub samples: usize,
}

/// Excluded and refused cells, rejected runs and measured losses, in this order.
pub fn rejected(evidence: &Evidence, findings: &Findings) -> Vec<TurnedDown> {
    let units = metrics(evidence);
    // The last one of each cell.
    let proofs: BTreeMap<&CellId, &ProofNote> =
        evidence.proofs.iter().filter(|p| !p.accepted).map(|p| (&p.cell, p)).collect();
    let cells = evidence.cells.values().filter(|c| c.fate != Fate::Live);
    let cells = cells.map(|note| cell(proofs.get(&note.cell).copied(), note));
    let rejected = evidence.runs.iter().filter(|r| r.note.outcome == RunOutcome::Rejected);
    let stage =
        |row: &RunRow| if row.as_run.is_some() { "annotated as invalid" } else { "rejected by acceptance" };
    let runs = rejected.map(|row| run(&units, row, stage(row)));
    let lost = losses(findings).into_iter().map(|loss| TurnedDown {
        anchor: anchor(&loss.cell),
        what: loss.cell.0,
        stage: "measured and lost".to_owned(),
        // The sentence holds the numbers already.
        reason: loss.reason,
        evidence: vec![],
        observed: vec![],
        roles: vec![],
    });
    cells.chain(runs).chain(lost).collect()
}

fn cell(proof: Option<&ProofNote>, note: &CellNote) -> TurnedDown {
    let by = match note.stage.as_deref() {
        Some("host") => " by a host".to_owned(),
        Some("build") => " by its build".to_owned(),
        Some("link") => " by its link".to_owned(),
        Some("proof") => " by its proof".to_owned(),
        Some("rule") => " by a rule".to_owned(),
        Some(other) => format!(" by {other}"),
        None => String::new(),
    };
    let (reason, mut lines) = parted(note.reason.as_deref());
    lines.extend(note.evidence.iter().filter(|line| !reason.contains(*line)).cloned());
    TurnedDown {
        what: note.cell.0.clone(),
        anchor: anchor(&note.cell),
        stage: format!("{}{by}", note.fate.name()),
        reason,
        evidence: lines,
        observed: vec![],
        roles: proof.map_or(vec![], |p| p.roles.iter().map(role).collect()),
    }
}

/// Runs that timed out, failed or were interrupted, with what had been observed.
pub fn misfires(evidence: &Evidence) -> Vec<TurnedDown> {
    let units = metrics(evidence);
    let ended = |o: RunOutcome| !matches!(o, RunOutcome::Measured | RunOutcome::Rejected);
    let rows = evidence.runs.iter().filter(|row| ended(row.note.outcome));
    rows.map(|row| run(&units, row, &row.note.outcome.name().replace('_', " "))).collect()
}

fn run(units: &[(String, String)], row: &RunRow, stage: &str) -> TurnedDown {
    let (reason, evidence) = parted(row.note.reason.as_deref());
    TurnedDown {
        what: row.note.run.to_string(),
        anchor: anchor(&row.note.run.cell),
        stage: stage.to_owned(),
        reason,
        evidence,
        observed: observed(units, row),
        roles: row.note.roles.iter().map(role).collect(),
    }
}

/// A reason's first line, and the lines of detail below it.
fn parted(reason: Option<&str>) -> (String, Vec<String>) {
    let text = reason.unwrap_or("no reason was recorded");
    let mut lines = text.lines().map(str::to_owned);
    (lines.next().unwrap_or_default(), lines.collect())
}

fn role(note: &RoleNote) -> RoleView {
    let of = |name: &str, head: &str, bytes: u64| {
        let cut = if (head.len() as u64) < bytes {
            format!(", its first {} of {bytes} bytes", head.len())
        } else {
            String::new()
        };
        (format!("{name}{cut}"), head.to_owned())
    };
    let heads = [
        of("standard output", &note.stdout_head, note.report.stdout.bytes),
        of("standard error", &note.stderr_head, note.report.stderr.bytes),
    ];
    RoleView {
        role: note.title(),
        host: note.host.clone(),
        end: end(&note.report.end),
        command: note.command.clone(),
        heads: heads.into_iter().filter(|(_, head)| !head.is_empty()).collect(),
    }
}

fn observed(units: &[(String, String)], row: &RunRow) -> Vec<String> {
    let unit = |name: &str| units.iter().find(|(n, _)| n == name).map_or("", |(_, unit)| unit.as_str());
    let values = row.note.values.iter().map(|(name, v)| format!("{name} {}", quantity(*v, unit(name))));
    let absent = row.note.absent.iter().map(|(name, why)| format!("no {name}: {why}"));
    let samples = (!row.note.samples.is_empty()).then(|| format!("{} samples", row.note.samples.len()));
    values.chain(absent).chain(samples).collect()
}

/// How a job ended, in words.
pub fn end(end: &End) -> String {
    match end {
        End::Exited(status) => format!("exit status {status}"),
        End::Signalled(signal) => format!("killed by signal {signal}"),
        End::TimedOut => "killed at its deadline".to_owned(),
        End::Stopped => "stopped on request".to_owned(),
        End::NotStarted(why) => format!("not started: {why}"),
    }
}

/// The unit that all runs' durations share.
pub fn elapsed(evidence: &Evidence) -> Scale {
    Scale::of(evidence.runs.iter().map(|r| r.note.elapsed_ns as f64 / 1e9), "s")
}

/// Every attempt that has a row, in the order they ended; `scales` holds the unit of each response.
pub fn runs(trail: &Trail, scales: &BTreeMap<String, Scale>, took: &Scale) -> Vec<RunView> {
    let evidence = trail.evidence;
    let responses = evidence.opening.as_ref().map_or(&[][..], |o| &o.responses);
    let view = |(place, row): (usize, &RunRow)| {
        let note = &row.note;
        let value = |r: &crate::model::response::Response| match note.values.get(&r.name) {
            Some(v) => (scales.get(&r.name).map_or_else(|| exact(*v), |s| s.text(*v)), exact(*v)),
            None => ("–".to_owned(), note.absent.get(&r.name).cloned().unwrap_or_default()),
        };
        RunView {
            number: place + 1,
            cell: note.run.cell.0.clone(),
            anchor: anchor(&note.run.cell),
            block: note.run.block,
            attempt: note.run.attempt,
            position: note.position,
            session: row.session + 1,
            added: !evidence.is_planned_block(note.run.block) || note.run.attempt > 1,
            ended_at: moment(&row.at),
            // A run that was cut off has no time of its end.
            elapsed: match note.elapsed_ns {
                0 => "–".to_owned(),
                ns => took.text(ns as f64 / 1e9),
            },
            outcome: note.outcome.name().replace('_', " "),
            class: note.outcome.name().to_owned(),
            values: responses.iter().map(value).collect(),
            samples: note.samples.len(),
        }
    };
    let shown = evidence.runs.iter().enumerate().filter(|(place, _)| trail.is_shown(*place));
    shown.map(view).collect()
}
