//! One effect: pairs of an arm and its control reduced to a ratio with interval and p.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::findings::{Effect, Interval, LeftOut, Verdict};
use super::pairs::{Pair, Pairing};
use super::signed_rank::{self, MOST_PAIRS};
use crate::evidence::event::ArmNote;
use crate::model::cell::CellId;
use crate::model::response::Response;

/// False alarms allowed to one test and to the family.
pub const ALPHA: f64 = 0.05;

/// A grid point where an arm may be compared: its cell and the control's.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub levels: IndexMap<String, String>,
    pub cell: CellId,
    pub control: CellId,
    /// Why it cannot be compared; None where both cells are live.
    pub obstacle: Option<String>,
}

/// An effect that waits for its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub effect: Effect,
    /// Why there is nothing to compare.
    pub obstacle: Option<String>,
}

/// Measures one arm over some of its grid points, over some blocks. With more than one point, a
/// block's value is the mean of its points' logarithms, and only blocks with all of them count.
pub fn measure(
    pairing: &Pairing,
    response: &Response,
    arm: &ArmNote,
    points: &[Point],
    blocks: &[u32],
) -> Measured {
    let (open, closed): (Vec<&Point>, Vec<&Point>) = points.iter().partition(|p| p.obstacle.is_none());
    let gathered = gather(pairing, response, &open, blocks);
    let missing = |p: &&Point| format!("{}: {}", p.cell, p.obstacle.as_deref().unwrap_or(""));
    let points_missing: Vec<String> = closed.iter().map(missing).collect();
    let obstacle = match (open.is_empty(), gathered.no_log.as_slice()) {
        (true, _) => {
            let why = closed.first().and_then(|p| p.obstacle.clone());
            Some(why.unwrap_or_else(|| "it has no live cell beside a live control".to_owned()))
        }
        (false, []) => None,
        (false, [first, ..]) => Some(format!(
            "a ratio needs values above 0, and {first}{}",
            match gathered.no_log.len() {
                1 => String::new(),
                n => format!(" (and {} more)", n - 1),
            }
        )),
    };
    let single = if let [point] = points { Some(point) } else { None };
    let mut effect = Effect {
        arm: arm.name.clone(),
        kind: arm.kind,
        cell: single.map(|p| p.cell.clone()),
        levels: single.map(|p| p.levels.clone()).unwrap_or_default(),
        response: response.name.clone(),
        unit: response.unit.clone(),
        better: response.better,
        exploratory: false,
        scale: "log".to_owned(),
        points: open.len() as u64,
        points_missing,
        n: gathered.logs.len() as u64,
        ratio: None,
        interval: None,
        p: None,
        p_adjusted: None,
        margin: response.margin,
        verdict: Verdict::Inconclusive,
        sentence: String::new(),
        left_out: gathered.left_out,
        outcomes: tally(pairing, open.iter().map(|p| &p.cell), blocks),
        control_outcomes: tally(pairing, open.iter().map(|p| &p.control), blocks),
        absent: BTreeMap::new(),
    };
    match &obstacle {
        Some(why) => {
            effect.n = 0;
            for name in ["ratio", "interval", "p"] {
                effect.absent.insert(name.to_owned(), why.clone());
            }
        }
        None => fill(&mut effect, &gathered.logs),
    }
    Measured { effect, obstacle }
}

struct Gathered {
    logs: Vec<f64>,
    left_out: Vec<LeftOut>,
    no_log: Vec<String>,
}

fn gather(pairing: &Pairing, response: &Response, points: &[&Point], blocks: &[u32]) -> Gathered {
    let mut gathered = Gathered { logs: vec![], left_out: vec![], no_log: vec![] };
    if points.is_empty() {
        return gathered;
    }
    for block in blocks {
        let mut sum = 0.0;
        let mut against = vec![];
        let mut nonpositive = false;
        for point in points {
            match pairing.pair(&point.cell, &point.control, &response.name, *block) {
                Pair::Log(log) => sum += log,
                Pair::Left(reason) => against.push(reason),
                Pair::NoLog(reason) => {
                    nonpositive = true;
                    gathered.no_log.push(reason);
                }
            }
        }
        if !against.is_empty() {
            gathered.left_out.push(LeftOut { block: *block, reason: against.join("; ") });
        } else if !nonpositive {
            gathered.logs.push(sum / points.len() as f64);
        }
    }
    gathered
}

fn fill(effect: &mut Effect, logs: &[f64]) {
    let Some(estimate) = signed_rank::estimate(logs, ALPHA) else {
        let why = if logs.is_empty() {
            "no block has both sides measured".to_owned()
        } else {
            format!("{} pairs are more than the {MOST_PAIRS} that the exact test is made for", logs.len())
        };
        for name in ["ratio", "interval", "p"] {
            effect.absent.insert(name.to_owned(), why.clone());
        }
        return;
    };
    // exp can overflow for absurd ratios, and JSON has no infinity.
    let finite = |log: f64| Some(log.exp()).filter(|ratio| ratio.is_finite());
    effect.ratio = finite(estimate.pseudo_median);
    effect.interval = estimate.interval.and_then(|i| {
        Some(Interval { low: finite(i.low)?, high: finite(i.high)?, confidence: i.confidence })
    });
    effect.p = estimate.p;
    if logs.len() == 1 {
        for name in ["interval", "p"] {
            effect.absent.insert(name.to_owned(), "a single pair has no spread".to_owned());
        }
    } else if effect.interval.is_none() {
        effect.absent.insert("interval".to_owned(), "the ratio is too large for a number".to_owned());
    }
    if effect.ratio.is_none() {
        effect.absent.insert("ratio".to_owned(), "the ratio is too large for a number".to_owned());
    }
}

fn tally<'a>(
    pairing: &Pairing,
    cells: impl Iterator<Item = &'a CellId>,
    blocks: &[u32],
) -> BTreeMap<String, u64> {
    let mut total = BTreeMap::new();
    for cell in cells {
        for (outcome, count) in pairing.outcomes(cell, blocks) {
            *total.entry(outcome).or_default() += count;
        }
    }
    total
}
