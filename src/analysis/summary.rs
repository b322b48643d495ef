//! One cell's runs summarised, response by response.

use std::collections::BTreeMap;

use super::effect::ALPHA;
use super::findings::{Bounds, CellSummary, Interval, Percentile, ResponseSummary, Share};
use super::order_statistic::{median_interval, median_of_sorted};
use super::trial::{Cell, Reading, Trial};
use super::{moments, quantile, timed};
use crate::model::outcome::RunOutcome;

/// Percentiles that are told beside median and quartiles.
const PERCENTILES: [usize; 4] = [10, 90, 95, 99];

/// Summarises the last attempts of one cell in some blocks.
pub fn summarise(trial: &Trial, cell: &Cell, blocks: &[u32], shares: &mut Shares) -> CellSummary {
    let outcomes = cell.outcomes(blocks);
    let runs: u64 = outcomes.values().sum();
    let done = outcomes.get(RunOutcome::Measured.name()).copied().unwrap_or(0);
    let of = |response: usize| summarise_response(trial, cell, response, blocks);
    CellSummary {
        cell: cell.id.clone(),
        arm: cell.arm.clone(),
        kind: cell.kind,
        levels: cell.levels.clone(),
        fate: cell.fate,
        work: cell.work(blocks),
        completed: (runs > 0).then(|| shares.of(done, runs)),
        responses: if runs == 0 { vec![] } else { (0..trial.responses.len()).map(of).collect() },
        outcomes,
    }
}

/// Shares that were worked out already: most cells have the same counts.
#[derive(Debug, Default)]
pub struct Shares {
    known: BTreeMap<(u64, u64), Share>,
}

impl Shares {
    fn of(&mut self, done: u64, of: u64) -> Share {
        let level = 1.0 - ALPHA;
        let share = || Share {
            done,
            of,
            fraction: done as f64 / of as f64,
            interval: super::proportion::clopper_pearson(done, of, level),
            wilson: super::proportion::wilson(done, of, level),
        };
        self.known.entry((done, of)).or_insert_with(share).clone()
    }
}

