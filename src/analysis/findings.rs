//! The shape of `findings.json`: what judging yields, be it of a record, a table or a hyperfine export.
//!
//! A number that does not exist is `null`, and `absent` of the same object says why under its name.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::annotations::AnnotationFinding;
use super::anova::Anova;
use super::change_point::ChangePoints;
use super::drift::{Drift, Halves};
use super::every_pair::Pair;
use super::first_place::FirstPlace;
use super::noise_floor::{NoiseFloor, Together};
use super::reversal::Reversal;
use super::two_level::TwoLevel;
use super::whole_plot::SplitPlotFinding;
use crate::model::arm::ArmKind;
use crate::model::cell::CellId;
use crate::model::outcome::Fate;
use crate::model::response::Better;
use crate::model::work_counts::WorkCounts;

/// Version of this shape.
pub const VERSION: u32 = 2;

/// The JSON schema (draft 2020-12) of findings.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Findings).to_value()
}

/// Everything that was concluded from one record or from other data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    pub version: u32,
    /// The record; null where the data are of other origin.
    pub record: Option<String>,
    /// Its campaign; null where the data are of other origin.
    pub campaign: Option<String>,
    /// How a table was read; null for a record.
    pub table: Option<TableFinding>,
    /// The campaign called itself a pilot: `inconclusive` is its only verdict.
    pub pilot: bool,
    /// The conducting session came to its own end with every planned run decided.
    pub complete: bool,
    pub method: Method,
    pub family: Family,
    /// Null for data of other origin, in which nothing says what was planned.
    pub sums: Option<SumsFinding>,
    pub cells: Vec<CellSummary>,
    /// One per arm and response, pooled over the grid.
    pub answers: Vec<Effect>,
    /// One per arm, grid point and response, from planned blocks only.
    pub effects: Vec<Effect>,
    /// One per cell that was rerun and response: the same with and without the added blocks.
    pub effects_with_reruns: Vec<RerunFinding>,
    /// Analysis of variance of each response on both scales; empty where nothing varies.
    pub factorials: Vec<FactorialFinding>,
    /// Two-way interactions of each response, on both scales; empty where fewer than two factors vary.
    pub interactions: Vec<InteractionFinding>,
    /// What was set once for a group of runs, judged by the groups, on both scales; empty where nothing was.
    #[serde(default)]
    pub split_plots: Vec<SplitPlotFinding>,
    /// Whether something moved while the runs were made, response by response.
    pub environment: Vec<EnvironmentFinding>,
    /// Where levels change along a ladder or a history, response by response; empty where not asked.
    #[serde(default)]
    pub change_points: Vec<ChangePointFinding>,
    /// What persons declared about runs, in the order they did; the last one about a run holds.
    #[serde(default)]
    pub annotations: Vec<AnnotationFinding>,
    /// Answers and effects on primary responses as if nobody had annotated a run, those that then differ.
    #[serde(default)]
    pub as_run: Vec<Effect>,
    /// What could be wrong with these numbers, in words.
    pub cautions: Vec<String>,
    /// What single runs give ground for, each kind once with its count: host-bound, software stamps…
    #[serde(default)]
    pub run_cautions: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// Where the level of one response changes along a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePointFinding {
    pub response: String,
    /// `history` or `ladder`.
    pub of: String,
    /// Column of the names.
    pub along: String,
    /// Rows that gave no number above 0 and are not in the search.
    pub not_used: u64,
    pub found: ChangePoints,
}

/// What became of the rows of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableFinding {
    pub name: String,
    /// `csv` or `hyperfine`.
    pub format: String,
    pub rows: u64,
    /// Rows with a value or the bound of a timeout for the first response.
    pub used: u64,
    /// The other rows, counted by reason.
    pub not_used: BTreeMap<String, u64>,
    /// Columns that nothing was asked about.
    pub columns_not_used: Vec<String>,
    /// The sum of rows in words.
    pub words: String,
}

/// All levels that vary, crossed with each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorialFinding {
    pub response: String,
    /// `linear` or `log`.
    pub scale: String,
    /// Variables, and `arm` where there are several; its treatments, where they are combined in full.
    pub factors: Vec<String>,
    /// Runs that are not in the model because they have no value; timeouts are among them.
    pub not_used: u64,
    pub anova: Option<Anova>,
    /// Effects high minus low, where every factor has two levels.
    pub two_level: Option<TwoLevel>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// Do the gains of two factors add?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InteractionFinding {
    pub response: String,
    pub pairs: Vec<Pair>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// Whether the environment may be the cause of what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentFinding {
    pub response: String,
    pub drift: Option<Drift>,
    pub first_place: Option<FirstPlace>,
    /// How far two identical controls are apart, where the campaign has an A/A cell.
    #[serde(default)]
    pub noise_floor: Option<NoiseFloor>,
    /// Arm by arm, those that can be compared.
    #[serde(default)]
    pub arms: Vec<ArmEnvironment>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// How an arm and its control moved over blocks, hosts and days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmEnvironment {
    pub arm: String,
    pub together: Together,
    /// The effect in the first half of the blocks against the second.
    pub halves: Option<Halves>,
    /// The effect host by host, where its grid points are of several.
    pub hosts: Option<Reversal>,
    /// The effect day by day, where its blocks are of several.
    pub days: Option<Reversal>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
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
    /// How many of these runs came to their end; null without runs.
    pub completed: Option<Share>,
    /// Units of work of those that were measured; null where none are declared.
    #[serde(default)]
    pub work: Option<WorkCounts>,
    pub responses: Vec<ResponseSummary>,
}

/// A share of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    pub done: u64,
    pub of: u64,
    pub fraction: f64,
    /// Clopper–Pearson: never below its promise.
    pub interval: Option<Interval>,
    /// Wilson: shorter, and right only on average.
    pub wilson: Option<Interval>,
}

