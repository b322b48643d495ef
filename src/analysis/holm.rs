//! Holm's step-down correction for a family of tests.

/// Adjusted p-values in the order given (Holm 1979): the i-th smallest times (m − i + 1), never
/// below a smaller one's and never above 1.
pub fn adjust(p: &[f64]) -> Vec<f64> {
    let m = p.len();
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; m];
    let mut highest: f64 = 0.0;
    for (i, at) in order.into_iter().enumerate() {
        highest = highest.max((p[at] * (m - i) as f64).min(1.0));
        adjusted[at] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_treatments_keep_the_first_and_the_last() {
        // Case A19.
        let adjusted = adjust(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        let rejected: Vec<bool> = adjusted.iter().map(|p| *p <= 0.05).collect();
        assert_eq!(rejected, [true, false, false, true]);
    }

    #[test]
    fn nothing_in_nothing_out_and_one_stays_itself() {
        assert_eq!(adjust(&[]), Vec::<f64>::new());
        assert_eq!(adjust(&[0.04]), [0.04]);
        assert_eq!(adjust(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
