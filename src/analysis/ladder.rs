//! Change points of a ladder: releases in order, each measured once in every block.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::change_point::{ChangePoints, Cut, Search, Spread, best_arc, levels, step_p, summary, tell};
use super::shuffle::{sampled_p, shuffle};

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
        notes.push(format!(
            "{} releases have no value in any block and were left out.",
            releases.len() - seen.len()
        ));
    }
    let complete: Vec<Vec<f64>> = blocks
        .iter()
        .filter_map(|block| seen.iter().map(|release| value(block, *release).map(f64::ln)).collect())
        .collect();
    if complete.len() < blocks.len() {
        notes.push(format!("{} blocks lack a release and were left out.", blocks.len() - complete.len()));
    }
    let names: Vec<String> = seen.iter().map(|release| releases[*release].clone()).collect();
    let mut cuts = vec![];
    if complete.len() < FEWEST_BLOCKS {
        notes.push(format!(
            "{} complete blocks are too few to search, {FEWEST_BLOCKS} are needed.",
            complete.len()
        ));
    } else {
        cut(&complete, (0, names.len()), search, &mut cuts);
        cuts.sort_by_key(|cut| cut.at);
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
    prune(&means, &mut cuts, (runs, within), search.alpha);
    let changes = tell(&names, &means, &cuts, (runs, within, 0.95), search);
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

fn cut(blocks: &[Vec<f64>], (from, to): (usize, usize), search: &Search, cuts: &mut Vec<Cut>) {
    if to - from < 2 {
        return;
    }
    let mut stretch: Vec<Vec<f64>> = blocks.iter().map(|block| centred(&block[from..to])).collect();
    let Some((strength, a, b)) = scaled(&stretch) else { return };
    stretch.iter_mut().for_each(|block| block.sort_by(f64::total_cmp));
    stretch.sort_by(|a, b| {
        a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut random = ChaCha8Rng::seed_from_u64(search.seed);
    let mut reached = 0;
    let enough = (search.alpha * (1 + search.shuffles) as f64).ceil() as usize;
    for _ in 0..search.shuffles {
        stretch.iter_mut().for_each(|block| shuffle(block, &mut random));
        reached += usize::from(scaled(&stretch).is_some_and(|other| other.0 >= strength * (1.0 - 1e-9)));
        if reached > enough {
            return;
        }
    }
    let p = sampled_p(reached, search.shuffles);
    if p > search.alpha {
        return;
    }
    cuts.extend(
        [a, b].into_iter().filter(|at| *at > 0 && *at < to - from).map(|at| Cut { at: from + at, p }),
    );
    for (start, end) in [(0, a), (a, b), (b, to - from)] {
        if end > start {
            cut(blocks, (from + start, from + end), search, cuts);
        }
    }
}

/// Less its mean, so that blocks may lie at different heights.
fn centred(block: &[f64]) -> Vec<f64> {
    let mean = super::change_point::mean(block);
    block.iter().map(|log| log - mean).collect()
}

/// The strongest arc of release means over the spread of replicates about them. The total is the same
/// in every shuffle, so what the right labels explain is missing from the spread.
fn scaled(blocks: &[Vec<f64>]) -> Option<(f64, usize, usize)> {
    let releases = blocks[0].len();
    let means = means(blocks, releases);
    let (strength, a, b) = best_arc(&means, 1)?;
    let total: f64 = blocks.iter().flatten().map(|log| log * log).sum();
    let explained = blocks.len() as f64 * means.iter().map(|mean| mean * mean).sum::<f64>();
    // Replicates that agree to the last digit leave rounding, which must not be divided by.
    let rest = (total - explained).max(1e-12 * total);
    (total > 0.0).then(|| (strength / rest, a, b))
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

/// Takes back, the weakest first, what does not stand between the levels beside it.
fn prune(means: &[f64], cuts: &mut Vec<Cut>, (runs, within): (f64, Spread), alpha: f64) {
    while !cuts.is_empty() {
        let levels = levels(means.len(), cuts);
        let p = levels.windows(2).map(|pair| step_p(means, (pair[0].0, pair[1].0, pair[1].1), runs, within));
        match p.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((at, p)) if p > alpha => {
                cuts.remove(at);
            }
            _ => return,
        }
    }
}
