//! Do gains add: the interaction of two changes on a named scale, and the gain of several at once.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::accurate::{Moments, moments};
use super::findings::Interval;
use super::order_statistic::median_of_sorted;
use super::signed_rank::{self, FEWEST_PAIRS};
use super::tail::{t_reach, t_two_sided};
use crate::model::scale::Scale;

/// False alarms allowed to one test.
const ALPHA: f64 = 0.05;

/// What may be said of gains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Adds {
    /// The interaction is shown to lie within the margin.
    Add,
    /// It is shown not to be zero, and not shown to lie within the margin.
    DoNotAdd,
    Unknown,
}

/// One corner of the square that two changes make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Corner {
    pub n: u64,
    pub mean: Option<f64>,
    pub median: Option<f64>,
}

/// The interaction of two changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interaction {
    pub scale: Scale,
    /// Blocks with every corner; without blocks, runs in the smallest corner.
    pub n: u64,
    /// Neither change, the first, the second, both.
    pub corners: Vec<Corner>,
    /// Ratio of ratios on the log scale, difference of differences on the linear one.
    pub estimate: Option<f64>,
    pub interval: Option<Interval>,
    /// Two-sided p of no interaction.
    pub p: Option<f64>,
    /// Larger p of the two one-sided tests that the interaction lies outside the margin.
    pub p_outside_margin: Option<f64>,
    /// Relative on the log scale, in the unit of the response on the linear one.
    pub margin: Option<f64>,
    pub adds: Adds,
    pub method: String,
    pub sentence: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// The interaction from blocks that measured every corner: [neither, first, second, both].
pub fn of_blocks(rows: &[[f64; 4]], scale: Scale, margin: Option<f64>) -> Interaction {
    let corners = (0..4).map(|c| corner(&rows.iter().map(|row| row[c]).collect::<Vec<_>>())).collect();
    let rows: Vec<Gains> = rows
        .iter()
        .map(|row| Gains { control: row[0], singles: vec![row[1], row[2]], combined: row[3] })
        .collect();
    Interaction { corners, ..additivity(&rows, scale, margin) }
}

/// What one block measured of several changes: each alone, and all together.
#[derive(Debug, Clone, PartialEq)]
pub struct Gains {
    pub control: f64,
    pub singles: Vec<f64>,
    pub combined: f64,
}

/// All changes together against what each alone promises, block by block: the estimate is 1 (or 0)
/// where gains add.
pub fn additivity(rows: &[Gains], scale: Scale, margin: Option<f64>) -> Interaction {
    let mut found = Interaction::empty(scale, margin, "signed-rank test of the interaction of every block");
    found.n = rows.len() as u64;
    let contrast = |row: &Gains| -> Option<f64> {
        let value = |v: f64| on(scale, v);
        let singles: Option<Vec<f64>> = row.singles.iter().map(|v| value(*v)).collect();
        let singles = singles?;
        let control = value(row.control)?;
        Some((value(row.combined)? - control) - singles.iter().map(|single| single - control).sum::<f64>())
    };
    let Some(contrasts) = rows.iter().map(contrast).collect::<Option<Vec<f64>>>() else {
        return found.without("a value is zero or negative and has no logarithm, or is not finite");
    };
    let Some(estimate) = signed_rank::estimate(&contrasts, ALPHA) else {
        return found.without("no block, or too many, measured every corner");
    };
    found.estimate = Some(back(scale, estimate.pseudo_median));
    found.interval = estimate.interval.map(|i| back_interval(scale, i));
    found.p = estimate.p;
    if contrasts.len() < 2 {
        for name in ["interval", "p"] {
            found.absent.insert(name.to_owned(), "a single block has no spread".to_owned());
        }
    }
    if let Some(limit) = found.limit() {
        let nearer = if estimate.pseudo_median < 0.0 { -limit } else { limit };
        let [near, far] = [nearer, -nearer].map(|centre| signed_rank::p_value(&contrasts, centre) / 2.0);
        let inside = estimate.pseudo_median.abs() < limit;
        found.p_outside_margin = Some(if inside { near.max(far) } else { 1.0 - near });
    }
    let few = contrasts.len() < FEWEST_PAIRS;
    found
        .judge(few.then(|| format!("{} blocks are too few, a verdict needs {FEWEST_PAIRS}", contrasts.len())))
}

