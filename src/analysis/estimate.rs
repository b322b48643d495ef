//! Both arms' values reduced to a shift on the scale of the analysis, with and without timeouts.

use std::collections::BTreeMap;

use super::accurate::sum;
use super::effect::{ALPHA, Gathered};
use super::findings::{Interval, Unpaired, WelchFinding};
use super::pairs::Reach;
use super::permutation::Laws;
use super::rank_sum::{self, Stratum};
use super::signed_rank::{self, MOST_COUNTED, MOST_PAIRS};
use super::welch;
use crate::model::scale::Scale;

/// A shift on the scale. Without timeouts `low` and `high` are the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimated {
    pub n: u64,
    pub control_n: u64,
    pub timed_out: u64,
    pub control_timed_out: u64,
    pub low: f64,
    pub high: f64,
    pub interval: Option<Interval>,
    pub p: Option<f64>,
    /// p and interval are by a normal law.
    pub approximate: bool,
    pub unpaired: Option<Unpaired>,
}

fn bounds_in<'a>(reaches: impl Iterator<Item = &'a Reach>) -> u64 {
    reaches.filter(|r| r.is_bound()).count() as u64
}

/// Blocks as pairs, each with one value a side at every grid point. A timeout makes its pair a bound
/// of the difference; the test ranks it beyond all others, on the side of the arm that timed out.
///
/// # Errors
/// Why there is no estimate.
pub fn paired(blocks: &[Vec<Gathered>], scale: Scale) -> Result<Estimated, String> {
    if blocks.is_empty() {
        return Err("no block has both sides measured".to_owned());
    }
    if blocks.len() > MOST_PAIRS {
        return Err(format!(
            "{} pairs are more than the {MOST_PAIRS} that the test is made for",
            blocks.len()
        ));
    }
    let size = size(blocks, scale);
    let mean = |of: &dyn Fn(Reach, Reach) -> f64| -> Vec<f64> {
        let block = |points: &Vec<Gathered>| {
            let own = || points.iter().map(|g| of(g.arm[0], g.control[0]));
            // What a compensated sum carries along is no number beside an infinite one.
            let total = if own().all(f64::is_finite) { sum(own()) } else { own().sum() };
            total / points.len() as f64 / size
        };
        blocks.iter().map(block).collect()
    };
    let arms = blocks.iter().flatten().flat_map(|g| &g.arm);
    let controls = blocks.iter().flatten().flat_map(|g| &g.control);
    let (timed_out, control_timed_out) = (bounds_in(arms), bounds_in(controls));
    let judge = |differences: &[f64]| {
        signed_rank::estimate(differences, ALPHA).ok_or("timeouts leave no bound of it".to_owned())
    };
    let low = judge(&open(mean(&|a, c| a.low - c.high), f64::NEG_INFINITY))?;
    let (high, p) = if timed_out + control_timed_out == 0 {
        (low, low.p)
    } else {
        let high = judge(&open(mean(&|a, c| a.high - c.low), f64::INFINITY))?;
        let worst = mean(&|a, c| if a.is_bound() && c.is_bound() { 0.0 } else { a.rank - c.rank });
        // Open ends on both sides of one block cancel to no number: it speaks for neither arm.
        let worst: Vec<f64> = worst.into_iter().map(|d| if d.is_nan() { 0.0 } else { d }).collect();
        (high, low.p.map(|_| signed_rank::p_value(&worst, 0.0)))
    };
    Ok(Estimated {
        n: blocks.len() as u64,
        control_n: blocks.len() as u64,
        timed_out,
        control_timed_out,
        low: low.pseudo_median * size,
        high: high.pseudo_median * size,
        interval: both(low.interval, high.interval).map(|i| Interval {
            low: i.low * size,
            high: i.high * size,
            ..i
        }),
        p,
        approximate: blocks.len() > MOST_COUNTED,
        unpaired: None,
    })
}

