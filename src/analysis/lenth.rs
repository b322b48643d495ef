//! Which effects of an unreplicated two-level design stand out, without a p.
//!
//! Lenth (1989), with cutoffs simulated for pure noise instead of his approximation.

use super::order_statistic::median_of_sorted;

/// Number of effects, cutoff for one effect (5 %), cutoff for the largest of all (5 %): 60,000 to
/// 200,000 simulated designs of independent normal effects each.
const CUTOFFS: [(usize, f64, f64); 4] = [(7, 2.31, 4.9), (15, 2.15, 4.2), (31, 2.06, 3.9), (63, 2.02, 3.82)];

/// Pseudo standard error of the effects with the cutoffs for their number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lenth {
    pub pseudo_error: f64,
    /// A single effect of noise is this many pseudo standard errors in 5 % of designs.
    pub individual: f64,
    /// The largest of all effects of noise is in 5 % of designs.
    pub family: f64,
}

/// None below seven effects, which are too few, where no cutoffs were simulated, and where half of
/// the effects are exactly 0.
pub fn lenth(effects: &[f64]) -> Option<Lenth> {
    let (_, individual, family) = *CUTOFFS.iter().find(|(count, ..)| *count == effects.len())?;
    let mut sizes: Vec<f64> = effects.iter().map(|effect| effect.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let first = 1.5 * median_of_sorted(&sizes)?;
    sizes.retain(|size| *size < 2.5 * first);
    let pseudo_error = 1.5 * median_of_sorted(&sizes)?;
    (pseudo_error > 0.0).then_some(Lenth { pseudo_error, individual, family })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_large_effect_among_noise_stands_out() {
        let found = lenth(&[0.3, -0.2, 9.0, 0.1, 0.4, -0.35, 0.25]).expect("seven effects");
        // Median 0.3, first 0.45; without 9 the median of six is 0.275.
        assert!((found.pseudo_error - 0.4125).abs() < 1e-12, "{found:?}");
        assert!(9.0 / found.pseudo_error > found.family);
        assert!(0.4 / found.pseudo_error < found.individual);
    }

    #[test]
    fn three_effects_are_too_few_and_zeros_tell_nothing() {
        assert_eq!(lenth(&[1.0, 2.0, 3.0]), None);
        assert_eq!(lenth(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0]), None);
    }
}
