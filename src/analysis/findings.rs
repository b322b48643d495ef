//! The shape of `findings.json`: what judging a record yields.
//!
//! A number that does not exist is `null`, and `absent` of the same object says why under its name.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::arm::ArmKind;
use crate::model::cell::CellId;
use crate::model::outcome::Fate;
use crate::model::response::Better;

/// Version of this shape.
pub const VERSION: u32 = 1;

/// Everything that was concluded from one record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    pub version: u32,
    pub record: String,
    pub campaign: String,
    /// The campaign called itself a pilot: `inconclusive` is its only verdict.
    pub pilot: bool,
    /// The conducting session came to its own end with every planned run decided.
    pub complete: bool,
    pub method: Method,
    pub family: Family,
    pub sums: SumsFinding,
    pub cells: Vec<CellSummary>,
    /// One per arm and response, pooled over the grid.
    pub answers: Vec<Effect>,
    /// One per arm, grid point and response, from planned blocks only.
    pub effects: Vec<Effect>,
    /// One per cell that was rerun and response: the same with and without the added blocks.
    pub effects_with_reruns: Vec<RerunFinding>,
    /// What could be wrong with these numbers, in words.
    pub cautions: Vec<String>,
    /// What single runs give ground for, each kind once with its count: host-bound, software stamps…
    #[serde(default)]
    pub run_cautions: Vec<String>,
}

/// How the numbers were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Method {
    pub scale: String,
    pub estimate: String,
    pub test: String,
    pub interval: String,
    pub summary: String,
    /// Assumptions, one sentence each.
    pub rests_on: Vec<String>,
}

/// The comparisons that are judged together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Family {
    /// Primary responses; all others are exploratory.
    pub responses: Vec<String>,
    /// Treatments and combinations with a live pair; anchors are outside.
    pub arms: Vec<String>,
    pub comparisons: u64,
    pub correction: String,
    /// Probability of any false alarm in the family, at most.
    pub alpha: f64,
}

/// The two sums of the glossary, checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SumsFinding {
    pub planned_cells: u64,
    pub excluded: u64,
    pub refused: u64,
    pub live: u64,
    pub cells_hold: bool,
    /// Runs of live cells over the decided blocks, from the blocks' own orders.
    pub runs_due: u64,
    pub by_outcome: BTreeMap<String, u64>,
    pub runs_hold: bool,
    /// Attempts that a resume or rerun added, counted beside.
    pub added_attempts: u64,
    /// Both sums in words and numbers.
    pub words: Vec<String>,
}

/// What one cell's runs showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellSummary {
    #[schemars(with = "String")]
    pub cell: CellId,
    pub arm: String,
    #[schemars(with = "String")]
    pub kind: ArmKind,
    #[schemars(with = "BTreeMap<String, String>")]
    pub levels: IndexMap<String, String>,
    #[schemars(with = "String")]
    pub fate: Fate,
    /// Last attempts in planned blocks, by outcome.
    pub outcomes: BTreeMap<String, u64>,
    pub responses: Vec<ResponseSummary>,
}

/// Order statistics of one response over the measured runs of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseSummary {
    pub response: String,
    pub unit: String,
    /// Measured runs with a value: one value a run.
    pub n: u64,
    pub median: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// Of the median, by order statistics.
    pub interval: Option<Interval>,
    /// Set where runs are missing from these numbers.
    pub caution: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// An interval with the confidence that it really attains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    /// 0.969 is 96.9 %.
    pub confidence: f64,
}

/// The change of one response from the control to one other arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    pub arm: String,
    #[schemars(with = "String")]
    pub kind: ArmKind,
    /// None where the effect is pooled over the grid.
    #[schemars(with = "Option<String>")]
    pub cell: Option<CellId>,
    /// The grid point; empty where pooled or where the grid has no variables.
    #[schemars(with = "BTreeMap<String, String>")]
    pub levels: IndexMap<String, String>,
    pub response: String,
    pub unit: String,
    #[schemars(with = "String")]
    pub better: Better,
    /// Not the primary response: outside the family, its p and verdict are unadjusted.
    pub exploratory: bool,
    /// `log`: effects are ratios to the control.
    pub scale: String,
    /// Grid points in the estimate: 1 for a cell.
    pub points: u64,
    /// Grid points of this arm that have no live pair, with the reason.
    pub points_missing: Vec<String>,
    /// Block pairs in the estimate.
    pub n: u64,
    /// Value of this arm divided by the control's.
    pub ratio: Option<f64>,
    pub interval: Option<Interval>,
    /// Exact, two-sided, unadjusted.
    pub p: Option<f64>,
    /// Holm over the family; only for pooled effects that are in it.
    pub p_adjusted: Option<f64>,
    /// Relative difference that counts as none.
    pub margin: Option<f64>,
    pub verdict: Verdict,
    /// The verdict in a sentence.
    pub sentence: String,
    /// Blocks that are not in the estimate, each with its reason.
    pub left_out: Vec<LeftOut>,
    /// Runs of this arm by outcome, over the blocks looked at.
    pub outcomes: BTreeMap<String, u64>,
    /// The same of the control beside it.
    pub control_outcomes: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// A block whose pair does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    pub block: u32,
    pub reason: String,
}

/// In this precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    NotComparable,
    /// The whole interval lies within the margin.
    Equivalent,
    Better,
    Worse,
    Inconclusive,
}

impl Verdict {
    /// The word that people read.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::NotComparable => "not comparable",
            Verdict::Equivalent => "equivalent",
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// A cell that was measured again, judged both ways.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RerunFinding {
    #[schemars(with = "String")]
    pub cell: CellId,
    pub response: String,
    /// Blocks that reruns added for this cell.
    pub blocks: Vec<u32>,
    /// Verdict of the planned blocks alone.
    pub first: Effect,
    /// The added blocks alone.
    pub rerun_alone: Effect,
    /// Planned and added blocks together; null where they must not be pooled.
    pub with_reruns: Option<Effect>,
    /// Facts that differ between the sessions, `name: before → after`; the reason not to pool.
    pub differences: Vec<String>,
}
