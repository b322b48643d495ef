//! Drift: does the unchanged control move over the order of runs, and does the effect.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::accurate::sum;
use super::kendall::{self, Count, Kendall, p_in_words};
use super::order_statistic::median_of_sorted;
use super::signed_rank;

/// Level of the one test over all controls: a campaign of several levels is asked only once.
pub const DRIFT_ALPHA: f64 = 0.01;

/// Fewest pairs for two halves; below, no split of them is rare enough.
pub const FEWEST_FOR_HALVES: usize = 8;

/// Most slopes of pairs that the size is taken from.
const MOST_SLOPES: usize = 1_000_000;

/// One run of a control.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ControlRun {
    /// Grid point; drift is looked for inside of each.
    pub cell: usize,
    pub block: usize,
    /// Place in the order of all runs, or a time.
    pub order: f64,
    /// On the log scale.
    pub value: f64,
}

/// Drift of the controls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    pub runs: u64,
    pub cells: u64,
    pub tau: Option<f64>,
    pub p: Option<f64>,
    /// Relative change from the first run to the last, by the median of all slopes.
    pub change: Option<f64>,
    /// Part of the variance about the trend that runs of one block share; the test allows for it.
    pub shared_by_block: f64,
    pub found: bool,
    pub sentence: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// One stratified Kendall over all controls at 1 %. Where the runs of a block vary together, which
/// makes the strata depend on each other, the variance grows by what they share: without that,
/// blocks that merely differ would raise 12 to 14 % false alarms with four cells instead of 1.
pub fn of_controls(runs: &[ControlRun]) -> Drift {
    let mut strata: BTreeMap<usize, Vec<ControlRun>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.value.is_finite() && run.order.is_finite()) {
        strata.entry(run.cell).or_default().push(*run);
    }
    strata.retain(|_, stratum| stratum.len() > 1);
    // In this order sums are the same, to the last bit, for any order of the rows.
    strata.values_mut().for_each(|stratum| stratum.sort_by(|a, b| a.order.total_cmp(&b.order)));
    let mut drift = Drift {
        runs: strata.values().map(Vec::len).sum::<usize>() as u64,
        cells: strata.len() as u64,
        tau: None,
        p: None,
        change: None,
        shared_by_block: shared(&strata),
        found: false,
        sentence: String::new(),
        absent: BTreeMap::new(),
    };
    let pairs: Vec<Vec<(f64, f64)>> =
        strata.values().map(|stratum| stratum.iter().map(|run| (run.order, run.value)).collect()).collect();
    let Some(trend) = kendall::stratified(&pairs) else {
        let why = "no control has two runs with different values";
        for name in ["tau", "p", "change"] {
            drift.absent.insert(name.to_owned(), why.to_owned());
        }
        drift.sentence = format!("Drift of the control was not tested: {why}.");
        return drift;
    };
    let p = p_value(&trend, &pairs, drift.runs as f64, &drift);
    drift.tau = Some(trend.tau);
    drift.p = Some(p);
    drift.change = change(&pairs);
    drift.found = p <= DRIFT_ALPHA;
    let size = drift.change.map_or(String::new(), |c| format!(" by about {:+.1} %", 100.0 * c));
    let told = p_in_words(p);
    drift.sentence = match (drift.found, drift.runs) {
        (true, _) => format!(
            "The unchanged control drifts over the campaign{size} ({told}); pairs in blocks take most of it out of \
             effects, but levels of different hours are not comparable."
        ),
        (false, n) => {
            format!("No drift of the control was found in {n} runs ({told}, level {DRIFT_ALPHA}).")
        }
    };
    drift
}

fn p_value(trend: &Kendall, pairs: &[Vec<(f64, f64)>], runs: f64, drift: &Drift) -> f64 {
    let beside = runs / pairs.iter().map(Vec::len).max().unwrap_or(1) as f64;
    let inflation = 1.0 + (beside - 1.0).max(0.0) * drift.shared_by_block;
    if inflation == 1.0 {
        return trend.p;
    }
    let variance: f64 = pairs.iter().map(|stratum| Count::of(stratum).variance).sum();
    let z = (trend.s.abs() as f64 - 1.0).max(0.0) / (variance * inflation).sqrt();
    kendall::two_sided(z).max(trend.p)
}

