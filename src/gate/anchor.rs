//! The published artifact in the same blocks: where it runs, the ratio to it decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::floor::FEWEST;
use super::measured::{Measured, MeasuredCell};
use super::publication::{Baseline, Published};
use super::verdict::Verdict;
use crate::analysis::quantile;
use crate::model::arm::ArmKind;
use crate::model::response::{Better, Response};

/// A cell against the published artifact, block by block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgainstAnchor {
    /// The arm that runs the published artifact.
    pub arm: String,
    /// How many times better than it: the median over blocks. 0.9 is 10 % worse in either direction.
    pub ratio: f64,
    pub lowest: f64,
    /// Blocks in which both were measured.
    pub blocks: u64,
    #[schemars(with = "String")]
    pub verdict: Verdict,
    /// Median of the anchor now divided by the published one: far from 1 the host's state has changed.
    pub host_moved: Option<f64>,
}

/// The cell that runs the published artifact beside `cell`, with its baseline: same levels, another arm, and
/// the very programs that were published.
pub fn beside<'a>(
    measured: &'a Measured,
    published: &'a Published,
    cell: &MeasuredCell,
    response: &Response,
) -> Option<(&'a MeasuredCell, &'a Baseline)> {
    let others = || {
        let same = |other: &&MeasuredCell| other.cell != cell.cell && other.levels == cell.levels;
        measured.cells.iter().filter(same).filter(|other| other.kind != ArmKind::Twin)
    };
    let baselines = || published.cells.iter().filter(|own| own.response == response.name);
    let own = baselines().find(|own| own.cell == cell.cell);
    // Its own baseline first; a new treatment has none and is compared with that of its grid point.
    let at_point = baselines().filter(|own| own.levels == cell.levels && own.kind != ArmKind::Anchor);
    own.into_iter().chain(at_point).filter(|own| !own.programs.is_empty()).find_map(|own| {
        let anchor =
            others().find(|other| other.programs == own.programs && cell.programs != own.programs)?;
        Some((anchor, own))
    })
}

/// Judges by the ratio; None where fewer than three blocks have both, or a ratio means nothing.
pub fn against(
    cell: &MeasuredCell,
    anchor: &MeasuredCell,
    baseline: &Baseline,
    response: &Response,
) -> Option<AgainstAnchor> {
    let own = &cell.values.get(&response.name)?.first;
    let theirs = &anchor.values.get(&response.name)?.first;
    let mut ratios = vec![];
    for (block, value) in own {
        let Some((_, other)) = theirs.iter().find(|(other, _)| other == block) else { continue };
        if *value <= 0.0 || *other <= 0.0 {
            return None;
        }
        ratios.push(match response.better {
            Better::Higher => value / other,
            Better::Lower => other / value,
        });
    }
    if ratios.len() < FEWEST {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let (ratio, lowest) = (quantile::linear(&ratios, 0.5)?, ratios[0]);
    let floor = 1.0 - baseline.tolerance;
    let verdict = match (ratio < floor, lowest < floor) {
        (true, _) => Verdict::Regression,
        (false, true) => Verdict::Inconclusive,
        (false, false) => Verdict::Pass,
    };
    let mut now: Vec<f64> = theirs.iter().map(|(_, value)| *value).collect();
    now.sort_by(f64::total_cmp);
    let moved = quantile::linear(&now, 0.5).filter(|_| baseline.median > 0.0);
    Some(AgainstAnchor {
        arm: anchor.arm.clone(),
        ratio,
        lowest,
        blocks: ratios.len() as u64,
        verdict,
        host_moved: moved.map(|now| now / baseline.median),
    })
}
