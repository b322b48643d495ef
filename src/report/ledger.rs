//! Cells and runs as rows: what counted, what did not, and why.

use std::collections::BTreeMap;

use serde::Serialize;

use super::number::{duration, exact, quantity};
use super::strip::{self, Strip};
use super::view::{anchor, levels, word};
use crate::analysis::findings::{CellSummary, Findings, ResponseSummary};
use crate::analysis::judge::losses;
use crate::analysis::verdict::confidence;
use crate::evidence::fold::{Evidence, RunRow};
use crate::evidence::rows::metrics;
use crate::model::cell::CellId;
use crate::model::job::End;
use crate::model::outcome::{Fate, RunOutcome};

/// A cell with one row per response.
#[derive(Debug, Serialize)]
pub struct CellView {
    pub anchor: String,
    pub cell: String,
    pub arm: String,
    pub kind: String,
    pub levels: String,
    pub fate: String,
    /// Counts by outcome, only those above zero.
    pub outcomes: String,
    pub responses: Vec<SummaryView>,
}

/// One response of a cell.
#[derive(Debug, Serialize)]
pub struct SummaryView {
    pub response: String,
    pub n: u64,
    pub median: String,
    pub median_exact: String,
    pub interval: String,
    pub range: String,
    pub caution: Option<String>,
    pub strip: Option<Strip>,
}

/// A configuration that was turned down.
#[derive(Debug, Serialize)]
pub struct RejectedView {
    pub cell: String,
    pub anchor: String,
    pub stage: String,
    pub reason: String,
    pub evidence: Vec<String>,
}

/// A run that did not come to its end.
#[derive(Debug, Serialize)]
pub struct MisfireView {
    pub run: String,
    pub anchor: String,
    pub outcome: String,
    pub reason: String,
    pub observed: Vec<String>,
    pub ends: Vec<String>,
    pub heads: Vec<(String, String)>,
}

/// An attempt that came later, beside what was measured first.
#[derive(Debug, Serialize)]
pub struct AddedView {
    pub cell: String,
    pub anchor: String,
    pub block: u32,
    pub attempt: u32,
    pub session: usize,
    pub outcome: String,
    pub response: String,
    pub value: String,
    /// Median over the planned blocks.
    pub first: String,
}

/// One attempt.
#[derive(Debug, Serialize)]
pub struct RunView {
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
    pub strip: Option<Strip>,
}

/// Summaries of all cells, also of those that never ran.
pub fn cells(evidence: &Evidence, findings: &Findings) -> Vec<CellView> {
    let mut scales: BTreeMap<(String, String), (f64, f64)> = BTreeMap::new();
    for cell in &findings.cells {
        for r in &cell.responses {
            if let Some((low, high)) = strip::range(r.min.into_iter().chain(r.max)) {
                let scale = scales.entry((levels(&cell.levels), r.response.clone())).or_insert((low, high));
                *scale = (scale.0.min(low), scale.1.max(high));
            }
        }
    }
    let mut runs: BTreeMap<&CellId, Vec<&RunRow>> = BTreeMap::new();
    for row in evidence.planned_runs() {
        runs.entry(&row.note.run.cell).or_default().push(row);
    }
    let summary = |cell: &CellSummary, r: &ResponseSummary| SummaryView {
        response: r.response.clone(),
        n: r.n,
        median: r.median.map_or("none".to_owned(), |m| quantity(m, &r.unit)),
        median_exact: r.median.map_or(String::new(), exact),
        interval: r.interval.map_or("none".to_owned(), |i| {
            let (low, high) = (quantity(i.low, &r.unit), quantity(i.high, &r.unit));
            format!("{low} to {high} ({})", confidence(i.confidence))
        }),
        range: match (r.min, r.max) {
            (Some(min), Some(max)) => format!("{} to {}", quantity(min, &r.unit), quantity(max, &r.unit)),
            _ => "none".to_owned(),
        },
        caution: r.caution.clone(),
        strip: cell_strip(runs.get(&cell.cell).map_or(&[], |rows| rows), cell, r, &scales),
    };
    findings
        .cells
        .iter()
        .map(|cell| CellView {
            anchor: anchor(&cell.cell),
            cell: cell.cell.0.clone(),
            arm: cell.arm.clone(),
            kind: word(cell.kind),
            levels: levels(&cell.levels),
            fate: cell.fate.name().to_owned(),
            outcomes: counts(&cell.outcomes),
            responses: cell.responses.iter().map(|r| summary(cell, r)).collect(),
        })
        .collect()
}