/// Intraclass correlation of the blocks about a straight line in each cell; 0 where negative or
/// where there is too little to tell.
fn shared(strata: &BTreeMap<usize, Vec<ControlRun>>) -> f64 {
    let mut by_block: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for stratum in strata.values().filter(|stratum| stratum.len() > 2) {
        let n = stratum.len() as f64;
        let (x, y) = (
            stratum.iter().map(|r| r.order).sum::<f64>() / n,
            stratum.iter().map(|r| r.value).sum::<f64>() / n,
        );
        let squares = sum(stratum.iter().map(|r| (r.order - x) * (r.order - x)));
        let slope = sum(stratum.iter().map(|r| (r.order - x) * (r.value - y))) / squares;
        let slope = if slope.is_finite() { slope } else { 0.0 };
        for run in stratum {
            by_block.entry(run.block).or_default().push(run.value - y - slope * (run.order - x));
        }
    }
    let (runs, blocks) = (by_block.values().map(Vec::len).sum::<usize>() as f64, by_block.len() as f64);
    let (between_df, all_df) = (blocks - 2.0, runs - 2.0 * strata.len() as f64);
    if between_df < 1.0 || all_df - between_df < 1.0 {
        return 0.0;
    }
    let (mut between, mut within) = (0.0, 0.0);
    for residuals in by_block.values() {
        let mean = residuals.iter().sum::<f64>() / residuals.len() as f64;
        between += residuals.len() as f64 * mean * mean;
        within += residuals.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>();
    }
    let ratio = (between / between_df) / (within / (all_df - between_df));
    let beside = runs / blocks;
    match ratio.is_finite() {
        true => ((ratio - 1.0) / (ratio - 1.0 + beside)).clamp(0.0, 1.0),
        // Runs of a block differ in nothing.
        false => f64::from(between > 0.0),
    }
}

/// Median slope of all pairs (Theil 1950, Sen 1968) times the span of the order, as a ratio less 1.
fn change(pairs: &[Vec<(f64, f64)>]) -> Option<f64> {
    // Long strata are thinned out evenly.
    let most = ((2 * MOST_SLOPES / pairs.len().max(1)) as f64).sqrt().max(2.0) as usize;
    let mut slopes = vec![];
    for stratum in pairs {
        let kept: Vec<_> = stratum.iter().step_by(stratum.len().div_ceil(most).max(1)).collect();
        for (i, (a, x)) in kept.iter().enumerate() {
            slopes.extend(
                kept[i + 1..].iter().map(|(b, y)| (y - x) / (b - a)).filter(|slope| slope.is_finite()),
            );
        }
    }
    slopes.sort_by(f64::total_cmp);
    let orders = || pairs.iter().flatten().map(|pair| pair.0);
    let span = orders().fold(f64::NEG_INFINITY, f64::max) - orders().fold(f64::INFINITY, f64::min);
    median_of_sorted(&slopes).map(|slope| (slope * span).exp_m1()).filter(|change| change.is_finite())
}

/// The effect in the first half of the blocks against the second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Halves {
    pub n: u64,
    /// Pseudo-medians on the scale of the differences.
    pub first: Option<f64>,
    pub second: Option<f64>,
    /// Exact, two-sided, that the halves do not differ.
    pub p: Option<f64>,
    pub sentence: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// Compares paired differences, in the order of their blocks, between the two halves; a middle one
/// stays out. From eight on.
pub fn halves(differences: &[f64], alpha: f64) -> Halves {
    let n = differences.len();
    let (first, second) = (&differences[..n / 2], &differences[n - n / 2..]);
    let mut halves = Halves {
        n: n as u64,
        first: signed_rank::estimate(first, alpha).map(|e| e.pseudo_median),
        second: signed_rank::estimate(second, alpha).map(|e| e.pseudo_median),
        p: None,
        sentence: String::new(),
        absent: BTreeMap::new(),
    };
    // Kendall of value against half counts the same pairs as Mann and Whitney's U.
    let half = |list: &[f64], which: f64| list.iter().map(|d| (which, *d)).collect::<Vec<_>>();
    let pairs = [half(first, 1.0), half(second, 2.0)].concat();
    let found = if n < FEWEST_FOR_HALVES { None } else { kendall::stratified(&[pairs]) };
    halves.p = found.map(|k| k.p);
    let told = halves.p.map_or(String::new(), p_in_words);
    halves.sentence = match halves.p {
        Some(p) if p <= alpha => {
            format!(
                "The effect is not the same in both halves of the campaign ({told}); one number for all is an average over them."
            )
        }
        Some(_) => format!("The two halves of the campaign do not differ in the effect ({told})."),
        None => {
            let why = if n < FEWEST_FOR_HALVES {
                format!("{n} pairs are too few to halve, {FEWEST_FOR_HALVES} are needed")
            } else {
                "all differences are the same".to_owned()
            };
            halves.absent.insert("p".to_owned(), why.clone());
            format!("Halves were not compared: {why}.")
        }
    };
    halves
}
