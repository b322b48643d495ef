//! A row of points cut into levels: the strongest arc, judged by shuffles, and its parts again.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::change_point::{Cut, Search, Spread, levels, step_p};
use super::shuffle::sampled_p;

/// A part of a row that can be shuffled: what a shuffle leaves alone is what the points are allowed to share.
pub trait Stretch {
    /// The strongest arc with its ends; None where nothing differs.
    fn strongest(&self) -> Option<(f64, usize, usize)>;

    /// Puts values where the order of the data decides nothing, so that shuffles are the same for any order.
    fn settle(&mut self);

    /// One shuffle, from whatever the one before left.
    fn shuffle(&mut self, random: &mut ChaCha8Rng);
}

/// Cuts a row of `n` points where `search` finds changes, in order. `stretch` gives the points of a part;
/// None where it is too short to search.
pub fn cuts<S: Stretch>(n: usize, search: &Search, stretch: &impl Fn(usize, usize) -> Option<S>) -> Vec<Cut> {
    let mut found = vec![];
    let mut open = vec![(0, n)];
    while let Some((from, to)) = open.pop() {
        let Some((p, a, b)) = stretch(from, to).and_then(|part| change(part, search)) else { continue };
        let inside = [a, b].into_iter().filter(|at| *at > 0 && *at < to - from);
        found.extend(inside.map(|at| Cut { at: from + at, p }));
        open.extend(
            [(from, from + a), (from + a, from + b), (from + b, to)].iter().filter(|part| part.0 < part.1),
        );
    }
    found.sort_by_key(|cut| cut.at);
    found
}

/// The strongest arc with its p, where that is small enough.
fn change(mut stretch: impl Stretch, search: &Search) -> Option<(f64, usize, usize)> {
    let (strength, a, b) = stretch.strongest()?;
    stretch.settle();
    let mut random = ChaCha8Rng::seed_from_u64(search.seed);
    let mut reached = 0;
    // Once so many shuffles reached it, no number of others makes the p small.
    let enough = (search.alpha * (1 + search.shuffles) as f64).ceil() as usize;
    for _ in 0..search.shuffles {
        stretch.shuffle(&mut random);
        reached += usize::from(stretch.strongest().is_some_and(|other| other.0 >= strength * (1.0 - 1e-9)));
        if reached > enough {
            return None;
        }
    }
    let p = sampled_p(reached, search.shuffles);
    (p <= search.alpha).then_some((p, a, b))
}

/// Sorts by the distance from `centre`: an order that neither rows nor the sign of logarithms decide, so that a
/// time and its rate meet the same shuffles.
pub fn from_the_middle(values: &mut [f64], centre: f64) {
    values.sort_by(|a, b| (a - centre).abs().total_cmp(&(b - centre).abs()).then(a.total_cmp(b)));
}

/// Takes back, the weakest first, what does not stand between the levels beside it. `spread` is of a single
/// run, given the cuts that are left, and every point is a mean of `runs`.
pub fn prune(logs: &[f64], cuts: &mut Vec<Cut>, alpha: f64, runs: f64, spread: impl Fn(&[Cut]) -> Spread) {
    while !cuts.is_empty() {
        let within = spread(cuts);
        let levels = levels(logs.len(), cuts);
        let p = levels.windows(2).map(|pair| step_p(logs, (pair[0].0, pair[1].0, pair[1].1), runs, within));
        match p.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((at, p)) if p > alpha => {
                cuts.remove(at);
            }
            _ => return,
        }
    }
}
