//! Change points of a history: one value a record, in order.

use rand_chacha::ChaCha8Rng;

use super::change_point::{
    ChangePoints, Cut, Search, Spread, best_arc, mean, sentence, spread, summary, tell,
};
use super::segmentation::{Stretch, cuts, from_the_middle, prune};
use super::shuffle::shuffle;
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
    let stretch = |from: usize, to: usize| (to - from >= FEWEST).then(|| Points(logs[from..to].to_vec()));
    let mut cuts = cuts(logs.len(), search, &stretch);
    prune(&logs, &mut cuts, search.alpha, 1.0, |cuts| spread(&logs, cuts));
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

/// A stretch of points, all of which may change places.
struct Points(Vec<f64>);

impl Stretch for Points {
    /// The strongest arc over the mean square of successive differences.
    fn strongest(&self) -> Option<(f64, usize, usize)> {
        let Points(logs) = self;
        let (strength, a, b) = best_arc(logs, SHORTEST)?;
        let squares: f64 = logs.windows(2).map(|pair| (pair[1] - pair[0]) * (pair[1] - pair[0])).sum();
        (squares > 0.0).then(|| (strength / (squares / (logs.len() - 1) as f64), a, b))
    }

    fn settle(&mut self) {
        let centre = mean(&self.0);
        from_the_middle(&mut self.0, centre);
    }

    fn shuffle(&mut self, random: &mut ChaCha8Rng) {
        shuffle(&mut self.0, random);
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
