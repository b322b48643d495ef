//! Shares of runs: their intervals, and the exact comparison of two of them.

use statrs::distribution::{Beta, ContinuousCDF, Normal};
use statrs::function::gamma::ln_gamma;

use super::findings::Interval;

/// Exact interval of a share (Clopper & Pearson 1934), never below its promise. None of nothing.
pub fn clopper_pearson(done: u64, of: u64, level: f64) -> Option<Interval> {
    if of == 0 || done > of {
        return None;
    }
    let tail = (1.0 - level) / 2.0;
    let (k, n) = (done as f64, of as f64);
    let bound = |a: f64, b: f64, p: f64| Some(Beta::new(a, b).ok()?.inverse_cdf(p));
    // At the ends the law is a power, so no search is needed.
    let low = match done {
        0 => 0.0,
        _ if done == of => tail.powf(1.0 / n),
        _ => bound(k, n - k + 1.0, tail)?,
    };
    let high = match done {
        _ if done == of => 1.0,
        0 => 1.0 - tail.powf(1.0 / n),
        _ => bound(k + 1.0, n - k, 1.0 - tail)?,
    };
    Some(Interval { low, high, confidence: level })
}

/// Score interval of a share (Wilson 1927): shorter, and right only on average. None of nothing.
pub fn wilson(done: u64, of: u64, level: f64) -> Option<Interval> {
    if of == 0 || done > of {
        return None;
    }
    let z = Normal::new(0.0, 1.0).ok()?.inverse_cdf(0.5 + level / 2.0);
    let n = of as f64;
    let p = done as f64 / n;
    let denominator = 1.0 + z * z / n;
    let centre = (p + z * z / (2.0 * n)) / denominator;
    let reach = z / denominator * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    Some(Interval { low: (centre - reach).max(0.0), high: (centre + reach).min(1.0), confidence: level })
}

/// Two-sided p of "both shares are the same" (Fisher's exact test): all tables with these margins
/// that are no likelier than the one seen.
pub fn fisher(done: [u64; 2], of: [u64; 2]) -> f64 {
    let choose =
        |n: u64, k: u64| ln_gamma(n as f64 + 1.0) - ln_gamma(k as f64 + 1.0) - ln_gamma((n - k) as f64 + 1.0);
    let all = done[0] + done[1];
    let log_chance =
        |first: u64| choose(of[0], first) + choose(of[1], all - first) - choose(of[0] + of[1], all);
    let seen = log_chance(done[0]);
    let tables = all.saturating_sub(of[1])..=all.min(of[0]);
    // Tables as likely as the seen one must count although rounding makes them a little likelier.
    tables.map(log_chance).filter(|log| *log <= seen + 1e-7).map(f64::exp).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} but {expected}");
    }

    #[test]
    fn shares_of_forty_have_the_intervals_of_the_case() {
        // Case A13 for Wilson's and Fisher's; exact bounds by the beta law of R 4's binom.test.
        let text = include_str!("../../tests/data/numeric_shared_effects.json");
        let case: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let expected = &case["A13"]["expected"];
        for (done, name) in [(5, "5/40"), (14, "14/40"), (40, "40/40")] {
            let found = wilson(done, 40, 0.95).expect("interval");
            close(found.low, expected["wilson95"][name][0].as_f64().expect("number"));
            close(found.high, expected["wilson95"][name][1].as_f64().expect("number"));
        }
        close(
            fisher([5, 14], [40, 40]),
            expected["fisher_exact_5_of_40_vs_14_of_40"].as_f64().expect("number"),
        );
        close(fisher([14, 5], [40, 40]), fisher([5, 14], [40, 40]));
        close(fisher([8, 8], [8, 8]), 1.0);
    }

    #[test]
    fn an_exact_interval_leaves_no_more_than_its_tails_outside() {
        let below = |n: u64, k: u64, p: f64| -> f64 {
            let choose =
                |k: u64| ln_gamma(n as f64 + 1.0) - ln_gamma(k as f64 + 1.0) - ln_gamma((n - k) as f64 + 1.0);
            (0..=k).map(|i| (choose(i) + i as f64 * p.ln() + (n - i) as f64 * (1.0 - p).ln()).exp()).sum()
        };
        for (done, of) in [(3, 7), (1, 9), (39, 40), (500, 1000)] {
            let found = clopper_pearson(done, of, 0.95).expect("interval");
            close(below(of, done, found.high), 0.025);
            close(1.0 - below(of, done - 1, found.low), 0.025);
        }
        close(clopper_pearson(0, 10, 0.95).expect("interval").high, 1.0 - 0.025f64.powf(0.1));
        close(clopper_pearson(10, 10, 0.95).expect("interval").low, 0.025f64.powf(0.1));
        assert_eq!((clopper_pearson(0, 0, 0.95), wilson(0, 0, 0.95)), (None, None));
    }
}
