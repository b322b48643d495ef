//! Mean, spread and coefficient of variation of plain values, without loss of digits.

use super::accurate;
use super::order_statistic::median_of_sorted;

/// Arithmetic mean. None without values, or where it is no finite number.
pub fn mean(values: &[f64]) -> Option<f64> {
    accurate::moments(values).map(|m| m.mean).filter(|m| m.is_finite())
}

/// Standard deviation with n − 1. None below two values, or where it is no finite number.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let moments = accurate::moments(values).filter(|m| m.n > 1)?;
    Some((moments.squares / (moments.n - 1) as f64).sqrt()).filter(|d| d.is_finite())
}

/// Median of the distances from the median of ascending values, not scaled. None without values.
pub fn median_distance(sorted: &[f64]) -> Option<f64> {
    let median = median_of_sorted(sorted)?;
    let mut distances: Vec<f64> = sorted.iter().map(|v| (v - median).abs()).collect();
    distances.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&distances).filter(|d| d.is_finite())
}
