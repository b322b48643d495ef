//! Outcomes of cells before timing, and of runs.

use serde::{Deserialize, Serialize};

/// What became of a planned cell before timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// By a declared rule.
    Excluded,
    /// A host cannot do it, or its proof differs.
    Refused,
    Live,
}

/// What became of a run of a live cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    Measured,
    /// Ran, but breaks an acceptance rule or gave another answer than its proof.
    Rejected,
    TimedOut,
    Failed,
    Interrupted,
}

impl RunOutcome {
    pub const ALL: [RunOutcome; 5] =
        [Self::Measured, Self::Rejected, Self::TimedOut, Self::Failed, Self::Interrupted];

    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Rejected => "rejected",
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

impl Fate {
    pub fn name(self) -> &'static str {
        match self {
            Self::Excluded => "excluded",
            Self::Refused => "refused",
            Self::Live => "live",
        }
    }
}
