//! Change points of a history: one value a record, in order.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::change_point::{
    ChangePoints, Cut, Search, Spread, best_arc, levels, mean, sentence, spread, step_p, summary, tell,
};
use super::shuffle::{sampled_p, shuffle};
use super::tail::t_two_sided;

/// Fewest points that are searched.
const FEWEST: usize = 4;

/// Shortest level: one bad point is not a level.
const SHORTEST: usize = 2;

/// Level at which the last point alone is told.
const LAST_ALPHA: f64 = 0.01;

/// Most points; the newest count.
pub const MOST_POINTS: usize = 1000;

/// Searches values above 0 in their order. The statistic of each shuffle is divided by the root mean
/// square of its own successive differences, so that levels up and down do not pass for noise. Found
/// changes are cut again until nothing is found, and those that do not stand between their two
/// neighbours are taken back.
pub fn change_points(points: &[(String, f64)], search: &Search) -> ChangePoints {
    let mut notes = vec![];
    let bad = points.iter().filter(|point| !(point.1 > 0.0 && point.1.is_finite())).count();
    if bad > 0 {
        notes.push(format!("{bad} points are not above 0 and finite and were left out."));
    }
    let good: Vec<&(String, f64)> =
        points.iter().filter(|point| point.1 > 0.0 && point.1.is_finite()).collect();
    let newest = &good[good.len().saturating_sub(MOST_POINTS)..];
    if newest.len() < good.len() {
        notes.push(format!("Only the newest {MOST_POINTS} of {} points were searched.", good.len()));
    }
    let names: Vec<String> = newest.iter().map(|point| point.0.clone()).collect();
    let logs: Vec<f64> = newest.iter().map(|point| point.1.ln()).collect();
    if logs.len() < FEWEST {
        notes.push(format!("{} points are too few to search, {FEWEST} are needed.", logs.len()));
    }
    let mut cuts = vec![];
    cut(&logs, (0, logs.len()), search, &mut cuts);
    cuts.sort_by_key(|cut| cut.at);
    prune(&logs, &mut cuts, search.alpha);
    let within = spread(&logs, &cuts);
    let mut changes = tell(&names, &logs, &cuts, (1.0, within, 0.95), search);
    if let Some(last) = last_alone(&logs, &cuts, search) {
        let own = spread(&logs[..logs.len() - 1], &cuts);
        let all: Vec<Cut> = cuts.iter().copied().chain([last]).collect();
        changes.extend(tell(&names, &logs, &all, (1.0, own, 0.95), search).pop().map(|mut point| {
            point.provisional = true;
            point.sentence = sentence(&point, search);
            point
        }));
    }
    ChangePoints {
        n: logs.len() as u64,
        sentence: summary(&names, &changes, search),
        changes,
        method: format!(
            "arcs of logarithms against the rest, scaled by the rms of successive differences, {} seeded shuffles, level {} a \
             search, levels of at least {SHORTEST} points",
            search.shuffles, search.alpha
        ),
        notes,
    }
}

/// Finds the strongest arc of a stretch and searches its parts.
fn cut(logs: &[f64], (from, to): (usize, usize), search: &Search, cuts: &mut Vec<Cut>) {
    let stretch = &logs[from..to];
    if stretch.len() < FEWEST {
        return;
    }
    let Some((strength, a, b)) = scaled(stretch) else { return };
    let mut shuffled = stretch.to_vec();
    shuffled.sort_by(f64::total_cmp);
    let mut random = ChaCha8Rng::seed_from_u64(search.seed);
    let mut reached = 0;
    // Once so many shuffles reached it, no number of others makes the p small.
    let enough = (search.alpha * (1 + search.shuffles) as f64).ceil() as usize;
    for _ in 0..search.shuffles {
        shuffle(&mut shuffled, &mut random);
        reached += usize::from(scaled(&shuffled).is_some_and(|other| other.0 >= strength * (1.0 - 1e-9)));
        if reached > enough {
            return;
        }
    }
    let p = sampled_p(reached, search.shuffles);
    if p > search.alpha {
        return;
    }
    cuts.extend(
        [a, b].into_iter().filter(|at| *at > 0 && *at < stretch.len()).map(|at| Cut { at: from + at, p }),
    );
    for (start, end) in [(0, a), (a, b), (b, stretch.len())] {
        if end > start {
            cut(logs, (from + start, from + end), search, cuts);
        }
    }
}

/// The strongest arc over the mean square of successive differences; None where nothing differs.
fn scaled(logs: &[f64]) -> Option<(f64, usize, usize)> {
    let (strength, a, b) = best_arc(logs, SHORTEST)?;
    let squares: f64 = logs.windows(2).map(|pair| (pair[1] - pair[0]) * (pair[1] - pair[0])).sum();
    (squares > 0.0).then(|| (strength / (squares / (logs.len() - 1) as f64), a, b))
}

/// Takes back, the weakest first, what does not stand between the levels beside it.
fn prune(logs: &[f64], cuts: &mut Vec<Cut>, alpha: f64) {
    while !cuts.is_empty() {
        let within = spread(logs, cuts);
        let levels = levels(logs.len(), cuts);
        let p = levels.windows(2).map(|pair| step_p(logs, (pair[0].0, pair[1].0, pair[1].1), 1.0, within));
        let weakest = p.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        match weakest {
            Some((at, p)) if p > alpha => {
                cuts.remove(at);
            }
            _ => return,
        }
    }
}

/// The last point as a provisional level, where it lies outside of what the level before it foretells.
fn last_alone(logs: &[f64], cuts: &[Cut], search: &Search) -> Option<Cut> {
    let last = logs.len().checked_sub(1)?;
    let from = cuts.last().map_or(0, |cut| cut.at);
    let before = &logs[from..last];
    if before.len() < SHORTEST || last < FEWEST {
        return None;
    }
    let Spread { variance, df } = spread(&logs[..last], cuts);
    let step = logs[last] - mean(before);
    let error = (variance * (1.0 + 1.0 / before.len() as f64)).sqrt();
    let p = if error == 0.0 { f64::from(step == 0.0) } else { t_two_sided(step / error, df) };
    (p <= LAST_ALPHA && step.exp_m1().abs() >= search.smallest_step).then_some(Cut { at: last, p })
}
