//! Change points: where a level begins, how large the step is, and how sure that is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::accurate::squares_about;
use super::findings::Interval;
use super::tail::{t_reach, t_two_sided};

/// How a search is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// Level of each search for one more change.
    pub alpha: f64,
    /// Relative; smaller steps are told but not called changes, since identical code that is built
    /// again differs by 1 %: without a threshold 27 to 35 % false cliffs.
    pub smallest_step: f64,
    pub shuffles: usize,
    pub seed: u64,
}

impl Default for Search {
    fn default() -> Search {
        Search { alpha: 0.05, smallest_step: 0.03, shuffles: 10_000, seed: 1 }
    }
}

/// All changes along one row of points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePoints {
    /// Points that were searched.
    pub n: u64,
    pub changes: Vec<ChangePoint>,
    pub method: String,
    pub sentence: String,
    pub notes: Vec<String>,
}

/// The first point of a new level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePoint {
    /// From 0.
    pub index: u64,
    /// Of the first point of the new level.
    pub name: String,
    /// Of the last point of the old level.
    pub after: String,
    /// Geometric means of the two levels.
    pub old_level: f64,
    pub new_level: f64,
    /// New over old, less 1.
    pub change: f64,
    /// Of `change`, by t with the spread inside all levels, given the place of the step.
    pub interval: Option<Interval>,
    /// Of the search that found it.
    pub p: f64,
    /// Only the last point has the new level so far.
    pub provisional: bool,
    /// Found, but smaller than the smallest step that is called a change.
    pub below_smallest_step: bool,
    pub sentence: String,
}

/// Where a new level begins, with the p of the search that found it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    pub at: usize,
    pub p: f64,
}

/// What the spread inside the levels is, and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub variance: f64,
    pub df: f64,
}

/// Pooled spread of logs inside the levels that `cuts` make.
pub fn spread(logs: &[f64], cuts: &[Cut]) -> Spread {
    let levels = levels(logs.len(), cuts);
    let squares: f64 =
        levels.iter().map(|(from, to)| squares_about(&logs[*from..*to], mean(&logs[*from..*to]))).sum();
    let df = logs.len().saturating_sub(levels.len()) as f64;
    Spread { variance: if df > 0.0 { squares / df } else { 0.0 }, df }
}

