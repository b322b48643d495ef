//! Kendall's rank correlation with its exact law, alone and summed over strata.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::function::erf::erfc;

/// Most pairs for which the exact law is worked out.
const MOST_EXACT: usize = 5_000;

/// One test of "no trend".
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kendall {
    /// Pairs that rise together minus pairs that do not, over all strata.
    pub s: i64,
    /// `s` ÷ the pairs that are tied in neither.
    pub tau: f64,
    /// Two-sided.
    pub p: f64,
    /// False where `p` is by the normal law with ties and continuity.
    pub exact: bool,
}

/// Tests whether values rise or fall with `order` inside strata of (order, value); strata are
/// independent of each other. Exact where in each stratum one of the two has no ties (Kendall 1938,
/// with ties in the other by Gaussian binomials). None where every pair is tied.
pub fn stratified(strata: &[Vec<(f64, f64)>]) -> Option<Kendall> {
    let counts: Vec<Count> = strata.iter().map(|stratum| Count::of(stratum)).collect();
    let s: i64 = counts.iter().map(|count| count.s).sum();
    let pairs: usize = counts.iter().map(|count| count.pairs).sum();
    if pairs == 0 {
        return None;
    }
    let exact = counts.iter().map(|count| count.law.as_ref().map_or(MOST_EXACT + 1, Vec::len)).sum::<usize>();
    let laws = || counts.iter().filter_map(|count| count.law.as_ref());
    let law = (exact <= MOST_EXACT).then(|| laws().fold(vec![1.0], |law, own| convolved(&law, own)));
    let p = match &law {
        // Place k of the law is S = pairs − 2k.
        Some(law) => {
            let extreme = |k: &usize| (pairs as i64 - 2 * *k as i64).abs() >= s.abs();
            (0..law.len()).filter(extreme).map(|k| law[k]).sum::<f64>().min(1.0)
        }
        None => {
            let variance: f64 = counts.iter().map(|count| count.variance).sum();
            two_sided((s.abs() as f64 - 1.0).max(0.0) / variance.sqrt())
        }
    };
    Some(Kendall { s, tau: s as f64 / pairs as f64, p, exact: law.is_some() })
}

/// Two-sided tail of the standard normal law.
pub fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// A p for a sentence: `p 0.0123`, or `p below 0.0001`.
pub fn p_in_words(p: f64) -> String {
    if p < 1e-4 { "p below 0.0001".to_owned() } else { format!("p {p:.4}") }
}

/// What one stratum adds.
pub struct Count {
    pub s: i64,
    /// Pairs that are tied in neither.
    pub pairs: usize,
    /// Of `s` under "no trend", with ties.
    pub variance: f64,
    /// Chance of k discordant pairs; None where both sides have ties.
    law: Option<Vec<f64>>,
}

impl Count {
    /// Counts the pairs of one stratum.
    pub fn of(stratum: &[(f64, f64)]) -> Count {
        let mut sorted = stratum.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let paired =
            |sizes: &[usize]| sizes.iter().map(|size| size * size.saturating_sub(1) / 2).sum::<usize>();
        let both = sorted.chunk_by(|a, b| a == b).map(<[(f64, f64)]>::len).collect::<Vec<_>>();
        let ties = [groups(stratum.iter().map(|pair| pair.0)), groups(stratum.iter().map(|pair| pair.1))];
        // Tied in neither: all, less those tied in one, and those tied in both were taken off twice.
        let pairs = paired(&[stratum.len()]) + paired(&both) - paired(&ties[0]) - paired(&ties[1]);
        let mut values: Vec<f64> = sorted.iter().map(|pair| pair.1).collect();
        let s = pairs as i64 - 2 * discordant(&mut values) as i64;
        let free = ties.iter().position(|groups| groups.iter().all(|size| *size == 1));
        let law = free.filter(|_| pairs <= MOST_EXACT).map(|free| inversions(&ties[1 - free]));
        Count { s, pairs, variance: variance(stratum.len(), &ties), law }
    }
}

/// Pairs in which the later value is smaller, counted while merging halves (Knight 1966); sorts.
fn discordant(values: &mut [f64]) -> usize {
    if values.len() < 2 {
        return 0;
    }
    let (first, second) = values.split_at_mut(values.len() / 2);
    let mut count = discordant(first) + discordant(second);
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let (mut a, mut b) = (0, 0);
    while a < first.len() || b < second.len() {
        if b == second.len() || (a < first.len() && first[a] <= second[b]) {
            merged.push(first[a]);
            a += 1;
        } else {
            merged.push(second[b]);
            b += 1;
            count += first.len() - a;
        }
    }
    values.copy_from_slice(&merged);
    count
}

/// Sizes of the groups of equal values, ascending by value.
fn groups(values: impl Iterator<Item = f64>) -> Vec<usize> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.chunk_by(|a, b| a == b).map(<[f64]>::len).collect()
}

