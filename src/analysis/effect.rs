//! One effect: runs of an arm and of its control reduced to a ratio or difference with interval and p.

use std::collections::BTreeMap;

use super::estimate::{Estimated, paired, unpaired};
use super::findings::{Bounds, Effect, Interval, LeftOut, Verdict};
use super::pairs::{Reach, Side, side_by_side};
use super::permutation::Laws;
use super::trial::{Arm, Trial};
use crate::model::scale::Scale;

/// False alarms allowed to one test and to the family.
pub const ALPHA: f64 = 0.05;

/// A grid point where an arm may be compared: places of its cell and of the control's.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub cell: usize,
    pub control: usize,
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

/// What one block, or one grid point of it, says about both arms.
#[derive(Debug, Clone, PartialEq)]
pub struct Gathered {
    pub arm: Vec<Reach>,
    pub control: Vec<Reach>,
}

/// Measures one arm over some of its grid points, over some blocks. Where no block holds a cell twice,
/// blocks are pairs: with more than one point a block's value is the mean over its points, and only
/// blocks with all of them count. Else labels are permuted within each point of each block.
pub fn measure(
    trial: &Trial,
    response: usize,
    arm: &Arm,
    points: &[Point],
    blocks: &[u32],
    laws: &mut Laws,
) -> Measured {
    let (open, closed): (Vec<&Point>, Vec<&Point>) = points.iter().partition(|p| p.obstacle.is_none());
    let cells = |p: &Point| [&trial.cells[p.cell], &trial.cells[p.control]];
    let repeated = open
        .iter()
        .any(|p| cells(p).iter().any(|c| c.runs.windows(2).any(|pair| pair[0].block == pair[1].block)));
    let mut found = Found::default();
    for block in blocks.iter().filter(|_| !open.is_empty()) {
        let sides = open.iter().map(|p| side_by_side(trial, cells(p), response, *block));
        found.add(sides, &trial.blocks[*block as usize].label, repeated);
    }
    let scale = trial.responses[response].scale;
    let obstacle = obstacle(&open, &closed, &found.off_scale);
    let mut effect = blank(trial, response, arm, points, &open, &closed, blocks);
    effect.left_out = std::mem::take(&mut found.left_out);
    let one_block = trial.blocks.len() <= 1;
    effect.test = match (repeated, one_block && open.len() <= 1) {
        (false, _) => "signed-rank",
        (true, true) => "rank-sum",
        (true, false) => "rank-sum within blocks",
    }
    .to_owned();
    match (&obstacle, repeated) {
        (Some(why), _) => without(&mut effect, why),
        (None, false) => fill(&mut effect, scale, paired(&found.blocks, scale)),
        (None, true) => {
            let strata: Vec<Gathered> = found.blocks.into_iter().flatten().collect();
            fill(&mut effect, scale, unpaired(&strata, laws, scale));
        }
    }
    Measured { effect, obstacle }
}

#[derive(Default)]
struct Found {
    /// By block, then by grid point.
    blocks: Vec<Vec<Gathered>>,
    left_out: Vec<LeftOut>,
    off_scale: Vec<String>,
}

impl Found {
    fn add(&mut self, sides: impl Iterator<Item = Side>, block: &str, repeated: bool) {
        let mut gathered = vec![];
        let mut against = vec![];
        let mut off_scale = false;
        for side in sides {
            match side {
                Side::Values { arm, control } => gathered.push(Gathered { arm, control }),
                Side::Left(reason) => against.push(reason),
                Side::OffScale(reason) => {
                    off_scale = true;
                    self.off_scale.push(reason);
                }
            }
        }
        let whole = against.is_empty();
        if !whole {
            self.left_out.push(LeftOut { block: block.to_owned(), reason: against.join("; ") });
        }
        if !off_scale && !gathered.is_empty() && (whole || repeated) {
            self.blocks.push(gathered);
        }
    }
}

fn obstacle(open: &[&Point], closed: &[&Point], off_scale: &[String]) -> Option<String> {
    match (open.is_empty(), off_scale) {
        (true, _) => {
            let why = closed.first().and_then(|p| p.obstacle.clone());
            Some(why.unwrap_or_else(|| "it has no live cell beside a live control".to_owned()))
        }
        (false, []) => None,
        (false, [first, ..]) => Some(format!(
            "a ratio needs values above 0, and {first}{}",
            match off_scale.len() {
                1 => String::new(),
                n => format!(" (and {} more)", n - 1),
            }
        )),
    }
}