/// Values of a cell as order statistics see them: both ends ascending, the same without timeouts.
struct Ordered {
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Ordered {
    /// A statistic that grows with every value, as the ends that timeouts leave of it.
    fn ends(&self, of: impl Fn(&[f64]) -> Option<f64>) -> Option<Bounds> {
        Some(Bounds { low: of(&self.low)?, high: of(&self.high)? })
    }

    /// The statistic itself, only where timeouts do not touch it.
    fn exact(&self, of: impl Fn(&[f64]) -> Option<f64>) -> Option<f64> {
        self.ends(of).filter(|b| b.low == b.high && b.low.is_finite()).map(|b| b.low)
    }
}

fn summarise_response(trial: &Trial, cell: &Cell, response: usize, blocks: &[u32]) -> ResponseSummary {
    let asked = &trial.responses[response];
    let mut values = vec![];
    let mut ordered = Ordered { low: vec![], high: vec![] };
    let mut runs = 0u64;
    for run in blocks.iter().flat_map(|b| cell.in_block(*b)) {
        runs += 1;
        let (low, high) = match &run.readings[response] {
            Reading::Value(value) => {
                values.push(*value);
                (*value, *value)
            }
            Reading::AtLeast(bound) => (*bound, f64::INFINITY),
            Reading::AtMost(bound) => (f64::NEG_INFINITY, *bound),
            Reading::Absent(_) => continue,
        };
        ordered.low.push(low);
        ordered.high.push(high);
    }
    let n = values.len() as u64;
    let timed_out = ordered.low.len() as u64 - n;
    // Sums run over values in one order, whatever order the rows had.
    values.sort_unstable_by(f64::total_cmp);
    ordered.low.sort_unstable_by(f64::total_cmp);
    ordered.high.sort_unstable_by(f64::total_cmp);
    let mut found = ResponseSummary {
        response: asked.name.clone(),
        unit: asked.unit.clone(),
        n,
        timed_out,
        median: ordered.exact(median_of_sorted),
        median_bounds: ordered.ends(median_of_sorted).filter(|b| b.low != b.high),
        min: values.first().copied(),
        max: values.last().copied(),
        interval: interval_of(&ordered, |v| median_interval(v, 1.0 - ALPHA)),
        q1: ordered.exact(|v| quantile::linear(v, 0.25)),
        q3: ordered.exact(|v| quantile::linear(v, 0.75)),
        mean: None,
        sd: None,
        cv: None,
        mad: (timed_out == 0).then(|| moments::median_distance(&values)).flatten(),
        percentiles: PERCENTILES.iter().map(|p| percentile(*p, &ordered)).collect(),
        time: trial.deadlines[response].and_then(|d| timed::summarise(cell, blocks, response, d)),
        caution: (n + timed_out < runs).then(|| {
            format!(
                "of {} runs only; {} of {runs} runs have no value here",
                n + timed_out,
                runs - n - timed_out
            )
        }),
        absent: BTreeMap::new(),
    };
    if timed_out == 0 {
        found.mean = moments::mean(&values);
        found.sd = moments::deviation(&values);
        found.cv =
            found.sd.zip(found.mean).filter(|(_, mean)| *mean != 0.0).map(|(sd, mean)| sd / mean.abs());
    }
    explain(&mut found);
    if found.percentiles.iter().all(|p| p.nearest_rank.is_none()) && n + timed_out == 0 {
        found.percentiles.clear();
    }
    found
}

fn interval_of(ordered: &Ordered, of: impl Fn(&[f64]) -> Option<Interval>) -> Option<Interval> {
    let (low, high) = (of(&ordered.low)?, of(&ordered.high)?);
    Some(Interval { low: low.low, high: high.high, confidence: low.confidence })
}

fn percentile(percent: usize, ordered: &Ordered) -> Percentile {
    let level = 1.0 - ALPHA;
    let n = ordered.low.len();
    let mut absent = BTreeMap::new();
    let nearest_rank = ordered.exact(|v| quantile::nearest_rank(v, percent));
    let linear = ordered.exact(|v| quantile::linear(v, percent as f64 / 100.0));
    for (name, value) in [("nearest_rank", nearest_rank), ("linear", linear)] {
        if value.is_none() && n > 0 {
            absent.insert(
                name.to_owned(),
                bound(ordered.ends(|v| quantile::linear(v, percent as f64 / 100.0))),
            );
        }
    }
    let interval = interval_of(ordered, |v| quantile::interval(v, percent, level));
    if interval.is_none() {
        let needed = quantile::fewest(percent, level);
        let extreme = match percent > 50 {
            true if percent * n > (n.max(1) - 1) * 100 => "; with so few it is the highest value",
            false if percent * n <= 100 => "; with so few it is the lowest value",
            _ => "",
        };
        absent.insert(
            "interval".to_owned(),
            format!("{n} values cannot carry it at 95 %, {needed} can{extreme}"),
        );
    }
    Percentile { percent: percent as u32, nearest_rank, linear, interval, absent }
}

/// A statistic that timeouts leave unknown, in words.
fn bound(ends: Option<Bounds>) -> String {
    let told = ends.map_or("unknown".to_owned(), |b| super::verdict::between(b.low, b.high));
    format!("runs that timed out leave it {told}")
}

fn explain(found: &mut ResponseSummary) {
    let mut absent = BTreeMap::new();
    let mut tell = |name: &str, missing: bool, why: &str| {
        if missing {
            absent.insert(name.to_owned(), why.to_owned());
        }
    };
    let none = "no run of this cell yielded a value";
    let timeouts = format!("{} runs timed out, and their values are not known", found.timed_out);
    let all = found.n + found.timed_out;
    let unknown = if all == 0 { none } else { timeouts.as_str() };
    let bounded = bound(found.median_bounds);
    tell("median", found.median.is_none(), if all == 0 { none } else { &bounded });
    for (name, value) in [
        ("min", found.min),
        ("max", found.max),
        ("q1", found.q1),
        ("q3", found.q3),
        ("mean", found.mean),
        ("mad", found.mad),
    ] {
        tell(name, value.is_none(), unknown);
    }
    let alone = if found.n == 1 && found.timed_out == 0 { "one value has no spread" } else { unknown };
    tell("sd", found.sd.is_none(), alone);
    let no_mean = if found.mean == Some(0.0) { "the mean is 0" } else { alone };
    tell("cv", found.cv.is_none(), no_mean);
    tell("interval", found.interval.is_none(), if all == 1 { "one value has no spread" } else { unknown });
    if let Some(interval) = found.interval {
        let open = "timeouts leave this end open";
        tell("interval.low", interval.low.is_infinite(), open);
        tell("interval.high", interval.high.is_infinite(), open);
    }
    found.absent = absent;
}