/// Variance of S with ties in both (Kendall 1970, chapter 4).
fn variance(n: usize, ties: &[Vec<usize>; 2]) -> f64 {
    let n = n as f64;
    let sum = |groups: &[usize], f: fn(f64) -> f64| groups.iter().map(|t| f(*t as f64)).sum::<f64>();
    let cubic = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let triple = |t: f64| t * (t - 1.0) * (t - 2.0);
    let double = |t: f64| t * (t - 1.0);
    let [x, y] = ties;
    let mut variance = (cubic(n) - sum(x, cubic) - sum(y, cubic)) / 18.0;
    if n > 2.0 {
        variance += sum(x, triple) * sum(y, triple) / (9.0 * triple(n));
    }
    if n > 1.0 {
        variance += sum(x, double) * sum(y, double) / (2.0 * double(n));
    }
    variance
}

/// Law of the number of inversions when groups of ties are shuffled: group after group is merged
/// into those before, which has the law of a Gaussian binomial.
fn inversions(groups: &[usize]) -> Vec<f64> {
    let mut law = vec![1.0];
    let mut before = 0;
    for group in groups {
        law = convolved(&law, &merged(before, *group));
        before += group;
    }
    law
}

/// Chance of k inversions when `a` items and `b` items are shuffled into one row; adding the last
/// item of the row: it is of the first kind with chance a/(a+b), and then inverts nothing.
fn merged(a: usize, b: usize) -> Vec<f64> {
    let mut laws: Vec<Vec<f64>> = vec![vec![1.0]; b + 1];
    for i in 1..=a {
        for j in 1..=b {
            let (last_a, last_b) = (i as f64 / (i + j) as f64, j as f64 / (i + j) as f64);
            let mut law = vec![0.0; i * j + 1];
            // Ending in one of the first kind puts it behind all j of the second.
            for (k, chance) in laws[j].iter().enumerate() {
                law[k + j] += last_a * chance;
            }
            for (k, chance) in laws[j - 1].iter().enumerate() {
                law[k] += last_b * chance;
            }
            laws[j] = law;
        }
    }
    laws.swap_remove(b)
}

fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut law = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            law[i + j] += x * y;
        }
    }
    law
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(f64, f64)]) -> Kendall {
        stratified(&[pairs.to_vec()]).expect("pairs")
    }

    #[test]
    fn a_rise_without_exception_has_the_p_of_one_order_and_its_mirror() {
        let rise: Vec<(f64, f64)> = (0..6).map(|i| (f64::from(i), f64::from(i * i))).collect();
        let found = of(&rise);
        assert_eq!((found.s, found.tau, found.exact), (15, 1.0, true));
        assert!((found.p - 2.0 / 720.0).abs() < 1e-15, "{found:?}");
    }

    /// p by trying all orders of the values, and |S| by comparing every pair.
    fn brute_force(order: &[f64], values: &[f64]) -> (f64, i64) {
        fn orders(left: &mut Vec<f64>, row: &mut Vec<f64>, seen: &mut dyn FnMut(&[f64])) {
            if left.is_empty() {
                return seen(row);
            }
            for i in 0..left.len() {
                row.push(left.remove(i));
                orders(left, row, seen);
                left.insert(i, row.pop().expect("pushed"));
            }
        }
        let sign = |a: f64, b: f64| i64::from(a > b) - i64::from(a < b);
        let s = |values: &[f64]| {
            let pairs = (0..values.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
            pairs.map(|(i, j)| sign(order[i], order[j]) * sign(values[i], values[j])).sum::<i64>().abs()
        };
        let (mine, mut extreme, mut all) = (s(values), 0, 0);
        orders(&mut values.to_vec(), &mut vec![], &mut |row| {
            all += 1;
            extreme += i32::from(s(row) >= mine);
        });
        (f64::from(extreme) / f64::from(all), mine)
    }

    #[test]
    fn exact_p_equals_enumeration_with_ties_on_either_side() {
        let order = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let halves = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
        for (order, values) in [
            (order, [3.0, 1.0, 2.0, 5.0, 4.0, 6.0]),
            (order, [1.0, 1.0, 2.0, 5.0, 5.0, 5.0]),
            (halves, [1.0, 3.0, 2.0, 4.0, 5.0, 6.0]),
            (order, [2.0, 2.0, 1.0, 1.0, 1.0, 1.0]),
        ] {
            let pairs: Vec<(f64, f64)> = order.into_iter().zip(values).collect();
            let found = of(&pairs);
            assert!(found.exact);
            let (right, s) = brute_force(&order, &values);
            assert_eq!(found.s.abs(), s);
            assert!((found.p - right).abs() < 1e-12, "{pairs:?}: {found:?} but {right}");
        }
    }

    #[test]
    fn strata_add_up_and_ties_in_both_go_to_the_normal_law() {
        let rise = vec![(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)];
        let found = stratified(&[rise.clone(), rise.clone()]).expect("pairs");
        // Each has 6 orders, one of them rises throughout; both together or both mirrored.
        assert!((found.p - 2.0 / 36.0).abs() < 1e-15, "{found:?}");
        let tied = of(&[(1.0, 1.0), (1.0, 1.0), (2.0, 2.0), (2.0, 2.0), (3.0, 2.0)]);
        assert!(!tied.exact && tied.p > 0.0 && tied.p < 1.0);
        assert_eq!(stratified(&[vec![(1.0, 7.0), (2.0, 7.0)]]), None);
        assert_eq!(stratified(&[]), None);
    }
}