fn cell_strip(
    runs: &[&RunRow],
    cell: &CellSummary,
    response: &ResponseSummary,
    scales: &BTreeMap<(String, String), (f64, f64)>,
) -> Option<Strip> {
    let scale = scales.get(&(levels(&cell.levels), response.response.clone()))?;
    let values: Vec<(f64, String)> = runs
        .iter()
        .filter(|r| r.note.outcome == RunOutcome::Measured)
        .filter_map(|r| {
            let value = r.note.values.get(&response.response).filter(|v| v.is_finite())?;
            Some((*value, format!("block {}: {}", r.note.run.block, quantity(*value, &response.unit))))
        })
        .collect();
    let title = format!(
        "{} of {} measured runs of {}, from {} to {} over all arms of this grid point",
        response.response,
        values.len(),
        cell.cell,
        quantity(scale.0, &response.unit),
        quantity(scale.1, &response.unit)
    );
    (!values.is_empty()).then(|| strip::of_runs(title, &values, response.median, *scale))
}

/// Counts by outcome in words, without the zeros; a dash for none.
pub fn counts(outcomes: &BTreeMap<String, u64>) -> String {
    let of = |o: &RunOutcome| {
        let count = outcomes.get(o.name()).copied().filter(|c| *c > 0)?;
        Some(format!("{count} {}", o.name().replace('_', " ")))
    };
    let parts: Vec<String> = RunOutcome::ALL.iter().filter_map(of).collect();
    if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
}

/// Excluded and refused cells, rejected runs and measured losses, in this order.
pub fn rejected(evidence: &Evidence, findings: &Findings) -> Vec<RejectedView> {
    let units = metrics(evidence);
    let mut found = vec![];
    for note in evidence.cells.values().filter(|c| c.fate != Fate::Live) {
        let stage = note.stage.as_deref().map_or(String::new(), |s| format!(" by {s}"));
        found.push(RejectedView {
            cell: note.cell.0.clone(),
            anchor: anchor(&note.cell),
            stage: format!("{}{stage}", note.fate.name()),
            reason: note.reason.clone().unwrap_or_else(|| "no reason was recorded".to_owned()),
            evidence: note.evidence.clone(),
        });
    }
    for row in evidence.runs.iter().filter(|r| r.note.outcome == RunOutcome::Rejected) {
        found.push(RejectedView {
            cell: row.note.run.to_string(),
            anchor: anchor(&row.note.run.cell),
            stage: "rejected by acceptance".to_owned(),
            reason: row.note.reason.clone().unwrap_or_else(|| "no reason was recorded".to_owned()),
            evidence: observed(&units, row),
        });
    }
    found.extend(losses(findings).into_iter().map(|loss| RejectedView {
        anchor: anchor(&loss.cell),
        cell: loss.cell.0,
        stage: "measured loss".to_owned(),
        reason: loss.reason,
        evidence: vec![loss.evidence],
    }));
    found
}

/// Runs that timed out, failed or were interrupted, with what had been observed.
pub fn misfires(evidence: &Evidence) -> Vec<MisfireView> {
    let units = metrics(evidence);
    let ended = |o: RunOutcome| !matches!(o, RunOutcome::Measured | RunOutcome::Rejected);
    evidence
        .runs
        .iter()
        .filter(|row| ended(row.note.outcome))
        .map(|row| MisfireView {
            run: row.note.run.to_string(),
            anchor: anchor(&row.note.run.cell),
            outcome: row.note.outcome.name().replace('_', " "),
            reason: row.note.reason.clone().unwrap_or_else(|| "no reason was recorded".to_owned()),
            observed: observed(&units, row),
            ends: row.note.roles.iter().map(|r| format!("{}: {}", r.role, end(&r.report.end))).collect(),
            heads: heads(row),
        })
        .collect()
}

