//! How much two identical things differ here, and whether control and treatment move together.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::accurate::moments;
use super::findings::Interval;
use super::kendall;
use super::signed_rank;

/// What an A/A cell shows: a second, identical control in every block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseFloor {
    pub n: u64,
    /// Twin over control; 1 is no difference.
    pub ratio: Option<f64>,
    pub interval: Option<Interval>,
    pub p: Option<f64>,
    /// Standard deviation of the paired log ratios.
    pub paired_sd: Option<f64>,
    /// Relative difference below which nothing can be told from none here: the farther end of the
    /// interval.
    pub floor: Option<f64>,
    /// Identical things were told apart.
    pub alarm: bool,
    pub sentence: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// From the log ratios of twin over control, one a block.
pub fn of_twins(logs: &[f64], alpha: f64) -> NoiseFloor {
    let estimate = signed_rank::estimate(logs, alpha);
    let interval = estimate.and_then(|e| e.interval);
    let p = estimate.and_then(|e| e.p);
    let floor = interval.map(|i| i.low.abs().max(i.high.abs()).exp_m1());
    let alarm = logs.len() >= signed_rank::FEWEST_PAIRS && p.is_some_and(|p| p <= alpha);
    let sentence = match (floor, alarm) {
        (Some(floor), true) => format!(
            "Two identical controls differ ({}, up to {:.1} %): something other than the change moves the numbers, so an \
             effect of this size proves nothing.",
            kendall::p_in_words(p.unwrap_or(1.0)),
            100.0 * floor
        ),
        (Some(floor), false) => {
            format!(
                "Two identical controls agree to within {:.1} %; smaller effects cannot be told from none.",
                100.0 * floor
            )
        }
        (None, _) => "The noise floor is unknown: the A/A cell has fewer than two pairs.".to_owned(),
    };
    let mut absent = BTreeMap::new();
    if logs.len() < 2 {
        for name in ["interval", "p", "paired_sd", "floor"] {
            absent.insert(name.to_owned(), format!("{} pairs have no spread", logs.len()));
        }
        if logs.is_empty() {
            absent.insert("ratio".to_owned(), "no block has both measured".to_owned());
        }
    }
    NoiseFloor {
        n: logs.len() as u64,
        ratio: estimate.map(|e| e.pseudo_median.exp()).filter(|r| r.is_finite()),
        interval: interval.map(|i| Interval {
            low: i.low.exp(),
            high: i.high.exp(),
            confidence: i.confidence,
        }),
        p,
        paired_sd: moments(logs).filter(|m| m.n > 1).map(|m| (m.squares / (m.n - 1) as f64).sqrt()),
        floor: floor.filter(|f| f.is_finite()),
        alarm,
        sentence,
        absent,
    }
}

/// Whether two arms rise and fall together over the blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Together {
    pub n: u64,
    pub tau: Option<f64>,
    pub p: Option<f64>,
    /// Part of both arms' variance that pairing takes out: 1 − var(difference) ÷ (var + var);
    /// negative where pairing adds noise.
    pub taken_out: Option<f64>,
    pub together: bool,
    pub sentence: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// From the logs of control and treatment, block by block.
pub fn move_together(control: &[f64], treatment: &[f64], alpha: f64) -> Together {
    let pairs: Vec<(f64, f64)> = control.iter().copied().zip(treatment.iter().copied()).collect();
    let found = kendall::stratified(std::slice::from_ref(&pairs));
    let variance =
        |values: Vec<f64>| moments(&values).filter(|m| m.n > 1).map(|m| m.squares / (m.n - 1) as f64);
    let parts = [
        variance(pairs.iter().map(|p| p.1 - p.0).collect()),
        variance(pairs.iter().map(|p| p.0).collect()),
        variance(pairs.iter().map(|p| p.1).collect()),
    ];
    let taken_out = match parts {
        [Some(difference), Some(a), Some(b)] if a + b > 0.0 => Some(1.0 - difference / (a + b)),
        _ => None,
    };
    let together = found.is_some_and(|k| k.tau > 0.0 && k.p <= alpha);
    let sentence = match (found, taken_out) {
        (Some(_), Some(part)) if together => format!(
            "Control and treatment rise and fall together over the blocks: the environment moves both, and pairing takes {:.0} % \
             of the variance out.",
            100.0 * part.max(0.0)
        ),
        (Some(k), _) => format!(
            "Control and treatment do not show a common movement over the blocks (tau {:+.2}).",
            k.tau
        ),
        (None, _) => {
            "Whether control and treatment move together cannot be told: the values do not vary.".to_owned()
        }
    };
    let mut absent = BTreeMap::new();
    for (name, missing) in
        [("tau", found.is_none()), ("p", found.is_none()), ("taken_out", taken_out.is_none())]
    {
        if missing {
            absent.insert(name.to_owned(), "there are not two pairs with different values".to_owned());
        }
    }
    Together {
        n: pairs.len() as u64,
        tau: found.map(|k| k.tau),
        p: found.map(|k| k.p),
        taken_out,
        together,
        sentence,
        absent,
    }
}