/// One response over the runs of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseSummary {
    pub response: String,
    pub unit: String,
    /// Measured runs with a value: one value a run.
    pub n: u64,
    /// Runs that timed out and count as a bound in median, quartiles and percentiles.
    pub timed_out: u64,
    pub median: Option<f64>,
    /// What timeouts leave of the median where it is no number: the ends it lies between.
    pub median_bounds: Option<Bounds>,
    /// Lowest value; of the completed runs where some timed out.
    pub min: Option<f64>,
    /// Highest value; of the completed runs where some timed out.
    pub max: Option<f64>,
    /// Of the median, by order statistics.
    pub interval: Option<Interval>,
    /// Lower quartile, type 7: linear between order statistics.
    pub q1: Option<f64>,
    /// Upper quartile, type 7.
    pub q3: Option<f64>,
    /// Null where runs timed out.
    pub mean: Option<f64>,
    /// Standard deviation with n − 1. Null where runs timed out.
    pub sd: Option<f64>,
    /// Standard deviation divided by the mean.
    pub cv: Option<f64>,
    /// Median of the distances from the median, not scaled.
    pub mad: Option<f64>,
    pub percentiles: Vec<Percentile>,
    /// For times that have a deadline.
    pub time: Option<TimeSummary>,
    /// Set where runs are missing from these numbers.
    pub caution: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// A percentile by two named methods.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    pub percent: u32,
    /// The smallest value that so many per cent do not exceed.
    pub nearest_rank: Option<f64>,
    /// Type 7: linear between order statistics.
    pub linear: Option<f64>,
    /// By order statistics, with at least 95 %.
    pub interval: Option<Interval>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// A time of which some runs did not come to the end before the deadline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSummary {
    pub deadline: f64,
    /// Mean time up to the deadline: a run that timed out counts as the deadline.
    pub restricted_mean: Option<f64>,
    /// Kaplan–Meier; null where more than half of the runs are still running at the deadline.
    pub km_median: Option<f64>,
    /// Mean of the completed runs only, which favours whatever times out more.
    pub mean_of_completed: Option<f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// An interval with the confidence that it really attains. An end is `null` where it is open because
/// of runs that timed out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    #[serde(deserialize_with = "open_below")]
    #[schemars(with = "Option<f64>")]
    pub low: f64,
    #[serde(deserialize_with = "open_above")]
    #[schemars(with = "Option<f64>")]
    pub high: f64,
    /// 0.969 is 96.9 %.
    pub confidence: f64,
}

/// The ends between which a number lies that timeouts leave unknown; `null` is an open end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    #[serde(deserialize_with = "open_below")]
    #[schemars(with = "Option<f64>")]
    pub low: f64,
    #[serde(deserialize_with = "open_above")]
    #[schemars(with = "Option<f64>")]
    pub high: f64,
}

// JSON writes an infinite number as null by itself.
fn open_below<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NEG_INFINITY))
}

fn open_above<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
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
    /// `log`: effects are ratios to the control. `linear`: differences from it.
    pub scale: String,
    /// What was compared: `signed-rank` on block pairs, `rank-sum` where there is no pairing, or
    /// `rank-sum within blocks` where blocks hold several runs of an arm.
    pub test: String,
    /// Grid points in the estimate: 1 for a cell.
    pub points: u64,
    /// Grid points of this arm that have no live pair, with the reason.
    pub points_missing: Vec<String>,
    /// Block pairs in the estimate; without pairing the values of this arm.
    pub n: u64,
    /// Values of the control in the estimate.
    pub control_n: u64,
    /// Runs of this arm that timed out and are in the estimate as a bound.
    pub timed_out: u64,
    /// The same of the control.
    pub control_timed_out: u64,
    /// Value of this arm divided by the control's; null on the linear scale.
    pub ratio: Option<f64>,
    /// Value of this arm minus the control's; null on the logarithmic scale.
    pub difference: Option<f64>,
    /// What timeouts leave of the estimate where it is no number: the ends it lies between.
    pub bounds: Option<Bounds>,
    /// Of the ratio or difference.
    pub interval: Option<Interval>,
    /// Two-sided, unadjusted; exact unless `test` says otherwise.
    pub p: Option<f64>,
    /// Beside the estimate where there is no pairing.
    pub unpaired: Option<Unpaired>,
    /// Holm over the family; only for pooled effects that are in it.
    pub p_adjusted: Option<f64>,
    /// Difference that counts as none: relative on the logarithmic scale, in the unit on the linear one.
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
    /// Units of work of this arm's measured runs; null where none are declared.
    #[serde(default)]
    pub work: Option<WorkCounts>,
    /// The same of the control beside it.
    #[serde(default)]
    pub control_work: Option<WorkCounts>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// Tests of two samples that are not paired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unpaired {
    /// Pairs of values in which this arm's is higher, ties as halves: Mann and Whitney's U.
    pub u: f64,
    /// The same of the control.
    pub control_u: f64,
    /// Share of pairs in which this arm's is higher, ties as halves.
    pub probability_higher: f64,
    /// Over all splits with midranks; null where they are too many to count.
    pub p_exact: Option<f64>,
    /// Normal law with ties and continuity correction.
    pub p_normal: Option<f64>,
    pub welch: Option<WelchFinding>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// Welch's test of two means, on the scale of the effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WelchFinding {
    /// Difference of the means; on the logarithmic scale the ratio of geometric means.
    pub estimate: f64,
    pub interval: Interval,
    pub t: f64,
    pub df: f64,
    pub p: f64,
}

/// A block whose pair does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Its number in a record, its label in a table.
    pub block: String,
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