/// Where each level begins, and where the next one does.
pub fn levels(n: usize, cuts: &[Cut]) -> Vec<(usize, usize)> {
    let ends: Vec<usize> = std::iter::once(0).chain(cuts.iter().map(|cut| cut.at)).chain([n]).collect();
    ends.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Arithmetic mean of logs.
pub fn mean(logs: &[f64]) -> f64 {
    super::accurate::sum(logs.iter().copied()) / logs.len() as f64
}

/// Two-sided p of "the levels on both sides are the same", by t with this spread.
pub fn step_p(logs: &[f64], (from, at, to): (usize, usize, usize), runs: f64, spread: Spread) -> f64 {
    let step = mean(&logs[at..to]) - mean(&logs[from..at]);
    let error = error((from, at, to), runs, spread);
    if error == 0.0 { f64::from(step == 0.0) } else { t_two_sided(step / error, spread.df) }
}

fn error((from, at, to): (usize, usize, usize), runs: f64, spread: Spread) -> f64 {
    let each = 1.0 / (at - from) as f64 + 1.0 / (to - at) as f64;
    (spread.variance * each / runs).sqrt()
}

/// Makes the findings of the cuts. `logs` has one number a point, of `runs` runs each; `spread` is
/// of a single run.
pub fn tell(
    names: &[String],
    logs: &[f64],
    cuts: &[Cut],
    (runs, spread, confidence): (f64, Spread, f64),
    search: &Search,
) -> Vec<ChangePoint> {
    let levels = levels(logs.len(), cuts);
    let one = |(cut, pair): (&Cut, &[(usize, usize)])| {
        let (from, at, to) = (pair[0].0, pair[1].0, pair[1].1);
        let (old, new) = (mean(&logs[from..at]), mean(&logs[at..to]));
        let step = new - old;
        let error = error((from, at, to), runs, spread);
        let reach = if spread.df > 0.0 { t_reach(confidence, spread.df) } else { None };
        let interval = reach.map(|reach| Interval {
            low: (step - reach * error).exp_m1(),
            high: (step + reach * error).exp_m1(),
            confidence,
        });
        let below = step.exp_m1().abs() < search.smallest_step;
        let mut point = ChangePoint {
            index: at as u64,
            name: names[at].clone(),
            after: names[at - 1].clone(),
            old_level: old.exp(),
            new_level: new.exp(),
            change: step.exp_m1(),
            interval,
            p: cut.p,
            provisional: false,
            below_smallest_step: below,
            sentence: String::new(),
        };
        point.sentence = sentence(&point, search);
        point
    };
    cuts.iter().zip(levels.windows(2)).map(one).collect()
}

/// One change in words.
pub fn sentence(point: &ChangePoint, search: &Search) -> String {
    let way = if point.change < 0.0 { "fell" } else { "rose" };
    let many = point.change >= MANY_TIMES;
    let ends = |i: Interval| match many {
        true => format!(" (between {} and {} times)", times(i.low), times(i.high)),
        false => format!(" (between {:+.1} and {:+.1} %)", 100.0 * i.low, 100.0 * i.high),
    };
    let size = match many {
        true => format!("to {} times what it was", times(point.change)),
        false => format!("by {:.1} %", 100.0 * point.change.abs()),
    };
    let between = point.interval.map_or(String::new(), ends);
    let rest = match (point.provisional, point.below_smallest_step) {
        (true, _) => ", provisional: it is the last point alone".to_owned(),
        (_, true) => format!(", less than the smallest step of {:.0} %", 100.0 * search.smallest_step),
        _ => String::new(),
    };
    format!("At {} the level {way} {size}{between}{rest}.", point.name)
}

/// From this change on a factor is told instead of per cent, which nobody reads by then.
const MANY_TIMES: f64 = 9.0;

/// A relative change in a word: `+12.3 %`, or `×622` where a level is many times what it was.
pub fn step(change: f64) -> String {
    if change >= MANY_TIMES { format!("×{}", times(change)) } else { format!("{:+.1} %", 100.0 * change) }
}

fn times(change: f64) -> String {
    format!("{:.*}", usize::from(change < 99.0), 1.0 + change)
}

/// All changes in one sentence.
pub fn summary(names: &[String], changes: &[ChangePoint], search: &Search) -> String {
    let told: Vec<&ChangePoint> = changes.iter().filter(|c| !c.below_smallest_step).collect();
    let Some((first, last)) = names.first().zip(names.last()) else {
        return "There are no points.".to_owned();
    };
    if told.is_empty() {
        return format!(
            "No change of {:.0} % or more was found between {first} and {last}.",
            100.0 * search.smallest_step
        );
    }
    let part = |c: &&ChangePoint| format!("{} ({})", c.name, step(c.change));
    format!("New levels begin at {}.", told.iter().map(part).collect::<Vec<_>>().join(", "))
}

/// What a search by halves may say when its two ends agree: it is blind to up and down again.
pub fn none_between(first: &str, last: &str) -> String {
    format!(
        "No change was found between the ends {first} and {last}. A search that halves cannot see a level that rose and fell \
         again in between: measure a coarse grid first."
    )
}

/// Largest mean shift of an arc of points against the rest of the row (Olshen & al. 2004): the
/// squared, standardised difference with its ends. Arcs of one or both ends are plain steps; an arc
/// inside is a bump, which a single step would see only half.
pub fn best_arc(logs: &[f64], shortest: usize) -> Option<(f64, usize, usize)> {
    let n = logs.len();
    let centre = logs.iter().sum::<f64>() / n as f64;
    let mut sums = Vec::with_capacity(n + 1);
    sums.push(0.0);
    for log in logs {
        sums.push(sums[sums.len() - 1] + (log - centre));
    }
    let mut best: Option<(f64, usize, usize)> = None;
    for from in (0..n).filter(|from| *from == 0 || *from >= shortest) {
        // Inner arcs beyond this length are found as steps first; the limit keeps long rows quick.
        let last = (from + LONGEST_ARC).min(n);
        let ends = (from + shortest..=last).chain((last < n).then_some(n));
        for to in ends.filter(|to| *to == n || n - to >= shortest) {
            let length = to - from;
            if length >= n || n - length < shortest {
                continue;
            }
            let sum = sums[to] - sums[from];
            let inside = from > 0 && to < n;
            let counts = if inside { INSIDE } else { 1.0 };
            let strength = counts * sum * sum * n as f64 / (length as f64 * (n - length) as f64);
            if best.is_none_or(|(most, ..)| strength > most) {
                best = Some((strength, from, to));
            }
        }
    }
    best
}

/// What an arc with both ends inside the row counts, against a step with one. It may be laid in many more
/// places, so that with equal weight it costs steps their power: a 3 % step at the newest of five releases
/// (three blocks, sd 1 %) is found by 82 % with 1, 88 % with this, and 90 % without any such arcs.
const INSIDE: f64 = 0.6;

/// Longest arc inside a row that is looked at as one.
const LONGEST_ARC: usize = 50;