fn blank(
    trial: &Trial,
    response: usize,
    arm: &Arm,
    points: &[Point],
    open: &[&Point],
    closed: &[&Point],
    blocks: &[u32],
) -> Effect {
    let single = if let [point] = points { Some(&trial.cells[point.cell]) } else { None };
    let asked = &trial.responses[response];
    let missing =
        |p: &&Point| format!("{}: {}", trial.cells[p.cell].id, p.obstacle.as_deref().unwrap_or_default());
    let tally = |of: &dyn Fn(&Point) -> usize| {
        let mut total = BTreeMap::new();
        for point in open {
            for (outcome, count) in trial.cells[of(point)].outcomes(blocks) {
                *total.entry(outcome).or_default() += count;
            }
        }
        total
    };
    let work = |of: &dyn Fn(&Point) -> usize| {
        let found = open.iter().filter_map(|point| trial.cells[of(point)].work(blocks));
        found.reduce(|sum, work| sum.plus(&work))
    };
    Effect {
        arm: arm.name.clone(),
        kind: arm.kind,
        cell: single.map(|c| c.id.clone()),
        levels: single.map(|c| c.levels.clone()).unwrap_or_default(),
        response: asked.name.clone(),
        unit: asked.unit.clone(),
        better: asked.better,
        exploratory: false,
        scale: asked.scale.word().to_owned(),
        test: String::new(),
        points: open.len() as u64,
        points_missing: closed.iter().map(missing).collect(),
        n: 0,
        control_n: 0,
        timed_out: 0,
        control_timed_out: 0,
        ratio: None,
        difference: None,
        bounds: None,
        interval: None,
        p: None,
        unpaired: None,
        p_adjusted: None,
        margin: asked.margin,
        verdict: Verdict::Inconclusive,
        sentence: String::new(),
        left_out: vec![],
        outcomes: tally(&|p| p.cell),
        control_outcomes: tally(&|p| p.control),
        work: work(&|p| p.cell),
        control_work: work(&|p| p.control),
        absent: BTreeMap::new(),
    }
}

fn without(effect: &mut Effect, why: &str) {
    let estimate = if effect.scale == Scale::Log.word() { "ratio" } else { "difference" };
    for name in [estimate, "interval", "p"] {
        effect.absent.insert(name.to_owned(), why.to_owned());
    }
}

/// An end as an effect: open where it is infinite, or too large for a double.
fn end(scale: Scale, at: f64) -> f64 {
    let effect = scale.effect(at);
    // On the logarithmic scale an open lower end would be a ratio of 0, which nobody measured.
    if at == f64::NEG_INFINITY { at } else { effect }
}

fn fill(effect: &mut Effect, scale: Scale, estimated: Result<Estimated, String>) {
    let found = match estimated {
        Ok(found) => found,
        Err(why) => return without(effect, &why),
    };
    effect.n = found.n;
    effect.control_n = found.control_n;
    effect.timed_out = found.timed_out;
    effect.control_timed_out = found.control_timed_out;
    if found.approximate {
        effect.test.push_str(", by its normal law");
    }
    let (low, high) = (end(scale, found.low), end(scale, found.high));
    let name = if scale == Scale::Log { "ratio" } else { "difference" };
    if low == high && low.is_finite() {
        match scale {
            Scale::Log => effect.ratio = Some(low),
            Scale::Linear => effect.difference = Some(low),
        }
    } else if found.low == found.high {
        effect.absent.insert(name.to_owned(), format!("the {name} is too large for a number"));
    } else {
        effect.bounds = Some(Bounds { low, high });
        effect.absent.insert(name.to_owned(), "timeouts leave only bounds of it".to_owned());
    }
    effect.p = found.p;
    effect.interval = found.interval.map(|i| Interval {
        low: end(scale, i.low),
        high: end(scale, i.high),
        confidence: i.confidence,
    });
    for (part, missing) in [("interval", effect.interval.is_none()), ("p", effect.p.is_none())] {
        if missing {
            effect.absent.insert(part.to_owned(), "a single pair has no spread".to_owned());
        }
    }
    let open = match effect.timed_out + effect.control_timed_out {
        0 => "this end is too large for a number",
        _ => "timeouts leave this end open",
    };
    if let Some(interval) = effect.interval {
        for (part, at) in [("interval.low", interval.low), ("interval.high", interval.high)] {
            if at.is_infinite() {
                effect.absent.insert(part.to_owned(), open.to_owned());
            }
        }
    }
    effect.unpaired = found.unpaired;
}
