//! Runs of an arm beside those of its control in the same block.

use super::trial::{Cell, Reading, Run, Trial};
use crate::model::outcome::RunOutcome;

/// Where a value lies on the scale of the analysis: both ends are the same unless the run timed out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    pub low: f64,
    pub high: f64,
    /// The value where it was measured; where the run timed out the worst there is, which is infinite.
    pub rank: f64,
}

impl Reach {
    /// Did the run time out?
    pub fn is_bound(self) -> bool {
        self.rank.is_infinite()
    }
}

/// What one run says on the scale.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    Value(Reach),
    /// Measured, but without a logarithm.
    OffScale(String),
    /// Not in the estimate, for this reason.
    Left(String),
}

/// Reads one response of a run of a cell.
pub fn said_by(trial: &Trial, cell: &Cell, run: &Run, response: usize) -> Said {
    let (name, scale) = (&trial.responses[response].name, trial.responses[response].scale);
    let on = |value: f64| {
        let block = &trial.blocks[run.block as usize].label;
        let of_block = if block.is_empty() { String::new() } else { format!(" in block {block}") };
        scale.of(value).ok_or_else(|| format!("{name} of {} is {value}{of_block}", cell.id))
    };
    // A bound that has no logarithm says nothing, and is no reason to refuse the comparison.
    let bound = |value: f64, open: f64| scale.of(value).unwrap_or(open);
    match &run.readings[response] {
        Reading::Value(value) => match on(*value) {
            Ok(v) => Said::Value(Reach { low: v, high: v, rank: v }),
            Err(why) => Said::OffScale(why),
        },
        Reading::AtLeast(value) => Said::Value(Reach {
            low: bound(*value, f64::NEG_INFINITY),
            high: f64::INFINITY,
            rank: f64::INFINITY,
        }),
        Reading::AtMost(value) => Said::Value(Reach {
            low: f64::NEG_INFINITY,
            high: bound(*value, f64::NEG_INFINITY),
            rank: f64::NEG_INFINITY,
        }),
        Reading::Absent(why) if run.outcome == RunOutcome::Measured => {
            Said::Left(format!("{} has no {name}: {why}", cell.id))
        }
        Reading::Absent(_) => Said::Left(ended(cell, run)),
    }
}

/// How a run without a value ended.
fn ended(cell: &Cell, run: &Run) -> String {
    // Below its first line a reason has the difference itself, which the run's own row shows.
    let reason = run.reason.as_deref().and_then(|r| r.lines().next());
    let why = reason.map_or(String::new(), |r| format!(" ({r})"));
    format!("{} {}{why}", cell.id, said(run.outcome))
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

/// What one block says about an arm at one grid point.
#[derive(Debug, Clone, PartialEq)]
pub enum Side {
    Values { arm: Vec<Reach>, control: Vec<Reach> },
    OffScale(String),
    Left(String),
}

/// Puts the runs of both cells in one block side by side; neither side is empty.
pub fn side_by_side(trial: &Trial, cells: [&Cell; 2], response: usize, block: u32) -> Side {
    let mut sides: [Vec<Reach>; 2] = Default::default();
    let mut against = vec![];
    for (cell, side) in cells.into_iter().zip(&mut sides) {
        let mut reasons = vec![];
        for run in cell.in_block(block) {
            match said_by(trial, cell, run, response) {
                Said::Value(reach) => side.push(reach),
                Said::OffScale(why) => return Side::OffScale(why),
                Said::Left(why) => reasons.push(why),
            }
        }
        if side.is_empty() {
            reasons.dedup();
            against.push(match reasons.is_empty() {
                true => format!("{} was not run", cell.id),
                false => reasons.join("; "),
            });
        }
    }
    if !against.is_empty() {
        return Side::Left(against.join("; "));
    }
    if let ([a], [b]) = (cells[0].in_block(block), cells[1].in_block(block))
        && !trial.differences(a.session, b.session).is_empty()
    {
        let differing = trial.differences(a.session, b.session).join("; ");
        return Side::Left(format!("its two runs had different set-ups: {differing}"));
    }
    let [arm, control] = sides;
    Side::Values { arm, control }
}
