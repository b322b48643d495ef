//! What a design could detect, by the spread that an earlier record of the same campaign shows.

use super::effect::{ALPHA, Point};
use super::judge::{points, ranked};
use super::of_record;
use super::paired::{Paired, by_block};
use super::power::{Reach, reach};
use super::trial::Trial;
use crate::evidence::fold::Evidence;

/// Arm by arm, for `blocks` blocks and a family of `comparisons`, on the primary response. Arms whose
/// pairs have no spread are left out.
pub fn of_record(evidence: &Evidence, blocks: usize, comparisons: usize) -> Vec<(String, Reach)> {
    of_trial(&of_record::trial(evidence), blocks, comparisons)
}

/// The same of runs of any origin.
pub fn of_trial(trial: &Trial, blocks: usize, comparisons: usize) -> Vec<(String, Reach)> {
    let Some(primary) = ranked(&trial.responses).position(|(_, exploratory)| !exploratory) else {
        return vec![];
    };
    let planned = trial.planned_blocks();
    let arms = points(trial).into_iter().filter_map(|(arm, points)| {
        let open: Vec<&Point> = points.iter().filter(|p| p.obstacle.is_none()).collect();
        let paired = by_block(trial, primary, &open, &planned);
        let logs: Vec<f64> = paired.iter().map(Paired::log_ratio).collect();
        Some((arm.name.clone(), reach(&logs, blocks, comparisons, ALPHA)?))
    });
    arms.collect()
}
