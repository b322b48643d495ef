//! An arm and its control block by block, as means of logarithms over their grid points.

use super::effect::Point;
use super::trial::{Cell, Reading, Trial};
use crate::model::scale::Scale;

/// What one block says about both arms, on the logarithmic scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    /// Its place among the blocks of the trial.
    pub block: u32,
    /// Place in time of its earliest run here; None where nobody said.
    pub order: Option<f64>,
    pub control: f64,
    pub arm: f64,
}

impl Paired {
    /// Log of the ratio of arm to control.
    pub fn log_ratio(&self) -> f64 {
        self.arm - self.control
    }
}

/// Blocks that measured every one of these points exactly once on both sides with the same set-up, in
/// the order in which they were made where that is known.
pub fn by_block(trial: &Trial, response: usize, points: &[&Point], blocks: &[u32]) -> Vec<Paired> {
    let one = |block: u32| -> Option<Paired> {
        let mut whole = Paired { block, order: None, control: 0.0, arm: 0.0 };
        for point in points {
            let (arm, control) = (&trial.cells[point.cell], &trial.cells[point.control]);
            let ([a], [c]) = (arm.in_block(block), control.in_block(block)) else { return None };
            if !trial.differences(a.session, c.session).is_empty() {
                return None;
            }
            whole.arm += value(arm, block, response)? / points.len() as f64;
            whole.control += value(control, block, response)? / points.len() as f64;
            let earliest = [whole.order, a.order, c.order].into_iter().flatten().min_by(f64::total_cmp);
            whole.order = earliest;
        }
        (!points.is_empty()).then_some(whole)
    };
    let mut found: Vec<Paired> = blocks.iter().filter_map(|block| one(*block)).collect();
    if found.iter().all(|paired| paired.order.is_some()) {
        found.sort_by(|a, b| a.order.unwrap_or(0.0).total_cmp(&b.order.unwrap_or(0.0)));
    }
    found
}

fn value(cell: &Cell, block: u32, response: usize) -> Option<f64> {
    match cell.in_block(block) {
        [run] => match run.readings[response] {
            Reading::Value(value) => Scale::Log.of(value).filter(|log| log.is_finite()),
            _ => None,
        },
        _ => None,
    }
}
