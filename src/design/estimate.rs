//! How long a plan will take and how large its record will be, before anything runs.

use super::plan::{Decision, Plan};
use crate::model::workload::{Load, Work, Workload};

/// Counts and estimates of a plan.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Estimate {
    pub cells: u64,
    pub excluded: u64,
    pub undecided: u64,
    /// Runs of all cells that no rule excludes, over all blocks.
    pub runs: u64,
    /// The same where every look asks for more blocks.
    pub runs_at_most: u64,
    /// Seconds without blocks that a look adds, proofs included; None where only the run itself can tell (`command`).
    pub seconds: Option<f64>,
    /// Seconds if every look added blocks and every run and proof needed its whole timeout.
    pub seconds_at_most: f64,
    pub record_bytes: u64,
    /// Shortest warm-up of any cell, in milliseconds; None where there is no such thing.
    pub settle_ms_least: Option<u64>,
}

/// Start, readiness and drain of a packet pass beside its window, as seen on the embedded lab.
const PACKET_OVERHEAD_S: f64 = 0.35;
/// Trials that a search takes as a rule; the bound below counts the most.
const SEARCH_TRIALS: f64 = 12.0;
/// Journal and tables for one run, as seen: a packet run has about two dozen samples.
const PACKET_RUN_BYTES: u64 = 9_000;
const COMMAND_RUN_BYTES: u64 = 4_000;
/// Page, facts and copies of the input files.
const RECORD_BYTES: u64 = 60_000;

pub fn estimate(plan: &Plan) -> Estimate {
    let (mut excluded, mut undecided) = (0, 0);
    if plan.campaign.exclude.is_empty() {
        // Nothing can be excluded, so no cell has to be visited.
    } else {
        for cell in 0..plan.cells() {
            match plan.decision(cell) {
                Decision::Excluded(_) => excluded += 1,
                Decision::Undecided(_) => undecided += 1,
                Decision::Live | Decision::Broken(_) => {}
            }
        }
    }
    let kept = plan.cells() - excluded;
    let runs = kept * u64::from(plan.campaign.blocks.count);
    let runs_at_most = kept * u64::from(plan.campaign.blocks.most());
    // Durations may hang on levels; the first cell stands for all, and the bound below is exact.
    let work = (0..plan.cells().min(1)).find_map(|cell| plan.work(cell).ok());
    let per_run = match &work {
        Some(Work::Packets(w)) => {
            let pass = (w.duration_ms + w.settle_ms) as f64 / 1e3 + PACKET_OVERHEAD_S;
            let steps = match &w.load {
                Load::Steady(_) => 1.0,
                Load::List(steps) => steps.len() as f64,
                Load::Search(search) => SEARCH_TRIALS.min(f64::from(search.most_trials)),
            };
            Some(pass * steps)
        }
        _ => None,
    };
    let settle_ms_least = match &plan.campaign.workload {
        Workload::Packets(declared) => {
            let named = |name: &str| declared.settle.contains(&format!("${{{name}}}"));
            let corners = plan
                .grid
                .corners(&named)
                .flat_map(|point| (0..plan.arms().len()).map(move |arm| plan.index(point, arm)));
            let settle = corners.filter_map(|cell| match plan.work(cell) {
                Ok(Work::Packets(work)) => Some(work.settle_ms),
                _ => None,
            });
            settle.min()
        }
        Workload::Command(_) => None,
    };
    let run_bytes = if per_run.is_some() { PACKET_RUN_BYTES } else { COMMAND_RUN_BYTES };
    Estimate {
        cells: plan.cells(),
        excluded,
        undecided,
        runs,
        runs_at_most,
        seconds: per_run.map(|s| s * runs as f64 + PACKET_OVERHEAD_S * kept as f64),
        seconds_at_most: plan.campaign.timeout_ms as f64 / 1e3 * (runs_at_most + kept) as f64,
        record_bytes: RECORD_BYTES + run_bytes * (runs_at_most + kept),
        settle_ms_least,
    }
}