/// The interaction without blocks, from the runs of each corner: means of logarithms or of values,
/// with Welch's unequal variances. `strata` are squares under different levels of other factors,
/// whose contrasts are averaged.
pub fn of_cells(strata: &[[Vec<f64>; 4]], scale: Scale, margin: Option<f64>) -> Interaction {
    let mut found = Interaction::empty(
        scale,
        margin,
        "t of the means of the corners, with unequal variances after Welch",
    );
    let all = |c: usize| strata.iter().flat_map(|square| square[c].iter().copied()).collect::<Vec<f64>>();
    found.corners = (0..4).map(|c| corner(&all(c))).collect();
    found.n = strata.iter().flatten().map(Vec::len).min().unwrap_or(0) as u64;
    if found.n == 0 {
        return found.without("a corner has no run");
    }
    let of_corner = |values: &Vec<f64>| {
        let values: Option<Vec<f64>> = values.iter().map(|v| on(scale, *v)).collect();
        values.and_then(|values| moments(&values))
    };
    let Some(parts) = strata.iter().flatten().map(of_corner).collect::<Option<Vec<Moments>>>() else {
        return found.without("a value is zero or negative and has no logarithm, or is not finite");
    };
    let count = strata.len() as f64;
    let square = |m: &[Moments]| (m[3].mean - m[2].mean) - (m[1].mean - m[0].mean);
    let estimate = parts.chunks(4).map(square).sum::<f64>() / count;
    found.estimate = Some(back(scale, estimate));
    if found.n == 1 {
        return found.judge(Some("one run for each corner has no error to compare with".to_owned()));
    }
    let share = |m: &Moments| (m.squares / (m.n - 1) as f64 / m.n as f64 / count / count, (m.n - 1) as f64);
    let (variance, squares) = parts
        .iter()
        .map(share)
        .fold((0.0, 0.0), |(sum, squares), (share, df)| (sum + share, squares + share * share / df));
    if variance == 0.0 {
        return found.judge(Some("repeated runs agree to the last digit, so there is no error".to_owned()));
    }
    let (error, df) = (variance.sqrt(), variance * variance / squares);
    found.p = Some(t_two_sided(estimate / error, df));
    found.interval = t_reach(1.0 - ALPHA, df).map(|reach| {
        let (low, high) = (estimate - reach * error, estimate + reach * error);
        back_interval(scale, Interval { low, high, confidence: 1.0 - ALPHA })
    });
    if let Some(limit) = found.limit() {
        let t = (limit - estimate.abs()) / error;
        let tail = t_two_sided(t, df) / 2.0;
        found.p_outside_margin = Some(if t > 0.0 { tail } else { 1.0 - tail });
    }
    found.judge(None)
}

impl Interaction {
    fn empty(scale: Scale, margin: Option<f64>, method: &str) -> Interaction {
        Interaction {
            scale,
            n: 0,
            corners: vec![],
            estimate: None,
            interval: None,
            p: None,
            p_outside_margin: None,
            margin: margin.filter(|m| m.is_finite() && *m > 0.0),
            adds: Adds::Unknown,
            method: method.to_owned(),
            sentence: String::new(),
            absent: BTreeMap::new(),
        }
    }

    /// The margin on the scale of the contrasts.
    fn limit(&self) -> Option<f64> {
        self.margin.map(|margin| match self.scale {
            Scale::Log => margin.ln_1p(),
            Scale::Linear => margin,
        })
    }

    fn without(mut self, why: &str) -> Interaction {
        for name in ["estimate", "interval", "p", "p_outside_margin"] {
            self.absent.insert(name.to_owned(), why.to_owned());
        }
        self.sentence = format!("Whether the gains add is unknown: {why}.");
        self
    }

    /// Adding is a claim of equivalence; a large p of "no interaction" claims nothing.
    fn judge(mut self, obstacle: Option<String>) -> Interaction {
        if let Some(why) = &obstacle {
            for (name, missing) in [("p", self.p.is_none()), ("interval", self.interval.is_none())] {
                if missing {
                    self.absent.entry(name.to_owned()).or_insert_with(|| why.clone());
                }
            }
        }
        if self.p_outside_margin.is_none() {
            let why = match (&obstacle, self.margin) {
                (_, None) => "no margin says how small an interaction counts as none".to_owned(),
                (Some(why), _) => why.clone(),
                (None, _) => "there is no error to compare with".to_owned(),
            };
            self.absent.insert("p_outside_margin".to_owned(), why);
        }
        let (scale, rule) = match self.scale {
            Scale::Log => ("as ratios", "the product of the single ones"),
            Scale::Linear => ("in units of the response", "the sum of the single ones"),
        };
        let told = match (self.scale, self.estimate) {
            (Scale::Log, Some(estimate)) => format!("both together are {estimate:.4} times {rule}"),
            (Scale::Linear, Some(estimate)) => format!("both together differ by {estimate:+.6} from {rule}"),
            (_, None) => "there is no estimate".to_owned(),
        };
        let within = self.p_outside_margin.is_some_and(|p| p <= ALPHA);
        let detected = self.p.is_some_and(|p| p <= ALPHA);
        (self.adds, self.sentence) = match obstacle {
            Some(why) => {
                (Adds::Unknown, format!("Whether the gains add {scale} is unknown: {told}, but {why}."))
            }
            None if within => {
                (Adds::Add, format!("The gains add {scale}: {told}, which is within the margin."))
            }
            None if detected => (Adds::DoNotAdd, format!("The gains do not add {scale}: {told}.")),
            None => (
                Adds::Unknown,
                format!(
                    "Whether the gains add {scale} is unknown: {told}, and the interval holds none as well."
                ),
            ),
        };
        self
    }
}

fn corner(values: &[f64]) -> Corner {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    Corner {
        n: sorted.len() as u64,
        mean: moments(&sorted).map(|m| m.mean),
        median: median_of_sorted(&sorted),
    }
}

fn on(scale: Scale, value: f64) -> Option<f64> {
    scale.of(value).filter(|v| v.is_finite())
}

fn back(scale: Scale, value: f64) -> f64 {
    scale.effect(value).min(f64::MAX)
}

fn back_interval(scale: Scale, i: Interval) -> Interval {
    Interval { low: back(scale, i.low), high: back(scale, i.high), confidence: i.confidence }
}
