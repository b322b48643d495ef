//! Pairs of runs: an arm and its control in the same block.

use std::collections::{BTreeMap, BTreeSet};

use super::setup;
use crate::evidence::fold::{Evidence, RunRow};
use crate::model::cell::CellId;
use crate::model::outcome::RunOutcome;

/// What one block says about an arm against its control.
#[derive(Debug, Clone, PartialEq)]
pub enum Pair {
    /// Natural logarithm of arm over control.
    Log(f64),
    /// Both were measured, but a value is zero or negative.
    NoLog(String),
    /// The pair is not in the estimate, for this reason.
    Left(String),
}

/// Looks runs up by cell and block; later attempts take the place of earlier ones.
pub struct Pairing<'a> {
    evidence: &'a Evidence,
    runs: BTreeMap<(&'a CellId, u32), &'a RunRow>,
    /// Names of what differs between two sessions, only where something does.
    differences: BTreeMap<(usize, usize), Vec<String>>,
}

impl<'a> Pairing<'a> {
    /// Indexes the runs and compares all sessions' set-ups once.
    pub fn new(evidence: &'a Evidence) -> Pairing<'a> {
        let runs = evidence.runs.iter().map(|row| ((&row.note.run.cell, row.note.run.block), row)).collect();
        let mut differences = BTreeMap::new();
        for after in 0..evidence.sessions.len() {
            for before in 0..after {
                let found = setup::differences(evidence, before, after);
                if !found.is_empty() {
                    differences.insert((before, after), found);
                }
            }
        }
        Pairing { evidence, runs, differences }
    }

    /// What is judged.
    pub fn evidence(&self) -> &'a Evidence {
        self.evidence
    }

    /// The last attempt of a cell in a block.
    pub fn run(&self, cell: &CellId, block: u32) -> Option<&'a RunRow> {
        self.runs.get(&(cell, block)).copied()
    }

    /// What differs between two sessions; empty for the same set-up.
    pub fn differences(&self, a: usize, b: usize) -> &[String] {
        self.differences.get(&(a.min(b), a.max(b))).map_or(&[], |found| found)
    }

    /// Blocks of the plan, in order.
    pub fn planned_blocks(&self) -> Vec<u32> {
        let known = self.evidence.blocks.keys().chain(self.evidence.runs.iter().map(|r| &r.note.run.block));
        let blocks: BTreeSet<u32> = known.copied().collect();
        blocks.into_iter().filter(|b| self.evidence.is_planned_block(*b)).collect()
    }

    /// Blocks that reruns of this cell added, in order.
    pub fn rerun_blocks(&self, cell: &CellId) -> Vec<u32> {
        let added = self.evidence.blocks.values().filter(|b| b.rerun_of.as_ref() == Some(cell));
        added.map(|b| b.block).collect()
    }

    /// Runs of a cell by outcome over some blocks; every outcome has its count.
    pub fn outcomes(&self, cell: &CellId, blocks: &[u32]) -> BTreeMap<String, u64> {
        let mut counts: BTreeMap<String, u64> =
            RunOutcome::ALL.iter().map(|o| (o.name().to_owned(), 0)).collect();
        for row in blocks.iter().filter_map(|b| self.run(cell, *b)) {
            *counts.entry(row.note.outcome.name().to_owned()).or_default() += 1;
        }
        counts
    }

    /// The pair of one block.
    pub fn pair(&self, arm: &CellId, control: &CellId, response: &str, block: u32) -> Pair {
        let (arm_run, control_run) = (self.run(arm, block), self.run(control, block));
        let values = [(arm, arm_run), (control, control_run)].map(|(cell, run)| value(cell, run, response));
        let (arm_value, control_value) = match values {
            [Ok(arm_value), Ok(control_value)] => (arm_value, control_value),
            [Err(a), Err(b)] => return Pair::Left(format!("{a}; {b}")),
            [Err(reason), _] | [_, Err(reason)] => return Pair::Left(reason),
        };
        if let (Some(a), Some(b)) = (arm_run, control_run)
            && !self.differences(a.session, b.session).is_empty()
        {
            let differing = self.differences(a.session, b.session).join("; ");
            return Pair::Left(format!("its two runs had different set-ups: {differing}"));
        }
        for (cell, value) in [(arm, arm_value), (control, control_value)] {
            if value <= 0.0 {
                return Pair::NoLog(format!("{response} of {cell} is {value} in block {block}"));
            }
        }
        Pair::Log((arm_value / control_value).ln())
    }
}

/// The value of a run that counts, or why there is none.
pub fn value(cell: &CellId, run: Option<&RunRow>, response: &str) -> Result<f64, String> {
    let Some(run) = run else { return Err(format!("{cell} was not run")) };
    let note = &run.note;
    if note.outcome != RunOutcome::Measured {
        // Below its first line a reason has the difference itself, which the run's own row shows.
        let reason = note.reason.as_deref().and_then(|r| r.lines().next());
        let why = reason.map_or(String::new(), |r| format!(" ({r})"));
        return Err(format!("{cell} {}{why}", said(note.outcome)));
    }
    match note.values.get(response) {
        Some(value) if value.is_finite() => Ok(*value),
        Some(value) => Err(format!("{cell} has no {response}: {value} is not finite")),
        None => {
            let why = note.absent.get(response).map_or("the run did not yield it", |w| w);
            Err(format!("{cell} has no {response}: {why}"))
        }
    }
}

/// An outcome as the end of a sentence.
pub fn said(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Measured => "was measured",
        RunOutcome::Rejected => "was rejected",
        RunOutcome::TimedOut => "timed out",
        RunOutcome::Failed => "failed",
        RunOutcome::Interrupted => "was interrupted",
    }
}
