//! The law of a rank sum when labels are permuted within blocks.

use std::collections::HashMap;
use std::rc::Rc;

use statrs::function::erf::erfc;

use super::rank_sum::Stratum;

/// Most steps that one exact law may cost, about a twentieth of a second.
const BUDGET: usize = 50_000_000;
/// Laws that are kept: data with ties make many.
const MOST_LAWS: usize = 4096;

/// What decides the law of one block: how many values have which label, and which are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pattern {
    control: u32,
    arm: u32,
    /// Sizes of groups of equal values, ascending by value; empty where all differ.
    ties: Box<[u32]>,
}

impl Pattern {
    /// Of a block in which no two values are equal.
    pub fn untied(stratum: &Stratum) -> Pattern {
        let size = |values: &[f64]| values.len() as u32;
        Pattern { control: size(&stratum.control), arm: size(&stratum.arm), ties: Box::default() }
    }

    /// Of a block after the arm is moved down by `shift`.
    pub fn of(stratum: &Stratum, shift: f64) -> Pattern {
        let mut all: Vec<f64> =
            stratum.control.iter().copied().chain(stratum.arm.iter().map(|v| v - shift)).collect();
        all.sort_unstable_by(f64::total_cmp);
        let groups: Vec<u32> = all.chunk_by(|a, b| a == b).map(|group| group.len() as u32).collect();
        let ties = if groups.len() == all.len() { Box::default() } else { groups.into_boxed_slice() };
        Pattern { ties, ..Pattern::untied(stratum) }
    }

    fn all(&self) -> usize {
        (self.control + self.arm) as usize
    }

    fn pairs(&self) -> usize {
        self.control as usize * self.arm as usize
    }

    /// Groups of equal values; each value its own where all differ.
    fn groups(&self) -> Vec<usize> {
        match self.ties.is_empty() {
            true => vec![1; self.all()],
            false => self.ties.iter().map(|g| *g as usize).collect(),
        }
    }

    fn cost(&self) -> usize {
        let widest = self.ties.iter().max().map_or(1, |g| *g as usize);
        let states = (self.arm as usize + 1) * (2 * self.pairs() + 1);
        self.all().saturating_mul(states).saturating_mul(widest.min(self.arm as usize + 1).max(1))
    }

    /// Variance of the surplus (Lehmann 1975, with ties).
    fn variance(&self) -> f64 {
        let all = self.all() as f64;
        if self.all() < 2 {
            return 0.0;
        }
        let lost: f64 = self.ties.iter().map(|t| f64::from(*t)).map(|t| t * t * t - t).sum();
        self.pairs() as f64 / 3.0 * (all + 1.0 - lost / (all * (all - 1.0)))
    }

    /// Chances of each surplus from −pairs to +pairs, by putting the groups in one after the other:
    /// of the labels that are left, each set is as likely as any other.
    fn chances(&self) -> Vec<f64> {
        let (pairs, arm, all) = (self.pairs(), self.arm as usize, self.all());
        let width = 2 * pairs + 1;
        let mut ways = vec![vec![]; arm + 1];
        ways[0] = vec![0.0; width];
        ways[0][pairs] = 1.0;
        let mut seen = 0;
        for group in self.groups() {
            let mut next: Vec<Vec<f64>> = vec![vec![]; arm + 1];
            for (taken, row) in ways.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
                let (left_arm, left) = (arm - taken, all - seen);
                let controls = seen - taken;
                for here in 0..=group.min(left_arm) {
                    if left - group < left_arm - here {
                        continue;
                    }
                    let chance = hypergeometric(here, group, left_arm, left);
                    // Each of the arm here is above every control before, and the other way round.
                    let moved = (here * controls) as i64 - ((group - here) * taken) as i64;
                    let into = &mut next[taken + here];
                    if into.is_empty() {
                        *into = vec![0.0; width];
                    }
                    for (at, way) in row.iter().enumerate().filter(|(_, way)| **way > 0.0) {
                        into[(at as i64 + moved) as usize] += way * chance;
                    }
                }
            }
            ways = next;
            seen += group;
        }
        std::mem::take(&mut ways[arm])
    }
}

/// Chance that `here` of a group get one of `left_arm` labels among the `left` values.
fn hypergeometric(here: usize, group: usize, left_arm: usize, left: usize) -> f64 {
    let mut chance = 1.0;
    // Value by value, with the label or without it, times the orders these may come in.
    for i in 0..here {
        chance *= (left_arm - i) as f64 / (left - i) as f64;
        chance *= (group - i) as f64 / (here - i) as f64;
    }
    for i in 0..group - here {
        chance *= (left - left_arm - i) as f64 / (left - here - i) as f64;
    }
    chance
}

/// Law of the surplus over all blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Law {
    /// `tail[s]` is P(|surplus| ≥ s); None where counting would take too long.
    tail: Option<Vec<f64>>,
    deviation: f64,
    pairs: usize,
}

