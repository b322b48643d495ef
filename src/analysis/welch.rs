//! Welch's comparison of two means whose spreads may differ.

use super::accurate::moments;
use super::findings::Interval;
use super::tail::{t_reach, t_two_sided};

/// Difference of two means with its t (Welch 1947).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    /// Mean of the second minus mean of the first.
    pub difference: f64,
    pub t: f64,
    /// After Satterthwaite (1946).
    pub df: f64,
    /// Two-sided.
    pub p: f64,
    pub interval: Interval,
}

/// Compares two samples.
///
/// # Errors
/// Says why there is no test: fewer than two values on a side, or no spread on either.
pub fn compare(first: &[f64], second: &[f64], level: f64) -> Result<Welch, &'static str> {
    if first.len() < 2 || second.len() < 2 {
        return Err("one value on a side has no spread");
    }
    let (Some(a), Some(b)) = (moments(first), moments(second)) else {
        return Err("a value is not finite");
    };
    let part = |m: &super::accurate::Moments| m.squares / (m.n - 1) as f64 / m.n as f64;
    let (va, vb) = (part(&a), part(&b));
    if va + vb == 0.0 {
        return Err("neither side has any spread");
    }
    let difference = b.mean - a.mean;
    let error = (va + vb).sqrt();
    let df = (va + vb) * (va + vb) / (va * va / (a.n - 1) as f64 + vb * vb / (b.n - 1) as f64);
    let t = difference / error;
    let reach = t_reach(level, df).ok_or("the law of t has no quantile here")? * error;
    let interval = Interval { low: difference - reach, high: difference + reach, confidence: level };
    if [difference, t, df, reach].iter().any(|v| !v.is_finite()) {
        return Err("the values are too large for a double");
    }
    Ok(Welch { difference, t, df, p: t_two_sided(t, df), interval })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn means_of_the_cases_differ_as_scipy_says() {
        let text = include_str!("../../tests/data/numeric_shared_effects.json");
        let cases: Value = serde_json::from_str(text).expect("JSON");
        for name in ["A01", "A07", "A23"] {
            let floats = |key: &str| -> Vec<f64> {
                serde_json::from_value(cases[name][key].clone()).expect("numbers")
            };
            let expected = &cases[name]["expected"]["welch"];
            let found = compare(&floats("a"), &floats("b"), 0.95).expect("a test");
            for (what, found, expected, digits) in [
                ("difference", found.difference, &expected["difference_b_minus_a"], 1e-9),
                ("t", found.t, &expected["t"], 1e-9),
                ("df", found.df, &expected["df"], 1e-9),
                ("p", found.p, &expected["p"], 1e-6),
                ("low", found.interval.low, &expected["ci95"][0], 1e-9),
                ("high", found.interval.high, &expected["ci95"][1], 1e-9),
            ] {
                let expected = expected.as_f64().expect("number");
                let off = ((found - expected) / expected).abs();
                assert!(off < digits, "{name} {what}: {found} but {expected}");
            }
        }
    }

    #[test]
    fn no_spread_and_no_company_have_no_t_and_say_so() {
        // Cases A03 and A05.
        assert_eq!(compare(&[1.0; 4], &[2.0; 4], 0.95), Err("neither side has any spread"));
        assert_eq!(compare(&[3.3], &[2.4], 0.95), Err("one value on a side has no spread"));
    }
}
