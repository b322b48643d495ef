//! The runs of a record by cell, and how much of a large record the page has room for.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::analysis::findings::{Effect, Findings};
use crate::evidence::fold::{Evidence, RunRow};
use crate::model::cell::CellId;
use crate::model::outcome::RunOutcome;
use crate::model::scale::Scale::Linear;

/// Cells with figures of their own; a page of more would be too long to read and to load.
const MOST_CELLS: usize = 60;
/// Runs with rows of their own.
const MOST_RUNS: usize = 1000;
/// Of those runs that were not measured, those that have rows whatever their cell.
const MOST_UNMEASURED: usize = 400;

/// Runs by cell, with what of them is shown.
pub struct Trail<'e> {
    pub evidence: &'e Evidence,
    by_cell: HashMap<&'e CellId, Vec<usize>>,
    full: BTreeSet<&'e CellId>,
    shown: Vec<bool>,
}

impl<'e> Trail<'e> {
    pub fn of(evidence: &'e Evidence, findings: &'e Findings) -> Trail<'e> {
        let mut by_cell: HashMap<&CellId, Vec<usize>> = HashMap::new();
        for place in evidence.planned_places() {
            by_cell.entry(&evidence.runs[place].note.run.cell).or_default().push(place);
        }
        let full = strongest(findings);
        let mut spare = MOST_UNMEASURED;
        let shown = evidence.runs.iter().map(|row| {
            let unmeasured = row.note.outcome != RunOutcome::Measured && spare > 0;
            let shown = evidence.runs.len() <= MOST_RUNS || full.contains(&row.note.run.cell) || unmeasured;
            spare -= usize::from(unmeasured);
            shown
        });
        let shown = shown.collect();
        Trail { evidence, by_cell, full, shown }
    }

    /// Places of the runs that count of a cell, block by block.
    pub fn counted(&self, cell: &CellId) -> &[usize] {
        self.by_cell.get(cell).map_or(&[], Vec::as_slice)
    }

    /// The run that counts of a cell in a block.
    pub fn in_block(&self, cell: &CellId, block: u32) -> Option<usize> {
        let counted = self.counted(cell);
        let found = counted.binary_search_by_key(&block, |i| self.row(*i).note.run.block).ok()?;
        Some(counted[found])
    }

    pub fn row(&self, place: usize) -> &'e RunRow {
        &self.evidence.runs[place]
    }

    /// The measured value of one response; None where the run does not count.
    pub fn value(&self, place: usize, response: &str) -> Option<f64> {
        let note = &self.row(place).note;
        let value = note.values.get(response).copied().filter(|v| v.is_finite())?;
        (note.outcome == RunOutcome::Measured).then_some(value)
    }

    /// Whether a cell has figures of its own.
    pub fn is_full(&self, cell: &CellId) -> bool {
        self.full.contains(cell)
    }

    /// How many cells have.
    pub fn full(&self) -> usize {
        self.full.len()
    }

    pub fn is_shown(&self, place: usize) -> bool {
        self.shown[place]
    }

    /// Address of a run's row on the page; None where only `runs.csv` has it.
    pub fn href(&self, place: usize) -> Option<String> {
        self.shown[place].then(|| format!("#r{}", place + 1))
    }

    /// Dots of one figure, so that those of all cells together stay a small part of the page.
    pub fn most_dots(&self) -> usize {
        (9000 / self.full.len().max(1)).clamp(80, 400)
    }
}

/// All cells, or those with the strongest effects and their controls where there are too many.
fn strongest(findings: &Findings) -> BTreeSet<&CellId> {
    if findings.cells.len() <= MOST_CELLS {
        return findings.cells.iter().map(|c| &c.cell).collect();
    }
    let mut effects: Vec<(&Effect, f64)> = findings
        .effects
        .iter()
        .filter(|e| !e.exploratory)
        .filter_map(|e| Some((e, size(e).filter(|s| s.is_finite())?)))
        .collect();
    effects.sort_by(|a, b| b.1.total_cmp(&a.1));
    let controls = controls(findings);
    let mut full = BTreeSet::new();
    for (effect, _) in effects {
        let control = controls.get(&super::view::levels(&effect.levels)).copied();
        let pair = effect.cell.as_ref().into_iter().chain(control);
        if full.len() + 2 > MOST_CELLS {
            break;
        }
        full.extend(pair);
    }
    match full.is_empty() {
        true => findings.cells.iter().take(MOST_CELLS).map(|c| &c.cell).collect(),
        false => full,
    }
}

/// Distance of an effect from none, on its scale.
fn size(effect: &Effect) -> Option<f64> {
    if effect.scale == Linear.word() {
        effect.difference.map(f64::abs)
    } else {
        effect.ratio.map(|r| r.ln().abs())
    }
}

/// The control of each grid point, by its levels in words.
pub fn controls(findings: &Findings) -> BTreeMap<String, &CellId> {
    let controls = findings.cells.iter().filter(|c| c.kind == crate::model::arm::ArmKind::Control);
    controls.map(|c| (super::view::levels(&c.levels), &c.cell)).collect()
}
