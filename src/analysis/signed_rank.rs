//! Paired differences under sign flips: pseudo-median, exact test and the interval that inverts it.
//!
//! Hodges & Lehmann (1963) for the estimate, Wilcoxon (1945) with Pratt's zeros (1959) and midranks
//! for the test. Pratt's zeros are what make the test count exactly the Walsh averages above and
//! below the tried value, so that p, point and interval come from one procedure.

use std::collections::BTreeMap;

use statrs::function::erf::erfc;

use super::findings::Interval;

/// Differences closer than this are ties. They are differences of logarithms of values with about
/// 16 digits, so anything smaller is rounding.
const TIE: f64 = 1e-12;

/// Most pairs that are judged: memory grows with the square.
pub const MOST_PAIRS: usize = 3000;

/// Most pairs whose sign patterns are counted; beyond, the normal law differs in no shown digit.
pub const MOST_COUNTED: usize = 300;

/// Most pairs for which every gap is tried from outside in; beyond, the end is found by bisection.
const MOST_TRIED: usize = 60;

/// Fewest pairs for an interval by inversion: below, no sign pattern is rarer than 5 %.
pub const FEWEST_PAIRS: usize = 6;

/// Point, interval and p of one set of paired differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub pseudo_median: f64,
    /// None for a single pair.
    pub interval: Option<Interval>,
    /// Two-sided p of "no difference"; None for a single pair.
    pub p: Option<f64>,
}

/// Judges paired differences at level `alpha`. Below six pairs the interval is [min, max] under the
/// level that it has by itself, 1 − 2^(1−n). Differences may be infinite towards one side, which is
/// how a bound of timeouts looks. None without pairs or with more than `MOST_PAIRS`.
pub fn estimate(differences: &[f64], alpha: f64) -> Option<Estimate> {
    let n = differences.len();
    let both_ways = differences.contains(&f64::INFINITY) && differences.contains(&f64::NEG_INFINITY);
    if n == 0 || n > MOST_PAIRS || both_ways || differences.iter().any(|d| d.is_nan()) {
        return None;
    }
    let walsh = walsh_averages(differences);
    let pseudo_median = super::order_statistic::median_of_sorted(&walsh)?;
    if n == 1 {
        return Some(Estimate { pseudo_median, interval: None, p: None });
    }
    let interval = if n < FEWEST_PAIRS {
        let low = differences.iter().copied().fold(f64::INFINITY, f64::min);
        let high = differences.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Interval { low, high, confidence: 1.0 - 0.5f64.powi(n as i32 - 1) }
    } else {
        invert(differences, &walsh, pseudo_median, alpha)
    };
    Some(Estimate { pseudo_median, interval: Some(interval), p: Some(p_value(differences, 0.0)) })
}

/// Two-sided p of "the differences are symmetric about `centre`", which is finite; exact up to
/// `MOST_COUNTED` pairs. Infinite differences have the largest ranks.
pub fn p_value(differences: &[f64], centre: f64) -> f64 {
    let ranks = signed_ranks(differences, centre);
    let sizes: Vec<u64> = sizes(&ranks);
    let law = Law::of(&sizes, 0.0);
    law.p(ranks.iter().sum())
}

/// All (d_i + d_j) / 2 with i ≤ j, ascending.
fn walsh_averages(differences: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (i, a) in differences.iter().enumerate() {
        averages.extend(differences[i..].iter().map(|b| (a + b) / 2.0));
    }
    averages.sort_by(f64::total_cmp);
    averages
}

/// Twice the midrank of each |d − centre|, with the sign of d − centre; 0 where they are equal.
fn signed_ranks(differences: &[f64], centre: f64) -> Vec<i64> {
    let mut shifted: Vec<f64> = differences.iter().map(|d| d - centre).collect();
    shifted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let mut ranks = Vec::with_capacity(shifted.len());
    let mut first = 0;
    while first < shifted.len() {
        let mut end = first + 1;
        while end < shifted.len() && same(shifted[end].abs(), shifted[end - 1].abs()) {
            end += 1;
        }
        let doubled = (first + 1 + end) as i64;
        for value in &shifted[first..end] {
            let zero = value.abs() <= TIE;
            ranks.push(if zero { 0 } else { doubled * value.signum() as i64 });
        }
        first = end;
    }
    ranks
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= TIE
}

