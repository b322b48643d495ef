//! The shape of a comparison of two records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analysis::findings::Interval;
use crate::model::response::Better;

/// Version of this shape.
pub const VERSION: u32 = 1;

/// Two records beside each other: every fact that differs, and every number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    pub version: u32,
    pub before: Side,
    pub after: Side,
    /// Facts that are not the same in both.
    pub facts: Vec<FactDifference>,
    /// How many facts were looked at and are the same.
    pub facts_equal: u64,
    /// Every response of every cell that both have.
    pub numbers: Vec<Moved>,
    /// Cells that only one of them has.
    pub only_before: Vec<String>,
    pub only_after: Vec<String>,
    /// What a reader must know of these numbers.
    pub notes: Vec<String>,
    /// The answer.
    pub sentence: String,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    pub record: String,
    pub campaign: String,
    /// `quiet` where it was measured with `--as quiet`; empty for the campaign as it is.
    pub condition: String,
    /// When it was begun, RFC 3339 in UTC.
    pub at: String,
}

/// A fact that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FactDifference {
    pub fact: String,
    /// Null where it is absent.
    pub before: Option<String>,
    pub after: Option<String>,
    /// Cells that it is about; empty where it is about the whole record.
    pub cells: Vec<String>,
}

/// One response of one cell in both records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    pub cell: String,
    pub response: String,
    pub unit: String,
    #[schemars(with = "String")]
    pub better: Better,
    pub before: Level,
    pub after: Level,
    /// After over before; null where there is none.
    pub ratio: Option<f64>,
    /// After less before, for responses that are judged on the linear scale.
    pub difference: Option<f64>,
    /// Of the ratio or the difference.
    pub interval: Option<Interval>,
    /// Two-sided and exact, by ranks of two samples that are not paired.
    pub p: Option<f64>,
    /// Holm over all numbers of the comparison.
    pub p_adjusted: Option<f64>,
    pub way: Way,
    /// Why there is no number, or why the numbers must not be compared.
    pub why: Option<String>,
}

/// One cell's response in one record.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Measured runs.
    pub n: u64,
    pub median: Option<f64>,
    /// Of the median, by order statistics.
    pub interval: Option<Interval>,
}

/// Where a number went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    Better,
    Worse,
    /// The runs do not show that it moved, which is no proof that it did not.
    NotShown,
    NotComparable,
}

impl Way {
    /// The word that people read.
    pub fn word(self) -> &'static str {
        match self {
            Way::Better => "better",
            Way::Worse => "worse",
            Way::NotShown => "no move shown",
            Way::NotComparable => "not comparable",
        }
    }
}

impl Moved {
    pub fn moved(&self) -> bool {
        matches!(self.way, Way::Better | Way::Worse)
    }
}

/// The JSON schema (draft 2020-12) of a comparison.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Comparison).to_value()
}
