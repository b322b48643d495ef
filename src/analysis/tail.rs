//! Tail probabilities of F and Student's t, and quantiles of t.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::beta::beta_reg;

/// A p below this is told as a bound: logarithms of it still have all digits, doubles do not.
pub const SMALLEST_P: f64 = 1e-300;

/// P(F ≥ f) with `d1` and `d2` degrees of freedom. Asked of the beta function by its small argument,
/// since 1 − d1·f/(d1·f + d2) would lose the digits of a large f.
pub fn f_upper(f: f64, d1: f64, d2: f64) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    beta_reg(d2 / 2.0, d1 / 2.0, d2 / (d1 * f + d2)).clamp(0.0, 1.0)
}

/// P(|T| ≥ |t|) with `df` degrees of freedom.
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    f_upper(t * t, 1.0, df)
}

/// The t that a two-sided interval of this `confidence` reaches to.
pub fn t_reach(confidence: f64, df: f64) -> Option<f64> {
    let law = StudentsT::new(0.0, 1.0, df).ok()?;
    Some(law.inverse_cdf(0.5 + confidence / 2.0)).filter(|t| t.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Upper tails by mpmath with 50 digits.
    const F: [(f64, f64, f64, f64); 12] = [
        (1.18, 4.0, 20.0, 0.3496362912094317),
        (21.0, 8.0, 180.0, 2.5832643372689714e-22),
        (201.0, 8.0, 1800.0, 4.0371418857539826e-243),
        (0.5, 3.0, 7.0, 0.6940363875687137),
        (28.96769194904217, 2.0, 27.0, 1.9085958974331802e-07),
        (1.02, 9801.0, 88209.0, 0.09298461178796608),
        (1.0, 99.0, 90000.0, 0.4811280268573837),
        (1.5, 99.0, 90000.0, 0.0009591055703805138),
        (0.98, 9801.0, 88209.0, 0.9089063224118302),
        (900.0, 1.0, 8.0, 1.6535256751789746e-09),
        (1e6, 1.0, 5.0, 1.8980131131979714e-14),
        (3.9, 1.0, 1e6, 0.04828638229809308),
    ];

    #[test]
    fn tails_of_f_have_ten_digits_far_out_and_for_many_degrees_of_freedom() {
        for (f, d1, d2, right) in F {
            let found = f_upper(f, d1, d2);
            assert!((found / right - 1.0).abs() < 1e-9, "F {f} ({d1}, {d2}): {found:e} but {right:e}");
        }
    }
}