impl Law {
    fn of(patterns: &[Pattern]) -> Law {
        let deviation = patterns.iter().map(Pattern::variance).sum::<f64>().sqrt();
        let pairs: usize = patterns.iter().map(Pattern::pairs).sum();
        let joined: usize = patterns.iter().map(|p| (2 * p.pairs() + 1).saturating_mul(2 * pairs + 1)).sum();
        let cost = patterns.iter().map(Pattern::cost).fold(joined, usize::saturating_add);
        Law { tail: (cost <= BUDGET).then(|| tail(patterns, pairs)), deviation, pairs }
    }

    /// Two-sided p over all splits.
    pub fn exact(&self, surplus: i64) -> Option<f64> {
        let tail = self.tail.as_ref()?;
        Some(tail.get(surplus.unsigned_abs() as usize).copied().unwrap_or(0.0).min(1.0))
    }

    /// Two-sided p by the normal law, with a step of the count as continuity correction.
    pub fn normal(&self, surplus: i64) -> Option<f64> {
        let distance = (surplus.abs() as f64 - 1.0).max(0.0);
        (self.deviation > 0.0).then(|| erfc(distance / self.deviation / std::f64::consts::SQRT_2).min(1.0))
    }

    /// The exact p where there is one.
    pub fn p(&self, surplus: i64) -> f64 {
        self.exact(surplus).or_else(|| self.normal(surplus)).unwrap_or(1.0)
    }

    /// Largest p at or under the level: the chance of a false alarm that the test really has. None
    /// where no split is so rare.
    pub fn size(&self, alpha: f64) -> Option<f64> {
        match &self.tail {
            None => (self.p(self.pairs as i64) <= alpha).then_some(alpha),
            Some(tail) => {
                let first = tail.partition_point(|p| *p > alpha);
                tail.get(first).copied().filter(|p| *p > 0.0)
            }
        }
    }
}

fn tail(patterns: &[Pattern], pairs: usize) -> Vec<f64> {
    let mut chances = vec![1.0];
    for pattern in patterns {
        let own = pattern.chances();
        let mut joined = vec![0.0; chances.len() + own.len() - 1];
        for (i, a) in chances.iter().enumerate().filter(|(_, a)| **a > 0.0) {
            for (slot, b) in joined[i..].iter_mut().zip(&own) {
                *slot += a * b;
            }
        }
        chances = joined;
    }
    let mut tail = vec![0.0; pairs + 1];
    for (at, chance) in chances.iter().enumerate() {
        tail[at.abs_diff(pairs)] += chance;
    }
    for s in (0..pairs).rev() {
        tail[s] += tail[s + 1];
    }
    // Every split is at least this far out, whatever rounding says.
    tail[0] = 1.0;
    tail
}

/// Laws that were worked out already.
#[derive(Debug, Default)]
pub struct Laws {
    known: HashMap<Vec<Pattern>, Rc<Law>>,
}

impl Laws {
    /// The law of these blocks, whose order does not matter.
    pub fn of(&mut self, mut patterns: Vec<Pattern>) -> Rc<Law> {
        patterns.sort_unstable();
        if let Some(law) = self.known.get(&patterns) {
            return law.clone();
        }
        if self.known.len() >= MOST_LAWS {
            self.known.clear();
        }
        let law = Rc::new(Law::of(&patterns));
        self.known.insert(patterns, law.clone());
        law
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stratum(control: usize, arm: usize) -> Stratum {
        let all: Vec<f64> = (0..control + arm).map(|i| (i as f64 * 0.7).sin()).collect();
        Stratum { control: all[..control].to_vec(), arm: all[control..].to_vec() }
    }

    #[test]
    fn large_samples_fall_back_to_a_normal_law_that_agrees_where_both_are_known() {
        let mut laws = Laws::default();
        let law = laws.of(vec![Pattern::untied(&stratum(30, 30))]);
        for surplus in [0, 101, 260, 400] {
            let (exact, normal) = (law.exact(surplus).expect("exact"), law.normal(surplus).expect("normal"));
            assert!((exact - normal).abs() < 0.002, "{surplus}: {exact} and {normal}");
        }
        let large = laws.of(vec![Pattern::untied(&stratum(400, 400))]);
        assert_eq!(large.exact(0), None);
        assert!((large.normal(13_000).expect("normal") - 0.046_8).abs() < 0.0002);
        assert_eq!(large.size(0.05), Some(0.05));
    }

    #[test]
    fn the_chances_of_all_splits_add_up_to_one() {
        for (control, arm) in [(1, 1), (3, 7), (12, 5)] {
            let tied = Stratum { control: vec![1.0; control], arm: [1.0, 2.0].repeat(arm) };
            for pattern in [Pattern::untied(&tied), Pattern::of(&tied, 0.0), Pattern::of(&tied, 1.0)] {
                let all: f64 = pattern.chances().iter().sum();
                assert!((all - 1.0).abs() < 1e-12, "{pattern:?}: {all}");
            }
        }
    }
}