fn heads(row: &RunRow) -> Vec<(String, String)> {
    let streams = row.note.roles.iter().flat_map(|r| {
        [("standard output", &r.stdout_head), ("standard error", &r.stderr_head)]
            .map(|(name, head)| (format!("{} {name}", r.role), head.clone()))
    });
    streams.filter(|(_, head)| !head.is_empty()).collect()
}

fn observed(units: &[(String, String)], row: &RunRow) -> Vec<String> {
    let unit = |name: &str| units.iter().find(|(n, _)| n == name).map_or("", |(_, unit)| unit.as_str());
    let values = row.note.values.iter().map(|(name, v)| format!("{name} {}", quantity(*v, unit(name))));
    let absent = row.note.absent.iter().map(|(name, why)| format!("no {name}: {why}"));
    let samples = (!row.note.samples.is_empty()).then(|| format!("{} samples", row.note.samples.len()));
    values.chain(absent).chain(samples).collect()
}

/// Attempts that a rerun or resume added, each beside the median of the first measurement. Only
/// primary responses; the raw runs have all.
pub fn added(evidence: &Evidence, findings: &Findings) -> Vec<AddedView> {
    let cells: BTreeMap<&CellId, &CellSummary> = findings.cells.iter().map(|c| (&c.cell, c)).collect();
    let rows = evidence.runs.iter().filter(|row| is_added(evidence, row));
    rows.flat_map(|row| {
        let run = &row.note.run;
        let responses = cells.get(&run.cell).map_or(&[][..], |c| &c.responses);
        let primary = responses.iter().filter(|r| findings.family.responses.contains(&r.response));
        primary.map(|r| AddedView {
            cell: run.cell.0.clone(),
            anchor: anchor(&run.cell),
            block: run.block,
            attempt: run.attempt,
            session: row.session + 1,
            outcome: row.note.outcome.name().replace('_', " "),
            response: r.response.clone(),
            value: row.note.values.get(&r.response).map_or("none".to_owned(), |v| quantity(*v, &r.unit)),
            first: r.median.map_or("none".to_owned(), |m| format!("{} (n = {})", quantity(m, &r.unit), r.n)),
        })
    })
    .collect()
}

fn is_added(evidence: &Evidence, row: &RunRow) -> bool {
    !evidence.is_planned_block(row.note.run.block) || row.note.run.attempt > 1
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

/// Every attempt of every run, in the order they ended.
pub fn runs(evidence: &Evidence) -> Vec<RunView> {
    let responses = evidence.opening.as_ref().map_or(&[][..], |o| &o.responses);
    let primary = responses.iter().find(|r| r.primary).or(responses.first());
    evidence
        .runs
        .iter()
        .map(|row| {
            let note = &row.note;
            let value = |r: &crate::model::response::Response| match note.values.get(&r.name) {
                Some(v) => (quantity(*v, &r.unit), exact(*v)),
                None => ("–".to_owned(), note.absent.get(&r.name).cloned().unwrap_or_default()),
            };
            RunView {
                cell: note.run.cell.0.clone(),
                anchor: anchor(&note.run.cell),
                block: note.run.block,
                attempt: note.run.attempt,
                position: note.position,
                session: row.session + 1,
                added: is_added(evidence, row),
                ended_at: row.at.clone(),
                elapsed: duration(note.elapsed_ns),
                outcome: note.outcome.name().replace('_', " "),
                class: note.outcome.name().to_owned(),
                values: responses.iter().map(value).collect(),
                strip: primary.and_then(|r| sample_strip(row, &r.name)),
            }
        })
        .collect()
}

fn sample_strip(row: &RunRow, primary: &str) -> Option<Strip> {
    let first = row.note.samples.first()?;
    let has_primary = row.note.samples.iter().any(|s| s.metric == primary);
    let metric = if has_primary { primary } else { &first.metric };
    let of_metric = row.note.samples.iter().filter(|s| s.metric == metric && s.value.is_finite());
    let samples: Vec<(f64, f64, bool)> = of_metric.map(|s| (s.at_ns as f64, s.value, s.settling)).collect();
    let settling = samples.iter().filter(|s| s.2).count();
    let title = format!("{} samples of {metric} over time, {settling} of them while settling", samples.len());
    strip::of_samples(title, &samples)
}
