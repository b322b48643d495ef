//! What a design can detect, by playing its test on drawn differences.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::accurate::moments;

/// Nobody plans more blocks, and the law of the sums takes time with their cube.
const MOST_BLOCKS: usize = 200;

/// Drawn campaigns: the standard error of a power of 80 % is 0.6 %.
const DRAWS: usize = 4_000;

/// Fixed, so that a plan says the same twice.
const SEED: u64 = 482_906_109_298;

/// Effects beyond this many standard deviations are not asked for.
const LARGEST: f64 = 8.0;

/// Chance that the signed-rank test of `blocks` pairs at `alpha` finds a shift of `effect` paired
/// standard deviations, for normal differences. None above 200 blocks.
pub fn power(blocks: usize, alpha: f64, effect: f64) -> Option<f64> {
    let game = Game::of(blocks, alpha)?;
    Some(game.power(effect))
}

/// Smallest shift, in paired standard deviations, that is found with chance `wanted`. None where
/// no sign pattern of so few blocks reaches `alpha`.
pub fn detectable(blocks: usize, alpha: f64, wanted: f64) -> Option<f64> {
    let game = Game::of(blocks, alpha)?;
    game.critical?;
    let (mut low, mut high) = (0.0, LARGEST);
    if game.power(high) < wanted {
        return None;
    }
    while high - low > 0.002 {
        let middle = (low + high) / 2.0;
        if game.power(middle) >= wanted { high = middle } else { low = middle }
    }
    Some(high)
}

