//! What an arm that finished less of its work can no longer be called.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::effect::ALPHA;
use super::findings::{CellSummary, Effect};
use super::proportion::fisher;
use crate::model::outcome::RunOutcome;

/// Why an effect cannot be called better: the arm completed less of its work than the control, in runs or in
/// units, or the two lost runs at rates that an exact test tells apart. Runs do not go missing at random.
/// Timeouts are in the estimate and count against the arm that has them only.
pub fn bars_better(effect: &Effect) -> Option<String> {
    let (arm, control) = (Tally::of(&effect.outcomes), Tally::of(&effect.control_outcomes));
    if arm.by_missing(&control) == Ordering::Greater {
        return Some(words(effect, &arm, &control));
    }
    if by_units(effect) == Ordering::Less {
        return Some(units(effect));
    }
    let p = fisher([arm.lost, control.lost], [arm.all, control.all]);
    (p <= ALPHA).then(|| words(effect, &arm, &control))
}

/// Why an effect cannot be called equivalent: either side completed less of its work.
pub fn bars_equivalent(effect: &Effect) -> Option<String> {
    let (arm, control) = (Tally::of(&effect.outcomes), Tally::of(&effect.control_outcomes));
    if arm.by_missing(&control) != Ordering::Equal {
        return Some(words(effect, &arm, &control));
    }
    (by_units(effect) != Ordering::Equal).then(|| units(effect))
}

/// Cells whose measured runs did not complete all of their units, each in a sentence with the four counts.
pub fn undone(cells: &[CellSummary]) -> Vec<String> {
    let work = cells.iter().filter_map(|cell| Some((cell, cell.work?)));
    let short = work.filter(|(_, work)| work.success < work.declared);
    short.map(|(cell, work)| format!("{}: {}.", cell.cell, work.words())).collect()
}

/// Which side completed the smaller part of its units of work; equal where none are declared.
fn by_units(effect: &Effect) -> Ordering {
    let both = effect.work.zip(effect.control_work);
    both.map_or(Ordering::Equal, |(arm, control)| arm.by_completed(&control))
}

fn units(effect: &Effect) -> String {
    let (arm, control) = (effect.work.unwrap_or_default(), effect.control_work.unwrap_or_default());
    format!(
        "{} completed {} of its {} units of work and the control {} of {}",
        effect.arm, arm.success, arm.declared, control.success, control.declared
    )
}

fn words(effect: &Effect, arm: &Tally, control: &Tally) -> String {
    format!(
        "{} completed {} of its {} runs and the control {} of {}",
        effect.arm, arm.done, arm.all, control.done, control.all
    )
}

/// Runs of one side.
struct Tally {
    done: u64,
    /// Not measured and not timed out either, so not in the estimate.
    lost: u64,
    all: u64,
}

impl Tally {
    fn of(outcomes: &BTreeMap<String, u64>) -> Tally {
        let count = |o: RunOutcome| outcomes.get(o.name()).copied().unwrap_or(0);
        let (done, all) = (count(RunOutcome::Measured), outcomes.values().sum());
        Tally { done, lost: all - done - count(RunOutcome::TimedOut), all }
    }

    /// Which of two sides misses the larger share of its runs, without rounding.
    fn by_missing(&self, other: &Tally) -> Ordering {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        product(self.all - self.done, other.all).cmp(&product(other.all - other.done, self.all))
    }
}
