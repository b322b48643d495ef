//! The difference between the two levels of a factor, everything else in the model held.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::anova::told;
use super::factor::{Factor, Table};
use super::findings::Interval;
use super::tail::{t_reach, t_two_sided};
use super::unbalanced::Model;

/// Confidence of intervals by Student's t.
pub const CONFIDENCE: f64 = 0.95;

/// A difference with its t interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contrast {
    /// Second level minus first.
    pub difference: Option<f64>,
    pub standard_error: Option<f64>,
    pub df: u64,
    pub t: Option<f64>,
    pub p: Option<f64>,
    pub p_below: Option<f64>,
    pub interval: Option<Interval>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

impl Contrast {
    /// From an estimate, the factor that makes its variance out of the error's, and the error.
    pub fn of(difference: f64, variance_per_error: f64, error: f64, df: usize) -> Contrast {
        let mut contrast = Contrast {
            difference: Some(difference),
            standard_error: None,
            df: df as u64,
            t: None,
            p: None,
            p_below: None,
            interval: None,
            absent: BTreeMap::new(),
        };
        if df == 0 || error == 0.0 {
            let why = if df == 0 {
                "no runs are left to tell the error: the residual has 0 degrees of freedom"
            } else {
                "repeated runs agree to the last digit, so there is no error to compare with"
            };
            return contrast.without(&["standard_error", "t", "p", "interval"], why);
        }
        let standard_error = (error / df as f64 * variance_per_error).sqrt();
        let t = difference / standard_error;
        (contrast.p, contrast.p_below) = told(t_two_sided(t, df as f64));
        contrast.standard_error = Some(standard_error);
        contrast.t = Some(t);
        contrast.interval = t_reach(CONFIDENCE, df as f64).map(|reach| Interval {
            low: difference - reach * standard_error,
            high: difference + reach * standard_error,
            confidence: CONFIDENCE,
        });
        match contrast.p {
            Some(_) => contrast,
            None => contrast.without(&["p"], "too small for a number, see p_below"),
        }
    }

    fn without(mut self, names: &[&str], why: &str) -> Contrast {
        self.absent.extend(names.iter().map(|name| ((*name).to_owned(), why.to_owned())));
        self
    }
}

/// Second level minus first of `factor`, adjusted for all `others` (hosts, blocks, days) as additive
/// terms, however unequally they are filled. A complaint where that cannot be told.
pub fn difference(y: &[f64], factor: &Factor, others: &[Factor]) -> Result<Contrast, String> {
    if factor.levels.len() != 2 {
        return Err(format!("expected two levels of {}, found {}", factor.name, factor.levels.len()));
    }
    let all: Vec<&Factor> = [factor].into_iter().chain(others).collect();
    let table = Table::gather(y, &all)?;
    // A factor with one level says nothing and has no columns.
    let terms: Vec<Vec<usize>> =
        (0..all.len()).filter(|f| *f == 0 || table.sizes[*f] > 1).map(|f| vec![f]).collect();
    let model = Model::of(&table, &terms)?;
    let Some((coefficient, own)) = model.coefficient(0, 0) else {
        return Err(format!("{} cannot be told apart from the other factors", factor.name));
    };
    let (lack, lack_df) = model.lack();
    let error = if lack_df == 0 { table.within } else { lack + table.within };
    let error = if error <= table.rounding { 0.0 } else { error };
    // The codes are +1 for the first level and −1 for the second, so a unit is half of the difference.
    Ok(Contrast::of(-2.0 * coefficient, 4.0 / own, error, lack_df + table.within_df))
}