/// What linear differences are measured in while ties among them are looked for: a power of two near
/// the largest value, which costs no digit. Logarithms are their own measure.
fn size(blocks: &[Vec<Gathered>], scale: Scale) -> f64 {
    let ends = blocks.iter().flatten().flat_map(|g| g.arm.iter().chain(&g.control));
    let largest =
        ends.flat_map(|r| [r.low, r.high]).filter(|v| v.is_finite()).map(f64::abs).fold(0.0, f64::max);
    match scale {
        Scale::Linear if largest.is_normal() => largest.log2().floor().exp2(),
        _ => 1.0,
    }
}

/// A mean over points with an open end in it is open, whatever else is in it.
fn open(values: Vec<f64>, end: f64) -> Vec<f64> {
    values.into_iter().map(|v| if v.is_finite() { v } else { end }).collect()
}

/// The widest of two intervals, at the lesser confidence.
fn both(low: Option<Interval>, high: Option<Interval>) -> Option<Interval> {
    let (low, high) = (low?, high?);
    Some(Interval { low: low.low, high: high.high, confidence: low.confidence.min(high.confidence) })
}

/// Values of both arms in each block or grid point, in any number.
///
/// # Errors
/// Why there is no estimate.
pub fn unpaired(strata: &[Gathered], laws: &mut Laws, scale: Scale) -> Result<Estimated, String> {
    let arms = || strata.iter().flat_map(|g| &g.arm);
    let controls = || strata.iter().flat_map(|g| &g.control);
    let (timed_out, control_timed_out) = (bounds_in(arms()), bounds_in(controls()));
    let of = |arm: fn(&Reach) -> f64, control: fn(&Reach) -> f64| -> Vec<Stratum> {
        let stratum = |g: &Gathered| Stratum {
            control: g.control.iter().map(control).collect(),
            arm: g.arm.iter().map(arm).collect(),
        };
        strata.iter().map(stratum).collect()
    };
    let mut shift = |strata: &[Stratum]| {
        rank_sum::shift(strata, ALPHA, laws).ok_or("no block has both sides measured".to_owned())
    };
    let low_ends = of(|a| a.low, |c| c.high);
    let low = shift(&low_ends)?;
    let high = match timed_out + control_timed_out {
        0 => low,
        _ => shift(&of(|a| a.high, |c| c.low))?,
    };
    let worst = match timed_out + control_timed_out {
        0 => low_ends,
        _ => of(|a| a.rank, |c| c.rank),
    };
    let test = rank_sum::test(&worst, laws);
    let single = low.interval.is_none();
    Ok(Estimated {
        n: arms().count() as u64,
        control_n: controls().count() as u64,
        timed_out,
        control_timed_out,
        low: low.estimate,
        high: high.estimate,
        interval: both(low.interval, high.interval),
        p: (!single).then(|| test.p()),
        approximate: test.exact.is_none(),
        unpaired: (strata.len() == 1).then(|| beside(&worst[0], &test, scale)),
    })
}

/// The named tests of two samples.
fn beside(sample: &Stratum, test: &rank_sum::Test, scale: Scale) -> Unpaired {
    let mut absent = BTreeMap::new();
    let means = match sample.control.iter().chain(&sample.arm).all(|v| v.is_finite()) {
        true => welch::compare(&sample.control, &sample.arm, 1.0 - ALPHA),
        false => Err("runs that timed out have no mean"),
    };
    let welch = means.map_err(|why| absent.insert("welch".to_owned(), why.to_owned())).ok().map(|w| {
        let ends = w.interval;
        WelchFinding {
            estimate: scale.effect(w.difference),
            interval: Interval { low: scale.effect(ends.low), high: scale.effect(ends.high), ..ends },
            t: w.t,
            df: w.df,
            p: w.p,
        }
    });
    if test.exact.is_none() {
        absent.insert("p_exact".to_owned(), "the splits are too many to count".to_owned());
    }
    if test.normal.is_none() {
        absent.insert("p_normal".to_owned(), "all values are equal".to_owned());
    }
    Unpaired {
        u: test.wins,
        control_u: test.pairs - test.wins,
        probability_higher: test.wins / test.pairs,
        p_exact: test.exact,
        p_normal: test.normal,
        welch,
        absent,
    }
}
