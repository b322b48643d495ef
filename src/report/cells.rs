//! The cells of one response as rows of a table that has one unit.

use std::collections::BTreeMap;

use serde::Serialize;

use super::number::{Scale, exact};
use super::strip::{self, Strip};
use super::trail::Trail;
use super::view::{EffectView, anchor, effect, levels, word};
use crate::analysis::findings::{CellSummary, Effect, Findings, ResponseSummary};
use crate::analysis::verdict::confidence;
use crate::model::cell::CellId;
use crate::model::outcome::{Fate, RunOutcome};

/// One cell in the table of one response.
#[derive(Debug, Serialize)]
pub struct CellView {
    pub anchor: String,
    pub cell: String,
    pub kind: String,
    /// Whether it has figures of its own, which hold its address.
    pub full: bool,
    pub effect: Option<EffectView>,
    /// Fate and outcomes, for the filter.
    pub filter: String,
    /// `live`, `excluded` or `refused`.
    pub fate: String,
    /// Counts by outcome, only those above zero.
    pub outcomes: String,
    pub complete: bool,
    /// None where no run of the cell was decided.
    pub summary: Option<SummaryView>,
}

/// The measured runs of a cell.
#[derive(Debug, Serialize)]
pub struct SummaryView {
    pub n: String,
    pub median: String,
    pub median_exact: String,
    pub interval: String,
    pub confidence: String,
    pub range: String,
    pub strip: Option<Strip>,
}

/// The unit that the values of one response have in every table.
pub fn scale(findings: &Findings, response: &str, unit: &str) -> Scale {
    let summaries = findings.cells.iter().flat_map(|c| &c.responses).filter(|r| r.response == response);
    Scale::of(summaries.flat_map(|r| r.min.into_iter().chain(r.max).chain(r.median)), unit)
}

/// All cells with one response, also those that never ran.
pub fn cells(trail: &Trail, findings: &Findings, response: &str, scale: &Scale) -> Vec<CellView> {
    let mut extents: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    let of = |cell: &CellSummary| cell.responses.iter().find(|r| r.response == response).cloned();
    for cell in &findings.cells {
        let Some(found) = of(cell) else { continue };
        if let Some((low, high)) = strip::range(found.min.into_iter().chain(found.max)) {
            let extent = extents.entry(levels(&cell.levels)).or_insert((low, high));
            *extent = (extent.0.min(low), extent.1.max(high));
        }
    }
    let effects: BTreeMap<&CellId, &Effect> = findings
        .effects
        .iter()
        .filter(|e| e.response == response)
        .filter_map(|e| Some((e.cell.as_ref()?, e)))
        .collect();
    let view = |cell: &CellSummary| {
        let strip = |r: &ResponseSummary| {
            let extent = extents.get(&levels(&cell.levels))?;
            trail.is_full(&cell.cell).then(|| cell_strip(trail, cell, r, scale, *extent))?
        };
        CellView {
            anchor: anchor(&cell.cell),
            cell: cell.cell.0.clone(),
            kind: word(cell.kind),
            full: trail.is_full(&cell.cell),
            effect: effects.get(&cell.cell).map(|e| effect(e)),
            filter: filter(cell),
            fate: cell.fate.name().to_owned(),
            outcomes: match &cell.work {
                Some(work) => format!("{}; {}", counts(&cell.outcomes), work.words()),
                None => counts(&cell.outcomes),
            },
            complete: cell.outcomes.iter().all(|(name, n)| name == RunOutcome::Measured.name() || *n == 0),
            summary: of(cell)
                .filter(|r| cell.fate == Fate::Live || r.n > 0)
                .map(|r| summary(cell, &r, scale, strip(&r))),
        }
    };
    findings.cells.iter().map(view).collect()
}

fn summary(cell: &CellSummary, r: &ResponseSummary, scale: &Scale, strip: Option<Strip>) -> SummaryView {
    let runs: u64 = cell.outcomes.values().sum();
    SummaryView {
        n: if r.n == runs { r.n.to_string() } else { format!("{} of {runs}", r.n) },
        median: median(r, scale, "none"),
        median_exact: r.median.map_or(String::new(), exact),
        interval: r.interval.map_or("–".to_owned(), |i| scale.between(i.low, i.high)),
        confidence: r.interval.map_or("–".to_owned(), |i| confidence(i.confidence)),
        range: match (r.min, r.max) {
            (Some(min), Some(max)) => format!("{} to {}", scale.text(min), scale.text(max)),
            _ => "–".to_owned(),
        },
        strip,
    }
}

/// A median, or what timeouts leave of it.
pub fn median(r: &ResponseSummary, scale: &Scale, none: &str) -> String {
    let bounds = || r.median_bounds.map(|b| scale.between(b.low, b.high));
    r.median.map(|m| scale.text(m)).or_else(bounds).unwrap_or_else(|| none.to_owned())
}

/// Words that a part of the outcome sums finds this cell by.
fn filter(cell: &CellSummary) -> String {
    let outcomes = cell.outcomes.iter().filter(|(_, n)| **n > 0).map(|(name, _)| name.as_str());
    std::iter::once(cell.fate.name()).chain(outcomes).collect::<Vec<_>>().join(" ")
}

fn cell_strip(
    trail: &Trail,
    cell: &CellSummary,
    response: &ResponseSummary,
    scale: &Scale,
    extent: (f64, f64),
) -> Option<Strip> {
    let runs = trail.counted(&cell.cell).iter();
    let values: Vec<(f64, String)> = runs
        .filter_map(|place| {
            let value = trail.value(*place, &response.response)?;
            let block = trail.row(*place).note.run.block;
            Some((value, format!("block {block}: {}", scale.with_unit(value))))
        })
        .take(trail.most_dots())
        .collect();
    let title = format!(
        "{} of {} measured runs of {}, on a scale from {} to {}",
        response.response,
        values.len(),
        cell.cell,
        scale.with_unit(extent.0),
        scale.with_unit(extent.1)
    );
    (!values.is_empty()).then(|| strip::of_runs(title, &values, response.median, extent))
}

/// Counts by outcome in words, without the zeros; a dash for none.
pub fn counts(outcomes: &BTreeMap<String, u64>) -> String {
    listed(outcomes, &RunOutcome::ALL).unwrap_or_else(|| "–".to_owned())
}

/// The same of those that were not measured; None for none.
pub fn unmeasured(outcomes: &BTreeMap<String, u64>) -> Option<String> {
    listed(outcomes, &RunOutcome::ALL[1..])
}

fn listed(outcomes: &BTreeMap<String, u64>, of: &[RunOutcome]) -> Option<String> {
    let part = |o: &RunOutcome| {
        let count = outcomes.get(o.name()).copied().filter(|c| *c > 0)?;
        Some(format!("{count} {}", o.name().replace('_', " ")))
    };
    let parts: Vec<String> = of.iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
