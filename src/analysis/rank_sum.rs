//! Labels permuted within blocks: shift of one arm against another, exact test and inverted interval.
//!
//! With a single block this is Mann & Whitney's test (1947) and Hodges & Lehmann's shift (1963); with
//! several it is their sum over blocks (van Elteren 1960). The sum counts pairs of values inside of a
//! block: one for each that is higher in the arm, minus one for each that is lower. Point, interval
//! and p come from that one count.

use std::rc::Rc;

use super::findings::Interval;
use super::order_statistic::median_of_sorted;
use super::permutation::{Law, Laws, Pattern};

/// Values of one block on the scale of the analysis; infinite where a timeout leaves an end open.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stratum {
    pub control: Vec<f64>,
    pub arm: Vec<f64>,
}

/// Shift of the arm with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Median of all differences inside of blocks.
    pub estimate: f64,
    /// By inversion; [min, max] under the level they have where no split is rare enough.
    pub interval: Option<Interval>,
}

/// The test of "no shift".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// Pairs in which the arm is higher, ties as halves; U of the arm where there is one block.
    pub wins: f64,
    /// All pairs.
    pub pairs: f64,
    /// Two-sided over all splits; None where there are too many of them to count.
    pub exact: Option<f64>,
    /// Two-sided by the normal law with ties and continuity; None without any spread.
    pub normal: Option<f64>,
}

impl Test {
    /// The exact p where there is one.
    pub fn p(&self) -> f64 {
        self.exact.or(self.normal).unwrap_or(1.0)
    }
}

/// Tests "no shift" with midranks.
pub fn test(strata: &[Stratum], laws: &mut Laws) -> Test {
    let patterns: Vec<Pattern> = strata.iter().map(|s| Pattern::of(s, 0.0)).collect();
    let sum: i64 = strata.iter().map(surplus).sum();
    let pairs = strata.iter().map(|s| s.control.len() * s.arm.len()).sum::<usize>() as f64;
    let law = laws.of(patterns);
    Test { wins: (sum as f64 + pairs) / 2.0, pairs, exact: law.exact(sum), normal: law.normal(sum) }
}

/// Pairs in which the arm is higher minus pairs in which it is lower.
fn surplus(stratum: &Stratum) -> i64 {
    let mut control = stratum.control.clone();
    control.sort_by(f64::total_cmp);
    let against = |v: &f64| {
        let below = control.partition_point(|c| c < v);
        let not_above = control.partition_point(|c| c <= v);
        (below + not_above) as i64 - control.len() as i64
    };
    stratum.arm.iter().map(against).sum()
}

/// Estimates the shift at confidence `1 − alpha`. None where no block has both arms.
pub fn shift(strata: &[Stratum], alpha: f64, laws: &mut Laws) -> Option<Shift> {
    let mut differences = Vec::with_capacity(strata.iter().map(|s| s.arm.len() * s.control.len()).sum());
    for stratum in strata {
        for a in &stratum.arm {
            differences.extend(stratum.control.iter().map(|c| a - c));
        }
    }
    if differences.iter().any(|d| d.is_nan()) {
        return None;
    }
    differences.sort_unstable_by(f64::total_cmp);
    let estimate = median_of_sorted(&differences)?;
    let interval = (differences.len() > 1).then(|| invert(strata, &differences, alpha, laws));
    Some(Shift { estimate, interval })
}

/// The shifts that the test does not reject, found from either end by bisection: the count falls as
/// the tried shift grows.
fn invert(strata: &[Stratum], differences: &[f64], alpha: f64, laws: &mut Laws) -> Interval {
    let pairs = differences.len();
    let tied = strata.iter().any(|s| has_ties(&s.control) || has_ties(&s.arm));
    let untied = laws.of(strata.iter().map(Pattern::untied).collect());
    let mut law_at = |gap: usize| -> Rc<Law> {
        let centre = (differences[gap - 1] + differences[gap]) / 2.0;
        match tied && centre.is_finite() {
            true => laws.of(strata.iter().map(|s| Pattern::of(s, centre)).collect()),
            false => untied.clone(),
        }
    };
    // Gap g lies between the g-th and the next difference: g of them are below it.
    let sum = |gap: usize| pairs as i64 - 2 * gap as i64;
    let mut size: f64 = 0.0;
    let mut end = |mirrored: bool| -> Option<usize> {
        let real = |gap: usize| if mirrored { pairs - gap } else { gap };
        let mut accepted = |gap: usize| law_at(real(gap)).p(sum(real(gap))) > alpha;
        let (mut rejected, mut kept) = (0, (pairs / 2).max(1));
        while kept - rejected > 1 {
            let middle = rejected + (kept - rejected) / 2;
            if accepted(middle) { kept = middle } else { rejected = middle }
        }
        let law = law_at(real(kept));
        size = size.max(law.size(alpha)?);
        Some(real(kept))
    };
    match (end(false), end(true)) {
        (Some(low), Some(high)) => {
            Interval { low: differences[low - 1], high: differences[high], confidence: 1.0 - size }
        }
        _ => {
            // Not even the rarest split is rare enough; the range has the level that one leaves.
            let (low, high) = (differences[0], differences[pairs - 1]);
            Interval { low, high, confidence: 1.0 - untied.p(pairs as i64) }
        }
    }
}

