//! Medians with their exact order-statistic intervals.

use super::findings::Interval;

/// Median of ascending values; None without values.
pub fn median_of_sorted(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let (low, high) = (values[(n - 1) / 2], values[n / 2]);
    // Written so that two huge values cannot overflow and two equal ones come back unchanged, be they
    // infinite; beside an open end the middle is open as well.
    Some(if low == high || low.is_infinite() { low } else { low + (high - low) / 2.0 })
}

/// Narrowest interval of order statistics that holds the median with at least `level`, else
/// [min, max] under the level it has. Confidence is 1 − 2·P(Binomial(n, ½) < k) for the k-th value
/// from either end (Thompson 1936), for independent values of any continuous distribution.
///
/// None below two values, for which no interval exists.
pub fn median_interval(sorted: &[f64], level: f64) -> Option<Interval> {
    let n = sorted.len();
    if n < 2 {
        return None;
    }
    // Chance of exactly k values below the median, from k = 0 upward, in logarithms so that many
    // values cannot underflow.
    let mut log_chance = -(n as f64) * std::f64::consts::LN_2;
    let mut below = log_chance.exp();
    let mut found = (0, 1.0 - 2.0 * below);
    for k in 1..n / 2 {
        log_chance += ((n - k + 1) as f64).ln() - (k as f64).ln();
        below += log_chance.exp();
        let confidence = 1.0 - 2.0 * below;
        if confidence < level {
            break;
        }
        found = (k, confidence);
    }
    let (k, confidence) = found;
    Some(Interval { low: sorted[k], high: sorted[n - 1 - k], confidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attained_levels_are_those_of_the_method() {
        let levels = [
            (2, 50.0, 1.0),
            (3, 75.0, 1.0),
            (4, 87.5, 1.0),
            (5, 93.75, 1.0),
            (6, 96.9, 1.0),
            (8, 99.2, 1.0),
            (10, 97.9, 2.0),
            (30, 95.7, 10.0),
        ];
        for (n, percent, low) in levels {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let interval = median_interval(&values, 0.95).expect("interval");
            assert!((interval.confidence * 100.0 - percent).abs() < 0.05, "n {n}: {}", interval.confidence);
            assert_eq!((interval.low, interval.high), (low, f64::from(n) + 1.0 - low), "n {n}");
        }
    }

    #[test]
    fn no_value_has_no_median_and_one_value_no_interval() {
        assert_eq!(median_of_sorted(&[]), None);
        assert_eq!(median_of_sorted(&[3.3]), Some(3.3));
        assert_eq!(median_interval(&[3.3], 0.95), None);
        assert_eq!(median_of_sorted(&[1.0, 2.0, 4.0, 8.0]), Some(3.0));
        assert_eq!(median_of_sorted(&[f64::MAX, f64::MAX]), Some(f64::MAX));
    }

    #[test]
    fn thousands_of_values_keep_a_sound_level() {
        let values: Vec<f64> = (0..5000).map(f64::from).collect();
        let interval = median_interval(&values, 0.95).expect("interval");
        assert!((0.95..0.952).contains(&interval.confidence), "{}", interval.confidence);
    }

    #[test]
    fn one_wild_value_moves_neither_median_nor_interval() {
        // Case A07: the stall of 500 stays in the data.
        let b = [103.0, 104.0, 104.0, 105.0, 105.0, 105.0, 106.0, 106.0, 107.0, 500.0];
        assert_eq!(median_of_sorted(&b), Some(105.0));
        let interval = median_interval(&b, 0.95).expect("interval");
        assert_eq!((interval.low, interval.high), (104.0, 107.0));
    }
}
