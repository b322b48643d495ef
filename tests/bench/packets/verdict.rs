//! From readings to one word: pass, short, or void.

use std::collections::BTreeMap;
use std::fmt;

use super::comparisons::{Asked, Comparison};
use super::measure::Reading;
use crate::bench::{Summary, sum_up};

/// What became of one side in one round.
#[derive(Debug, Clone)]
pub enum Outcome {
    Read(Reading),
    /// Somebody else's program is not here, or did not do its work.
    Absent(String),
    /// One of ours did not do its work.
    Failed(String),
}

/// Outcomes by the name of the side, each with its round.
pub type Rounds = BTreeMap<&'static str, Vec<(usize, Outcome)>>;

/// The last word on a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Pass,
    /// Below the gate, or why it could not even be measured by our own fault.
    Short(String),
    Void(String),
}

/// The rest of a row after its name.
pub struct Line {
    ours: Option<f64>,
    rival: Option<f64>,
    ratio: Option<Summary>,
    asked: Asked,
    goal: f64,
    pub verdict: Verdict,
    note: String,
}

/// Judges one comparison by those rounds in which the machine was ours; they have to be more than half.
pub fn judge(row: &Comparison, rounds: &Rounds, planned: usize) -> Line {
    let (mut ours, mut rivals, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut lost, mut voids, mut failed, mut notes) = (0, Vec::new(), None, Vec::new());
    for round in 0..planned {
        let own = match at(rounds, row.ours, round) {
            Outcome::Read(reading) => reading,
            Outcome::Absent(why) => {
                voids.push(why.clone());
                continue;
            }
            Outcome::Failed(why) => {
                failed = Some(why.clone());
                continue;
            }
        };
        let mut best: Option<&Reading> = None;
        for rival in row.rivals {
            match at(rounds, rival, round) {
                Outcome::Read(reading) if best.is_none_or(|best| reading.value > best.value) => {
                    best = Some(reading)
                }
                Outcome::Read(_) => {}
                Outcome::Absent(why) => notes.push(why.clone()),
                Outcome::Failed(why) => failed = Some(why.clone()),
            }
        }
        let void = own.void.as_ref().or(best.and_then(|best| best.void.as_ref()));
        match (void, best) {
            (Some(why), _) => voids.push(why.clone()),
            (None, None) if !row.rivals.is_empty() => voids.push(notes.last().cloned().unwrap_or_default()),
            (None, best) => {
                ours.push(own.value);
                lost += own.lost.unwrap_or(0);
                if let Some(best) = best {
                    rivals.push(best.value);
                    ratios.push(own.value / best.value);
                }
            }
        }
    }
    notes.dedup();
    let middle = |values: &[f64]| (!values.is_empty()).then(|| sum_up(values.to_vec()).median);
    let ratio = (!ratios.is_empty()).then(|| sum_up(ratios));
    let verdict = match (failed, ours.len() * 2 > planned) {
        (Some(why), _) => Verdict::Short(format!("ours failed: {why}")),
        (None, false) => Verdict::Void(voids.last().cloned().unwrap_or_default()),
        (None, true) => hold(row.asked, ratio, lost),
    };
    let mut note = notes.join("; ");
    if verdict == Verdict::Pass || matches!(verdict, Verdict::Short(_)) {
        if !voids.is_empty() {
            note = format!("{} of {planned} rounds void: {}", voids.len(), voids[voids.len() - 1]);
        }
    } else {
        note.clear();
    }
    Line {
        ours: middle(&ours),
        rival: middle(&rivals),
        ratio,
        asked: row.asked,
        goal: row.goal,
        verdict,
        note,
    }
}

fn at<'a>(rounds: &'a Rounds, side: &str, round: usize) -> &'a Outcome {
    let found = rounds.get(side).and_then(|all| all.iter().find(|(of, _)| *of == round));
    &found.expect("every side of a comparison takes its turn in every round").1
}

fn hold(asked: Asked, ratio: Option<Summary>, lost: u64) -> Verdict {
    let whole = !matches!(asked, Asked::AtLeast(_));
    if whole && lost > 0 {
        return Verdict::Short(format!("{lost} frames lost"));
    }
    let ratio = ratio.map_or(f64::NAN, |ratio| ratio.median);
    let holds = match asked {
        Asked::AtLeast(least) | Asked::AtLeastAndWhole(least) => ratio >= least,
        Asked::AtMostAndWhole(most) => ratio <= most,
        Asked::Whole => true,
    };
    if holds { Verdict::Pass } else { Verdict::Short("below its gate".to_owned()) }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.0}"));
        let ratio = self.ratio.map_or_else(
            || "–".to_owned(),
            |Summary { min, median, max, .. }| format!("{median:.2} [{min:.2}..{max:.2}]"),
        );
        let (gate, sign) = match self.asked {
            Asked::AtLeast(gate) | Asked::AtLeastAndWhole(gate) => (gate, "≥"),
            Asked::AtMostAndWhole(gate) => (gate, "≤"),
            Asked::Whole => (0.0, "="),
        };
        let Self { goal, note, .. } = self;
        write!(
            f,
            "{:>9} {:>9}  {ratio:<21}{sign:>2}{gate:>5.2} {goal:>6.2}  ",
            number(self.ours),
            number(self.rival)
        )?;
        match &self.verdict {
            Verdict::Pass => write!(f, "pass")?,
            Verdict::Short(why) => write!(f, "short ({why})")?,
            Verdict::Void(why) => write!(f, "void ({why})")?,
        }
        if note.is_empty() { Ok(()) } else { write!(f, " ({note})") }
    }
}