/// Fewest blocks that find a shift of `effect` paired standard deviations with chance `wanted`;
/// None above 200.
pub fn blocks_needed(effect: f64, alpha: f64, wanted: f64) -> Option<usize> {
    let enough = |blocks: usize| power(blocks, alpha, effect).is_some_and(|p| p >= wanted);
    let (mut low, mut high) = (1, 8);
    while !enough(high) {
        if high == MOST_BLOCKS {
            return None;
        }
        (low, high) = (high, (2 * high).min(MOST_BLOCKS));
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// Where the true standard deviation lies with 90 % when `n` normal values have this one: at six
/// values the variance is between 0.45 and 4.4 times what was seen.
pub fn sd_range(sd: f64, n: usize) -> Option<(f64, f64)> {
    let df = n.checked_sub(1).filter(|df| *df > 0)? as f64;
    let law = ChiSquared::new(df).ok()?;
    let at = |quantile: f64| sd * (df / law.inverse_cdf(quantile)).sqrt();
    Some((at(0.95), at(0.05)))
}

/// What a design could detect, by a pilot's spread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reach {
    pub blocks: u64,
    /// Pairs of the pilot or of history.
    pub from: u64,
    pub paired_sd: f64,
    /// Relative change that is found with 80 %, by the spread seen.
    pub change: f64,
    /// The same by the ends of the 90 % range of the true spread.
    pub from_change: f64,
    pub to_change: f64,
    pub sentence: String,
}

/// By a standard deviation of the paired log ratios that somebody names. None where the design cannot
/// reach its level, or has more than 200 blocks.
pub fn change_found(sd: f64, blocks: usize, comparisons: usize, alpha: f64) -> Option<f64> {
    Some((detectable(blocks, alpha / comparisons.max(1) as f64, 0.8)? * sd).exp_m1())
}

/// From paired log ratios of a pilot. None where they have no spread, or where the design cannot
/// reach its level.
pub fn reach(pilot: &[f64], blocks: usize, comparisons: usize, alpha: f64) -> Option<Reach> {
    let m = moments(pilot).filter(|m| m.n > 1 && m.squares > 0.0)?;
    let sd = (m.squares / (m.n - 1) as f64).sqrt();
    let times = detectable(blocks, alpha / comparisons.max(1) as f64, 0.8)?;
    let (low, high) = sd_range(sd, m.n)?;
    let change = |sd: f64| (times * sd).exp_m1();
    Some(Reach {
        blocks: blocks as u64,
        from: m.n as u64,
        paired_sd: sd,
        change: change(sd),
        from_change: change(low),
        to_change: change(high),
        sentence: format!(
            "{blocks} blocks would find a change of {:.1} % with a chance of 80 % (between {:.1} and {:.1} %, as {} pairs tell \
             the spread no better).",
            100.0 * change(sd),
            100.0 * change(low),
            100.0 * change(high),
            m.n
        ),
    })
}

/// Drawn normal differences, and the sum of ranks at which the test rejects.
struct Game {
    draws: Vec<Vec<f64>>,
    /// Largest smaller sum of ranks that is rejected; None where none is.
    critical: Option<usize>,
}

impl Game {
    fn of(blocks: usize, alpha: f64) -> Option<Game> {
        if blocks == 0 || blocks > MOST_BLOCKS {
            return None;
        }
        let mut random = ChaCha8Rng::seed_from_u64(SEED);
        let draws = (0..DRAWS).map(|_| (0..blocks).map(|_| normal(&mut random)).collect()).collect();
        Some(Game { draws, critical: critical(blocks, alpha) })
    }

    fn power(&self, effect: f64) -> f64 {
        let Some(critical) = self.critical else { return 0.0 };
        let mut shifted = vec![];
        let rejects = |draw: &Vec<f64>| {
            shifted.clear();
            shifted.extend(draw.iter().map(|d| d + effect));
            shifted.sort_by(|a: &f64, b| a.abs().total_cmp(&b.abs()));
            let sum = |negative: bool| -> usize {
                shifted.iter().enumerate().filter(|(_, d)| (**d < 0.0) == negative).map(|(i, _)| i + 1).sum()
            };
            sum(true).min(sum(false)) <= critical
        };
        let found = self.draws.iter().map(rejects).filter(|found| *found).count();
        found as f64 / self.draws.len() as f64
    }
}

/// Largest T with P(smaller sum ≤ T) ≤ alpha, without ties.
fn critical(blocks: usize, alpha: f64) -> Option<usize> {
    let total = blocks * (blocks + 1) / 2;
    let mut chance = vec![0.0; total + 1];
    chance[0] = 1.0;
    for rank in 1..=blocks {
        for sum in (0..=total).rev() {
            chance[sum] = (chance[sum] + if sum >= rank { chance[sum - rank] } else { 0.0 }) / 2.0;
        }
    }
    let mut below = 0.0;
    let rejected = chance.iter().take_while(|chance| {
        below += **chance;
        2.0 * below <= alpha
    });
    rejected.count().checked_sub(1)
}

/// A standard normal number (Box & Muller 1958).
pub fn normal(random: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(random)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
}

/// A number from 0 up to but not including 1, with all 53 digits.
pub fn uniform(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_sums_are_those_of_the_tables() {
        for (n, critical_sum) in
            [(5, None), (6, Some(0)), (7, Some(2)), (8, Some(3)), (9, Some(5)), (10, Some(8)), (20, Some(52))]
        {
            assert_eq!(critical(n, 0.05), critical_sum, "n {n}");
        }
    }

    #[test]
    fn power_agrees_with_an_independent_simulation_and_with_the_formula_for_six_blocks() {
        // 2 % of an effect and 1 % sd of one arm are √2 paired sd; at six all signs must agree: Φ(√2)⁶.
        let shift = std::f64::consts::SQRT_2;
        for (n, percent) in [(6, 61.1), (8, 88.6), (10, 97.1)] {
            let found = 100.0 * power(n, 0.05, shift).expect("power");
            assert!((found - percent).abs() < 2.0, "n {n}: {found} but {percent}");
        }
        assert!((power(10, 0.05, 0.0).expect("power") - 0.049).abs() < 0.012);
        assert_eq!(power(5, 0.05, 3.0), Some(0.0));
        assert_eq!(power(0, 0.05, 1.0), None);
    }

    #[test]
    fn detectable_shrinks_with_blocks_and_agrees_with_the_blocks_needed() {
        let found: Vec<f64> = [6, 8, 10].map(|n| detectable(n, 0.05, 0.8).expect("effect")).to_vec();
        // At six: Φ(d)⁶ = 0.8, so d = 1.793.
        for (found, right) in found.iter().zip([1.793, 1.26, 1.04]) {
            assert!((found - right).abs() < 0.04, "{found}, right {right}");
        }
        assert_eq!(blocks_needed(found[2], 0.05, 0.8), Some(10));
        assert_eq!(detectable(6, 0.05 / 2.0, 0.8), None);
        assert_eq!(blocks_needed(0.01, 0.05, 0.8), None);
    }

    #[test]
    fn a_pilot_of_six_tells_the_spread_only_roughly() {
        let (low, high) = sd_range(1.0, 6).expect("range");
        assert!((low * low - 0.4517).abs() < 0.001 && (high * high - 4.365).abs() < 0.01, "{low} {high}");
        assert_eq!(sd_range(1.0, 1), None);
        let found = reach(&[0.01, -0.01, 0.02, 0.0, -0.02, 0.0], 10, 1, 0.05).expect("reach");
        assert!(found.from_change < found.change && found.change < found.to_change);
        assert!(found.sentence.starts_with("10 blocks would find a change of 1."), "{}", found.sentence);
        assert_eq!(reach(&[0.0; 6], 10, 1, 0.05), None);
        assert_eq!(reach(&[0.01, 0.02], 6, 2, 0.05), None);
    }
}