fn has_ties(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.windows(2).any(|pair| pair[0] == pair[1] && pair[0].is_finite())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn one(control: &[f64], arm: &[f64]) -> Vec<Stratum> {
        vec![Stratum { control: control.to_vec(), arm: arm.to_vec() }]
    }

    fn case(name: &str) -> (Vec<f64>, Vec<f64>, Value) {
        let text = include_str!("../../tests/data/numeric_shared_effects.json");
        let case: Value = serde_json::from_str::<Value>(text).expect("JSON")[name].clone();
        let floats = |key: &str| serde_json::from_value(case[key].clone()).expect("numbers");
        (floats("a"), floats("b"), case["expected"].clone())
    }

    #[test]
    fn two_small_samples_with_ties_have_the_exact_p_of_all_their_splits() {
        let (a, b, expected) = case("A01");
        let mut laws = Laws::default();
        let found = test(&one(&a, &b), &mut laws);
        assert_eq!(found.pairs - found.wins, expected["U_of_a"].as_f64().expect("number"));
        assert!((found.exact.expect("exact") - 32.0 / 252.0).abs() < 1e-12, "{found:?}");
        let normal = expected["p_normal_tie_and_continuity_corrected"].as_f64().expect("number");
        assert!((found.normal.expect("normal") - normal).abs() < 1e-9, "{found:?}");
        let share = expected["prob_b_greater_plus_half_ties"].as_f64().expect("number");
        assert!((found.wins / found.pairs - share).abs() < 1e-12);
        assert_eq!(shift(&one(&a, &b), 0.05, &mut laws).expect("shift").estimate, 2.0);
    }

    #[test]
    fn constant_sides_have_a_p_of_their_splits_and_no_nan() {
        let (a, b, _) = case("A03");
        let mut laws = Laws::default();
        let found = test(&one(&a, &b), &mut laws);
        assert!((found.p() - 2.0 / 70.0).abs() < 1e-12, "{found:?}");
        let shift = shift(&one(&a, &b), 0.05, &mut laws).expect("shift");
        assert_eq!(shift.estimate, 1.0);
        let same = test(&one(&[5.0; 4], &[5.0; 4]), &mut laws);
        assert_eq!((same.exact, same.normal, same.p()), (Some(1.0), None, 1.0));
    }

    #[test]
    fn one_wild_value_does_not_hide_a_shift() {
        let (a, b, expected) = case("A07");
        let mut laws = Laws::default();
        let found = test(&one(&a, &b), &mut laws);
        assert!((found.p() - 2.0 / 184_756.0).abs() < 1e-12, "{found:?}");
        let normal = expected["p_rank_normal"].as_f64().expect("number");
        assert!((found.normal.expect("normal") / normal - 1.0).abs() < 1e-9, "{found:?}");
        assert_eq!(shift(&one(&a, &b), 0.05, &mut laws).expect("shift").estimate, 5.0);
    }

    #[test]
    fn ranks_that_do_not_differ_say_so_though_means_do() {
        let (a, b, _) = case("A23");
        let found = test(&one(&a, &b), &mut Laws::default());
        assert_eq!((found.wins, found.exact), (50.0, Some(1.0)));
    }

    #[test]
    fn untied_intervals_are_those_of_the_tables() {
        // Lower critical U for a two-sided 5 %: 0 at 4 and 4, 2 at 5 and 5, 23 at 10 and 10; the
        // interval runs from the (U + 1)-th difference to the same from above.
        for (n, critical) in [(4usize, 0usize), (5, 2), (10, 23)] {
            let control: Vec<f64> = (0..n).map(|i| (i as f64).powf(1.3)).collect();
            let arm: Vec<f64> = (0..n).map(|i| (i as f64 + 0.37).powf(1.7)).collect();
            let found = shift(&one(&control, &arm), 0.05, &mut Laws::default()).expect("shift");
            let mut all: Vec<f64> = arm.iter().flat_map(|a| control.iter().map(move |c| a - c)).collect();
            all.sort_by(f64::total_cmp);
            let interval = found.interval.expect("interval");
            assert_eq!(
                (interval.low, interval.high),
                (all[critical], all[all.len() - 1 - critical]),
                "n {n}"
            );
            assert!(interval.confidence >= 0.95);
        }
        let few = shift(&one(&[1.0, 2.0, 3.0], &[4.5, 6.0, 9.0]), 0.05, &mut Laws::default());
        let range = few.expect("shift").interval.expect("range");
        assert_eq!((range.low, range.high), (1.5, 8.0));
        assert!((range.confidence - 0.9).abs() < 1e-12, "two of twenty splits: {range:?}");
    }

    #[test]
    fn a_shift_inside_hosts_is_found_where_the_hosts_would_hide_it() {
        // Case A11: the treatment ran mostly on the slow host.
        let (h1, h2) = ([99.0, 100.0, 101.0, 100.0, 99.0, 101.0, 100.0, 100.0, 98.0, 102.0], [199.0, 201.0]);
        let (t1, t2) = ([89.0, 91.0], [179.0, 181.0, 180.0, 180.0, 178.0, 182.0, 180.0, 180.0, 179.0, 181.0]);
        let logs = |values: &[f64]| values.iter().map(|v| v.ln()).collect::<Vec<f64>>();
        let strata =
            [Stratum { control: logs(&h1), arm: logs(&t1) }, Stratum { control: logs(&h2), arm: logs(&t2) }];
        let mut laws = Laws::default();
        let found = shift(&strata, 0.05, &mut laws).expect("shift");
        assert!((found.estimate.exp() - 0.9).abs() < 0.001, "{}", found.estimate.exp());
        let interval = found.interval.expect("interval");
        assert!(interval.high.exp() < 0.93 && interval.low.exp() > 0.87, "{interval:?}");
        assert!(test(&strata, &mut laws).p() < 0.001);
    }

    /// p by trying every split of every block.
    fn brute_force(strata: &[Stratum]) -> f64 {
        let seen = strata.iter().map(surplus).sum::<i64>().abs();
        let mut sums = vec![0i64];
        for s in strata {
            let all: Vec<f64> = s.control.iter().chain(&s.arm).copied().collect();
            let splits = (0..1u32 << all.len()).filter(|m| m.count_ones() as usize == s.arm.len());
            let own: Vec<i64> = splits
                .map(|mask| {
                    let side = |arm: bool| -> Vec<f64> {
                        (0..all.len()).filter(|i| (mask >> i & 1 == 1) == arm).map(|i| all[i]).collect()
                    };
                    surplus(&Stratum { control: side(false), arm: side(true) })
                })
                .collect();
            sums = sums.iter().flat_map(|a| own.iter().map(move |b| a + b)).collect();
        }
        sums.iter().filter(|s| s.abs() >= seen).count() as f64 / sums.len() as f64
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn p_equals_enumeration_and_swapping_the_sides_mirrors_everything(
            a in prop::collection::vec(-4i32..5, 1..5), b in prop::collection::vec(-4i32..5, 1..5),
            c in prop::collection::vec(-4i32..5, 1..4), d in prop::collection::vec(-4i32..5, 1..4)
        ) {
            let floats = |v: &[i32]| v.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
            let strata = [
                Stratum { control: floats(&a), arm: floats(&b) },
                Stratum { control: floats(&c), arm: floats(&d) },
            ];
            let swapped = strata.clone().map(|s| Stratum { control: s.arm, arm: s.control });
            let mut laws = Laws::default();
            let found = test(&strata, &mut laws).exact.expect("exact");
            prop_assert!((found - brute_force(&strata)).abs() < 1e-12);
            prop_assert!((test(&swapped, &mut laws).p() - found).abs() < 1e-12);
            let (one, other) =
                (shift(&strata, 0.05, &mut laws).unwrap(), shift(&swapped, 0.05, &mut laws).unwrap());
            prop_assert_eq!(one.estimate, -other.estimate);
            if let (Some(one), Some(other)) = (one.interval, other.interval) {
                prop_assert_eq!((one.low, one.high), (-other.high, -other.low));
                prop_assert!((one.confidence - other.confidence).abs() < 1e-12);
            }
        }
    }
}