/// What of the ranks decides the law: the sizes of those that are not zero, ascending.
fn sizes(ranks: &[i64]) -> Vec<u64> {
    let mut sizes: Vec<u64> = ranks.iter().filter(|r| **r != 0).map(|r| r.unsigned_abs()).collect();
    sizes.sort_unstable();
    sizes
}

/// Law of the sum of randomly signed ranks, by its distance from zero.
enum Law {
    Counted {
        /// `tail[s]` is P(|sum| ≥ s).
        tail: Vec<f64>,
        /// Largest p at or under the level: the chance of a false alarm that the test really has.
        size: f64,
    },
    Normal {
        deviation: f64,
        size: f64,
    },
}

impl Law {
    /// By dynamic programming over the sum of the positive ranks, each sign halving: exact up to
    /// rounding of about one part in 10^14, and every comparison is of integers.
    fn of(sizes: &[u64], alpha: f64) -> Law {
        if sizes.len() > MOST_COUNTED {
            let squares: f64 = sizes.iter().map(|r| (r * r) as f64).sum();
            return Law::Normal { deviation: squares.sqrt(), size: alpha };
        }
        let total = sizes.iter().sum::<u64>() as usize;
        let mut chance = vec![0.0; total + 1];
        chance[0] = 1.0;
        let mut reached = 0;
        for rank in sizes.iter().map(|r| *r as usize) {
            for sum in (0..=reached).rev() {
                let half = chance[sum] / 2.0;
                chance[sum] = half;
                chance[sum + rank] += half;
            }
            reached += rank;
        }
        let mut tail = vec![0.0; total + 2];
        for (positive, chance) in chance.iter().enumerate() {
            tail[(2 * positive).abs_diff(total)] += chance;
        }
        for s in (0..=total).rev() {
            tail[s] += tail[s + 1];
        }
        let size = tail[..=total].iter().copied().filter(|p| *p <= alpha).fold(0.0, f64::max);
        Law::Counted { tail, size }
    }

    fn p(&self, sum: i64) -> f64 {
        match self {
            Law::Counted { tail, .. } => {
                tail.get(sum.unsigned_abs() as usize).copied().unwrap_or(0.0).min(1.0)
            }
            Law::Normal { deviation, .. } => {
                // Ranks are doubled, so half a step of the sum is 2.
                let distance = (sum.abs() as f64 - 2.0).max(0.0) / deviation;
                erfc(distance / std::f64::consts::SQRT_2).min(1.0)
            }
        }
    }

    fn size(&self) -> f64 {
        match self {
            Law::Counted { size, .. } | Law::Normal { size, .. } => *size,
        }
    }
}

/// The hull of all centres that the test does not reject, closed. Between two neighbouring Walsh
/// averages neither signs nor ranks change, so one trial for each such gap is exact.
fn invert(differences: &[f64], walsh: &[f64], pseudo_median: f64, alpha: f64) -> Interval {
    let mut ends = walsh.to_vec();
    ends.dedup_by(|later, earlier| same(*later, *earlier));
    let mut laws: BTreeMap<Vec<u64>, Law> = BTreeMap::new();
    let mut accepted = |gap: usize| {
        let ranks = signed_ranks(differences, inside(ends[gap], ends[gap + 1]));
        let law = laws.entry(sizes(&ranks)).or_insert_with_key(|sizes| Law::of(sizes, alpha));
        law.p(ranks.iter().sum()) > alpha
    };
    let gaps = ends.len() - 1;
    let every = differences.len() <= MOST_TRIED;
    let low = first(gaps, every, &mut accepted).map_or(pseudo_median, |gap| ends[gap]);
    let high = first(gaps, every, |gap| accepted(gaps - 1 - gap));
    let high = high.map_or(pseudo_median, |gap| ends[gaps - gap]);
    if laws.is_empty() {
        // All differences equal: any other centre has every sign on one side.
        let all_on_one_side = 0.5f64.powi(differences.len() as i32 - 1);
        return Interval { low, high, confidence: 1.0 - all_on_one_side };
    }
    // With tied differences the law depends on the centre; the least confidence is what is promised.
    let size = laws.values().map(Law::size).fold(0.0, f64::max);
    Interval { low, high, confidence: 1.0 - size }
}

