//! Quantiles of ascending values, by named methods.

use super::findings::Interval;

/// Type 7 (Hyndman & Fan 1996), the default of R and numpy: linear between order statistics at
/// 1 + (n − 1)·p. None without values.
pub fn linear(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = last as f64 * p;
    let below = (place.floor() as usize).min(last);
    let (a, b) = (sorted[below], sorted[(below + 1).min(last)]);
    let part = place - below as f64;
    // Equal neighbours may be infinite, and their difference would be no number.
    Some(if part == 0.0 || a == b { a } else { a + (b - a) * part })
}

/// The smallest value that at least this per cent of all values do not exceed. None without values.
pub fn nearest_rank(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = (percent * sorted.len()).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// Two order statistics that hold the quantile with at least `level`, each end failing in at most
/// half of the rest, for independent values of any continuous distribution: confidence from the
/// binomial law of the number of values below. None where there are too few values for that.
pub fn interval(sorted: &[f64], percent: usize, level: f64) -> Option<Interval> {
    let n = sorted.len();
    let p = percent as f64 / 100.0;
    let each = (1.0 - level) / 2.0;
    // The extreme values are the widest ends there are.
    if p.powi(n as i32) > each || (1.0 - p).powi(n as i32) > each {
        return None;
    }
    let odds = (p / (1.0 - p)).ln();
    let mut log_chance = n as f64 * (1.0 - p).ln();
    let mut below = 0.0;
    let (mut low, mut high) = (None, None);
    for k in 0..=n {
        if k > 0 {
            log_chance += ((n - k + 1) as f64 / k as f64).ln() + odds;
        }
        let at_most = below + log_chance.exp();
        if at_most <= each {
            low = Some((k, at_most));
        }
        if 1.0 - at_most <= each {
            high = Some((k, 1.0 - at_most));
            break;
        }
        below = at_most;
    }
    let ((low, missed_below), (high, missed_above)) = (low?, high?);
    let high = high.min(n - 1);
    Some(Interval { low: sorted[low], high: sorted[high], confidence: 1.0 - missed_below - missed_above })
}

/// Fewest values for which `interval` exists.
pub fn fewest(percent: usize, level: f64) -> u64 {
    let p = (percent as f64 / 100.0).max(1.0 - percent as f64 / 100.0);
    (((1.0 - level) / 2.0).ln() / p.ln()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_values_have_their_percentiles_by_each_method() {
        // Case A28.
        let text = include_str!("../../tests/data/numeric_shared_effects.json");
        let case: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        for (percent, name) in [(50, "0.5"), (90, "0.9"), (95, "0.95"), (99, "0.99")] {
            let expected = |method: &str| case["A28"]["expected"][method][name].as_f64().expect("number");
            assert_eq!(nearest_rank(&values, percent), Some(expected("inverted_cdf")));
            let found = linear(&values, percent as f64 / 100.0).expect("value");
            assert!((found - expected("linear")).abs() < 1e-12, "p{percent}: {found}");
        }
        assert_eq!((linear(&[], 0.5), nearest_rank(&[], 50)), (None, None));
        assert_eq!(linear(&[3.0], 0.25), Some(3.0));
    }

    #[test]
    fn high_percentiles_need_the_values_that_the_method_says() {
        for (percent, needed) in [(99, 368), (95, 72), (90, 36)] {
            assert_eq!(fewest(percent, 0.95), needed);
            let values: Vec<f64> = (1..=needed).map(|v| v as f64).collect();
            let found = interval(&values, percent, 0.95).expect("just enough");
            assert!(found.confidence >= 0.95 && found.high == needed as f64, "{found:?}");
            assert_eq!(interval(&values[1..], percent, 0.95), None);
        }
    }

    #[test]
    fn an_interval_of_a_percentile_holds_it_and_narrows_with_more_values() {
        let values: Vec<f64> = (1..=10_000).map(f64::from).collect();
        let found = interval(&values, 99, 0.95).expect("interval");
        assert!(found.low < 9_900.0 && found.high > 9_900.0 && found.high - found.low < 45.0, "{found:?}");
        assert!((0.95..0.956).contains(&found.confidence), "{found:?}");
    }
}
