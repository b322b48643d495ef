//! Samples of one run reduced to one value, before runs are replicates of anything.

use super::moments::mean;
use super::order_statistic::median_of_sorted;
use super::question::Reduction;
use super::trial::{Reading, Run};
use crate::model::outcome::RunOutcome;

/// Makes one run of all that share a block; they are ordered by it.
pub fn reduce(runs: &mut Vec<Run>, reduction: Reduction) {
    let reduced = runs.chunk_by(|a, b| a.block == b.block).map(|samples| one(samples, reduction)).collect();
    *runs = reduced;
}

fn one(samples: &[Run], reduction: Reduction) -> Run {
    // A run with a sample that was rejected or failed is no measured run.
    let lost = samples
        .iter()
        .find(|s| !matches!(s.outcome, RunOutcome::Measured | RunOutcome::TimedOut))
        .map(|s| (s.outcome, s.reason.clone()));
    let readings: Vec<Reading> =
        (0..samples[0].readings.len()).map(|r| reading(samples, r, reduction)).collect();
    let cut = readings.first().is_some_and(|r| matches!(r, Reading::AtLeast(_) | Reading::AtMost(_)));
    let own = if cut { RunOutcome::TimedOut } else { RunOutcome::Measured };
    let (outcome, reason) = lost.unwrap_or((own, None));
    Run { outcome, reason, readings, ..samples[0].clone() }
}

fn reading(samples: &[Run], response: usize, reduction: Reduction) -> Reading {
    let (mut low, mut high) = (vec![], vec![]);
    for sample in samples {
        let ends = match &sample.readings[response] {
            Reading::Value(v) => (*v, *v),
            Reading::AtLeast(v) => (*v, f64::INFINITY),
            Reading::AtMost(v) => (f64::NEG_INFINITY, *v),
            Reading::Absent(why) => return Reading::Absent(why.clone()),
        };
        low.push(ends.0);
        high.push(ends.1);
    }
    let reduced = |mut values: Vec<f64>| match reduction {
        Reduction::Mean => mean(&values),
        Reduction::Median => {
            values.sort_by(f64::total_cmp);
            median_of_sorted(&values).filter(|m| m.is_finite())
        }
    };
    match (reduced(low), reduced(high)) {
        (Some(low), Some(high)) if low == high => Reading::Value(low),
        (Some(low), _) => Reading::AtLeast(low),
        (None, Some(high)) => Reading::AtMost(high),
        (None, None) => Reading::Absent("timeouts leave nothing of it".into()),
    }
}