/// The first gap that is accepted: every one is tried, or the middle is taken to be accepted and the
/// end is found by halving.
fn first(gaps: usize, every: bool, mut accepted: impl FnMut(usize) -> bool) -> Option<usize> {
    if every || gaps < 2 {
        return (0..gaps).find(|gap| accepted(*gap));
    }
    let (mut from, mut to) = (0, gaps / 2);
    while from < to {
        let middle = from + (to - from) / 2;
        if accepted(middle) { to = middle } else { from = middle + 1 }
    }
    Some(to)
}

/// A number between two others, of which one may be infinite.
fn inside(low: f64, high: f64) -> f64 {
    match (low.is_infinite(), high.is_infinite()) {
        (false, false) => (low + high) / 2.0,
        (true, _) => high - 1.0,
        (false, true) => low + 1.0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;

    /// p by trying all 2^n sign patterns, with doubled midranks counted the slow way.
    fn brute_force(differences: &[f64]) -> f64 {
        let n = differences.len();
        let rank = |i: usize| -> i64 {
            let size = differences[i].abs();
            let below = differences.iter().filter(|d| d.abs() < size).count() as i64;
            let same = differences.iter().filter(|d| d.abs() == size).count() as i64;
            if size == 0.0 { 0 } else { 2 * below + same + 1 }
        };
        let ranks: Vec<i64> = (0..n).map(rank).collect();
        let seen: i64 = ranks.iter().zip(differences).map(|(r, d)| if *d < 0.0 { -r } else { *r }).sum();
        let extreme = (0..1u32 << n)
            .filter(|signs| {
                let sum: i64 =
                    ranks.iter().enumerate().map(|(i, r)| if signs >> i & 1 == 1 { *r } else { -r }).sum();
                sum.abs() >= seen.abs()
            })
            .count();
        extreme as f64 / f64::from(1u32 << n)
    }

    #[test]
    fn p_equals_enumeration_of_all_sign_flips() {
        for differences in [
            vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            vec![-1.0, 2.0, 3.0, -4.0, 5.0, 6.0, 7.5],
            vec![0.0, 0.0, 1.0, 1.0, -1.0, 2.0, 3.0],
            vec![0.0; 6],
            vec![2.0, 2.0, 2.0, 2.0, -2.0, 2.0, 2.0, 2.0],
            vec![0.5, -0.5, 0.25, 3.0, -1.0, 1.0, 8.0, 9.0, -2.0, 4.0, 4.0],
        ] {
            let (found, expected) = (p_value(&differences, 0.0), brute_force(&differences));
            assert!((found - expected).abs() < 1e-12, "{differences:?}: {found} but {expected}");
        }
    }

    #[test]
    fn point_interval_and_p_equal_an_independent_enumeration() {
        let text = include_str!("../../tests/data/signed_rank.json");
        let reference: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let cases = reference["cases"].as_array().expect("cases");
        assert_eq!(cases.len(), 6);
        for case in cases {
            let numbers = |key: &str| case[key].as_f64().expect("number");
            let differences: Vec<f64> = serde_json::from_value(case["differences"].clone()).expect("numbers");
            let found = estimate(&differences, 0.05).expect("estimate");
            let interval = found.interval.expect("interval");
            for (what, found, expected) in [
                ("p", found.p.expect("p"), numbers("p")),
                ("pseudo-median", found.pseudo_median, numbers("pseudo_median")),
                ("low", interval.low, numbers("low")),
                ("high", interval.high, numbers("high")),
            ] {
                let name = &case["name"];
                assert!((found - expected).abs() < 1e-12, "{name} {what}: {found} but {expected}");
            }
        }
    }

    #[test]
    fn six_pairs_on_one_side_give_the_smallest_p_and_their_range() {
        let all = estimate(&[0.3, 0.1, 0.2, 0.6, 0.4, 0.5], 0.05).expect("estimate");
        assert_eq!(all.p, Some(0.03125));
        let interval = all.interval.expect("interval");
        assert_eq!((interval.low, interval.high, interval.confidence), (0.1, 0.6, 1.0 - 0.03125));
    }

    #[test]
    fn untied_intervals_attain_the_levels_of_the_tables() {
        // Wilcoxon's lower critical sums for a two-sided 5 %: 0, 2, 3, 5, 8 at n = 6 to 10.
        for (n, at_most, below) in [(6, 2, 0), (7, 6, 2), (8, 10, 3), (9, 20, 5), (10, 50, 8)] {
            let differences: Vec<f64> = (0..n).map(|i| (1.0 + f64::from(i)).powf(1.7) - 9.0).collect();
            let interval = estimate(&differences, 0.05).and_then(|e| e.interval).expect("interval");
            let expected = 1.0 - f64::from(at_most) / f64::from(1 << n);
            assert!((interval.confidence - expected).abs() < 1e-12, "n {n}: {}", interval.confidence);
            let walsh = walsh_averages(&differences);
            let expected = (walsh[below], walsh[walsh.len() - 1 - below]);
            assert_eq!((interval.low, interval.high), expected, "n {n}");
        }
    }

    #[test]
    fn fewer_than_six_pairs_give_their_range_under_its_own_level() {
        for (n, level) in [(2, 0.5), (3, 0.75), (4, 0.875), (5, 0.9375)] {
            let differences: Vec<f64> = (0..n).map(|i| f64::from(i) - 1.0).collect();
            let interval = estimate(&differences, 0.05).and_then(|e| e.interval).expect("interval");
            assert_eq!((interval.low, interval.high), (-1.0, f64::from(n) - 2.0));
            assert_eq!(interval.confidence, level);
        }
        let one = estimate(&[0.7], 0.05).expect("estimate");
        assert_eq!((one.pseudo_median, one.interval, one.p), (0.7, None, None));
        assert_eq!(estimate(&[], 0.05), None);
        assert_eq!(estimate(&[f64::NAN, 1.0], 0.05), None);
    }

    #[test]
    fn differences_without_spread_give_a_point_and_no_nan() {
        let constant = estimate(&[0.25; 8], 0.05).expect("estimate");
        let interval = constant.interval.expect("interval");
        assert_eq!((constant.pseudo_median, interval.low, interval.high), (0.25, 0.25, 0.25));
        assert_eq!(constant.p, Some(0.5f64.powi(7)));
        assert_eq!(estimate(&[0.0; 8], 0.05).and_then(|e| e.p), Some(1.0));
    }

    #[test]
    fn the_exact_law_reaches_far_beyond_twenty_pairs() {
        let differences: Vec<f64> = (1..=60).map(f64::from).collect();
        let p = p_value(&differences, 0.0);
        assert!((p / 0.5f64.powi(59) - 1.0).abs() < 1e-9, "{p}");
    }

    #[test]
    fn many_pairs_are_judged_by_a_normal_law_that_agrees_with_counting() {
        let sizes: Vec<u64> = (1..=MOST_COUNTED as u64).map(|rank| 2 * rank).collect();
        let counted = Law::of(&sizes, 0.05);
        let deviation = sizes.iter().map(|r| (r * r) as f64).sum::<f64>().sqrt();
        let normal = Law::Normal { deviation, size: 0.05 };
        for sum in [0, 600, 6_000, 12_000, 15_000] {
            let (exact, near) = (counted.p(sum), normal.p(sum));
            assert!((exact / near - 1.0).abs() < 0.02, "{sum}: {exact} and {near}");
        }
        let many: Vec<f64> = (0..500).map(|i| ((i * 7919 % 500) as f64 + 0.3) / 500.0 - 0.45).collect();
        let found = estimate(&many, 0.05).expect("estimate");
        let interval = found.interval.expect("interval");
        assert!((found.pseudo_median - 0.05).abs() < 0.001 && interval.confidence == 0.95, "{found:?}");
        assert!((0.02..0.03).contains(&interval.low) && (0.07..0.08).contains(&interval.high), "{found:?}");
    }

    #[test]
    fn bounds_of_timeouts_open_the_interval_only_where_they_reach() {
        let mut differences = vec![0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17];
        let closed = estimate(&[&differences[..], &[0.18]].concat(), 0.05).expect("estimate");
        differences.push(f64::INFINITY);
        let open = estimate(&differences, 0.05).expect("estimate");
        let (closed, opened) = (closed.interval.expect("interval"), open.interval.expect("interval"));
        assert_eq!(closed.low, opened.low);
        assert_eq!(opened.high, f64::INFINITY, "one of eight reaches the fourth Walsh average from above");
        assert!((0.14..0.16).contains(&open.pseudo_median), "{open:?}");
        assert_eq!(open.p, Some(2.0 / 256.0));
        assert_eq!(estimate(&[f64::INFINITY, f64::NEG_INFINITY], 0.05), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn swapping_the_arms_mirrors_everything(
            values in prop::collection::vec(-20i32..20, 2..11)
        ) {
            let forward: Vec<f64> = values.iter().map(|v| f64::from(*v) / 8.0).collect();
            let backward: Vec<f64> = forward.iter().map(|v| -v).collect();
            let (a, b) = (estimate(&forward, 0.05).unwrap(), estimate(&backward, 0.05).unwrap());
            prop_assert_eq!(a.pseudo_median, -b.pseudo_median);
            prop_assert_eq!(a.p, b.p);
            let (a, b) = (a.interval.unwrap(), b.interval.unwrap());
            prop_assert_eq!((a.low, a.high), (-b.high, -b.low));
            prop_assert_eq!(a.confidence, b.confidence);
            prop_assert!((p_value(&forward, 0.0) - brute_force(&forward)).abs() < 1e-12);
        }

        #[test]
        fn the_interval_is_what_the_test_does_not_reject(
            values in prop::collection::vec(-9i32..9, 6..10), centre in -80i32..80
        ) {
            let differences: Vec<f64> = values.iter().map(|v| f64::from(*v)).collect();
            let interval = estimate(&differences, 0.05).unwrap().interval.unwrap();
            // Never on a Walsh average, which lie on halves.
            let centre = f64::from(centre) / 8.0 + 0.03;
            if p_value(&differences, centre) > 0.05 {
                prop_assert!(interval.low <= centre && centre <= interval.high);
            }
            prop_assert!(interval.confidence >= 0.95);
        }
    }

    /// Share of intervals that hold the true centre 0, for differences drawn by `draw`.
    fn coverage(n: usize, rounds: u32, seed: u64, draw: fn(f64) -> f64) -> (f64, f64) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut held = 0;
        let mut confidence = 0.0;
        for _ in 0..rounds {
            let uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let differences: Vec<f64> = std::iter::repeat_with(uniform).take(n).map(draw).collect();
            let interval = estimate(&differences, 0.05).and_then(|e| e.interval).expect("interval");
            held += u32::from(interval.low <= 0.0 && 0.0 <= interval.high);
            confidence = interval.confidence;
        }
        (f64::from(held) / f64::from(rounds), confidence)
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let laplace = |u: f64| if u < 0.5 { (2.0 * u).ln() } else { -(2.0 - 2.0 * u).ln() };
        let cauchy = |u: f64| (std::f64::consts::PI * (u - 0.5)).tan();
        let flat = |u: f64| u - 0.5;
        let rounds = 1500;
        for (n, seed) in [(6, 1), (8, 2)] {
            for draw in [laplace, cauchy, flat] as [fn(f64) -> f64; 3] {
                let (held, promised) = coverage(n, rounds, seed, draw);
                let band = 4.0 * (promised * (1.0 - promised) / f64::from(rounds)).sqrt();
                assert!((held - promised).abs() < band, "n {n}: held {held}, promised {promised}");
            }
        }
    }
}
