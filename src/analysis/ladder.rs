//! Change points of a ladder: releases in order, each measured once in every block.

use rand_chacha::ChaCha8Rng;

use super::change_point::{ChangePoints, Search, Spread, best_arc, summary, tell};
use super::segmentation::{Stretch, cuts, from_the_middle, prune};
use super::shuffle::shuffle;

/// Fewest complete blocks: with one, runs of a release cannot agree.
const FEWEST_BLOCKS: usize = 2;

/// Searches `blocks[block][release]`, None where a run has no value. Labels of releases are shuffled
/// inside blocks, which keeps what blocks share; shuffling the order of releases could not do it,
/// five of them have too few orders. A level may be a single release, since its replicates agree or not.
pub fn change_points(releases: &[String], blocks: &[Vec<Option<f64>>], search: &Search) -> ChangePoints {
    let mut notes = vec![];
    let value = |block: &Vec<Option<f64>>, release: usize| {
        block.get(release).copied().flatten().filter(|v| *v > 0.0 && v.is_finite())
    };
    let seen: Vec<usize> = (0..releases.len())
        .filter(|release| blocks.iter().any(|block| value(block, *release).is_some()))
        .collect();
    if seen.len() < releases.len() {
        let have = match releases.len() - seen.len() {
            1 => "1 release has".to_owned(),
            n => format!("{n} releases have"),
        };
        notes.push(format!("{have} no value in any block, and so no place in the search."));
    }
    let complete: Vec<Vec<f64>> = blocks
        .iter()
        .filter_map(|block| seen.iter().map(|release| value(block, *release).map(f64::ln)).collect())
        .collect();
    if complete.len() < blocks.len() {
        notes.push(format!("{} blocks lack a release and were left out.", blocks.len() - complete.len()));
    }
    let names: Vec<String> = seen.iter().map(|release| releases[*release].clone()).collect();
    let mut found = vec![];
    if complete.len() < FEWEST_BLOCKS {
        notes.push(format!(
            "{} complete blocks are too few to search, {FEWEST_BLOCKS} are needed.",
            complete.len()
        ));
    } else {
        let part = |from: usize, to: usize| complete.iter().map(|block| centred(&block[from..to])).collect();
        let stretch = |from: usize, to: usize| (to - from > 1).then(|| Releases(part(from, to)));
        found = cuts(names.len(), search, &stretch);
    }
    if !complete.len().is_multiple_of(2) {
        notes.push(
            "An odd number of mirrored blocks keeps a part of any drift in the levels; use an even number."
                .to_owned(),
        );
    }
    let means = means(&complete, names.len());
    let runs = complete.len() as f64;
    let within = replicate_spread(&complete, &means);
    prune(&means, &mut found, search.alpha, runs, |_| within);
    let changes = tell(&names, &means, &found, (runs, within, 0.95), search);
    ChangePoints {
        n: names.len() as u64,
        sentence: summary(&names, &changes, search),
        changes,
        method: format!(
            "arcs of release means against the rest, scaled by the spread of replicates, {} seeded shuffles of the releases \
             inside blocks, level {} a search",
            search.shuffles, search.alpha
        ),
        notes,
    }
}

/// Blocks of a stretch of releases; only inside a block may values change places.
struct Releases(Vec<Vec<f64>>);

impl Stretch for Releases {
    /// The strongest arc of release means over the spread of replicates about them. The total is the same
    /// in every shuffle, so what the right labels explain is missing from the spread.
    fn strongest(&self) -> Option<(f64, usize, usize)> {
        let Releases(blocks) = self;
        let means = means(blocks, blocks[0].len());
        let (strength, a, b) = best_arc(&means, 1)?;
        let total: f64 = blocks.iter().flatten().map(|log| log * log).sum();
        let explained = blocks.len() as f64 * means.iter().map(|mean| mean * mean).sum::<f64>();
        // Replicates that agree to the last digit leave rounding, which must not be divided by.
        let rest = (total - explained).max(1e-12 * total);
        (total > 0.0).then(|| (strength / rest, a, b))
    }

    fn settle(&mut self) {
        let Releases(blocks) = self;
        blocks.iter_mut().for_each(|block| from_the_middle(block, 0.0));
        let first = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).map(|(x, y)| x.abs().total_cmp(&y.abs())).find(|o| o.is_ne())
        };
        blocks.sort_by(|a, b| first(a, b).unwrap_or(std::cmp::Ordering::Equal));
    }

    fn shuffle(&mut self, random: &mut ChaCha8Rng) {
        self.0.iter_mut().for_each(|block| shuffle(block, random));
    }
}

/// Less its mean, so that blocks may lie at different heights.
fn centred(block: &[f64]) -> Vec<f64> {
    let mean = super::change_point::mean(block);
    block.iter().map(|log| log - mean).collect()
}

fn means(blocks: &[Vec<f64>], releases: usize) -> Vec<f64> {
    let n = blocks.len() as f64;
    (0..releases).map(|release| blocks.iter().map(|block| block[release]).sum::<f64>() / n).collect()
}

/// Variance of a run about its block and its release.
fn replicate_spread(blocks: &[Vec<f64>], means: &[f64]) -> Spread {
    let df = blocks.len().saturating_sub(1) * means.len().saturating_sub(1);
    if df == 0 {
        return Spread { variance: 0.0, df: 0.0 };
    }
    let grand = super::change_point::mean(means);
    let squares: f64 = blocks
        .iter()
        .map(|block| {
            let own = super::change_point::mean(block) - grand;
            block.iter().zip(means).map(|(log, mean)| (log - mean - own).powi(2)).sum::<f64>()
        })
        .sum();
    Spread { variance: squares / df as f64, df: df as f64 }
}
