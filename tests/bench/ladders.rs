//! Simulated ladders that hold what the method promises of change points: false cliffs, and steps found.

use fieldtrial::analysis::change_point::{ChangePoint, Search};
use fieldtrial::analysis::ladder;
use fieldtrial::analysis::power::normal;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::{Check, band};

const RELEASES: usize = 5;
/// Five releases in mirrored blocks.
struct Ladder {
    blocks: usize,
    /// Between runs of one build.
    sd: f64,
    /// How far each release lies off because its build happened to; drawn once a ladder.
    build: f64,
    /// What everything gets slower by over the whole ladder.
    drift: f64,
    /// The first release of a new level, and the log of its step.
    step: Option<(usize, f64)>,
}

const STILL: Ladder = Ladder { blocks: 3, sd: 0.01, build: 0.0, drift: 0.0, step: None };

impl Ladder {
    fn climb(&self, random: &mut ChaCha8Rng) -> Vec<Vec<Option<f64>>> {
        let stepped = |release: usize| self.step.filter(|(at, _)| release >= *at).map_or(0.0, |(_, by)| by);
        let heights: Vec<f64> = (0..RELEASES).map(|r| stepped(r) + self.build * normal(random)).collect();
        let last = (self.blocks * RELEASES - 1) as f64;
        let mut run = |block: usize, release: usize| {
            let within = if block.is_multiple_of(2) { release } else { RELEASES - 1 - release };
            let drift = self.drift * (block * RELEASES + within) as f64 / last;
            Some((heights[release] + drift + self.sd * normal(random)).exp())
        };
        (0..self.blocks).map(|block| (0..RELEASES).map(|release| run(block, release)).collect()).collect()
    }

    /// Share of ladders of which `told` says so. Shuffles may be few where every ladder has its own.
    fn share(&self, rounds: u32, shuffles: usize, told: impl Fn(&[ChangePoint]) -> bool) -> f64 {
        let names: Vec<String> = (1..=RELEASES).map(|i| format!("v{i}")).collect();
        let mut random = ChaCha8Rng::seed_from_u64(5000 + self.blocks as u64);
        let hits = (0..rounds).filter(|round| {
            let search = Search { shuffles, seed: u64::from(*round), ..Search::default() };
            told(&ladder::change_points(&names, &self.climb(&mut random), &search).changes)
        });
        hits.count() as f64 / f64::from(rounds)
    }
}

/// All promises of ladders, and what builds of one code that differ do to them.
pub fn checks(campaigns: u32) -> Vec<Check> {
    // A search costs a hundred times what a verdict costs.
    let rounds = (campaigns / 5).max(1);
    let shuffles = if campaigns < 10_000 { 199 } else { 999 };
    let any = |changes: &[ChangePoint]| !changes.is_empty();
    let called = |changes: &[ChangePoint]| changes.iter().any(|change| !change.below_smallest_step);
    let mut checks = vec![];
    let mut check = |what: String, found: f64, (low, high): (f64, f64)| {
        checks.push(Check { what, found, low: low - band(low, rounds), high: high + band(high, rounds) });
    };
    for (blocks, unthresholded) in [(3, (0.38, 0.44)), (4, (0.54, 0.60))] {
        let of = |what: &str| format!("ladder of {blocks} blocks, {what}");
        let still = Ladder { blocks, ..STILL };
        check(of("nothing there: a change"), still.share(rounds, shuffles, any), (0.0, 0.05));
        let jitter = Ladder { blocks, build: 0.01, ..STILL };
        check(of("builds differ by 1 %: a change"), jitter.share(rounds, shuffles, any), unthresholded);
        check(of("builds differ by 1 %: 3 % or more"), jitter.share(rounds, shuffles, called), (0.0, 0.12));
        let drift = Ladder { blocks, drift: 0.06, ..STILL };
        check(of("6 % drift: a change"), drift.share(rounds, shuffles, any), (0.0, 0.05));
    }
    for (name, at, power) in [("in the middle", 3, 0.96), ("at the newest", 4, 0.86)] {
        let step = Ladder { step: Some((at, (-0.03_f64).ln_1p())), ..STILL };
        let what = format!("ladder of 3 blocks, 3 % step {name} release: a change");
        check(what, step.share(rounds, shuffles, any), (power, 1.0));
    }
    checks
}
