//! Verdicts of the gate, and which of several stands for the record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the gate says of one response of one cell, and of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There is no valid value.
    NothingMeasured,
    /// The median is below the floor.
    Regression,
    /// Another host, role, work, hold or tool than what was published.
    NotComparable,
    NoBaseline,
    /// Levels above the published one have been reached, so that the band has silently widened.
    StaleBaseline,
    /// Too few replicates, or some below the floor and some above.
    Inconclusive,
    Pass,
}

impl Verdict {
    pub const ALL: [Verdict; 7] = [
        Self::NothingMeasured,
        Self::Regression,
        Self::NotComparable,
        Self::NoBaseline,
        Self::StaleBaseline,
        Self::Inconclusive,
        Self::Pass,
    ];

    /// As people read it.
    pub fn word(self) -> &'static str {
        match self {
            Self::NothingMeasured => "nothing measured",
            Self::Regression => "regression",
            Self::NotComparable => "not comparable",
            Self::NoBaseline => "no baseline",
            Self::StaleBaseline => "stale baseline",
            Self::Inconclusive => "inconclusive",
            Self::Pass => "pass",
        }
    }
}

/// The verdict of a record: the gravest of its cells. Cells without a value are gravest only where no cell
/// has one, since the others then still have an answer; beside other cells they leave it inconclusive.
pub fn overall(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let mut verdicts: Vec<Verdict> = verdicts.into_iter().collect();
    if verdicts.iter().all(|verdict| *verdict == Verdict::NothingMeasured) {
        return Verdict::NothingMeasured;
    }
    for verdict in &mut verdicts {
        if *verdict == Verdict::NothingMeasured {
            *verdict = Verdict::Inconclusive;
        }
    }
    verdicts.into_iter().min().unwrap_or(Verdict::NothingMeasured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_stands_and_silence_is_never_a_pass() {
        assert_eq!(overall([]), Verdict::NothingMeasured);
        assert_eq!(overall([Verdict::NothingMeasured; 2]), Verdict::NothingMeasured);
        assert_eq!(overall([Verdict::Pass, Verdict::NothingMeasured]), Verdict::Inconclusive);
        assert_eq!(
            overall([Verdict::Pass, Verdict::StaleBaseline, Verdict::Inconclusive]),
            Verdict::StaleBaseline
        );
        assert_eq!(overall([Verdict::Regression, Verdict::NothingMeasured]), Verdict::Regression);
        // Case G07: four cells without a baseline are no pass.
        assert_eq!(overall([Verdict::NoBaseline; 4]), Verdict::NoBaseline);
        assert_eq!(overall([Verdict::Pass; 3]), Verdict::Pass);
    }
}
