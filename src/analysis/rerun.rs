//! Cells that were measured again, judged without and with the blocks that reruns added.

use super::effect::{Point, measure};
use super::findings::{Effect, RerunFinding};
use super::permutation::Laws;
use super::trial::{Arm, Trial};
use super::verdict::{Circumstances, decide};

/// What judging a rerun needs beside the trial.
pub struct Rerun<'a> {
    pub response: usize,
    pub exploratory: bool,
    pub arm: &'a Arm,
    pub point: &'a Point,
    pub first: &'a Effect,
    /// Those under which the first verdict was given, for pilot and gate.
    pub circumstances: &'a Circumstances,
}

/// Judges one cell both ways; None where no rerun was asked of it. Added blocks whose session had
/// another set-up than the planned ones are never pooled with them, and what differs is named.
pub fn judge(trial: &Trial, rerun: &Rerun, planned: &[u32], laws: &mut Laws) -> Option<RerunFinding> {
    // Most trials have no rerun, and a grid may have many cells.
    if planned.len() == trial.blocks.len() {
        return None;
    }
    let cell = &trial.cells[rerun.point.cell];
    let added = trial.rerun_blocks(&cell.id);
    if added.is_empty() {
        return None;
    }
    let mut differences: Vec<String> = vec![];
    let mut poolable = planned.to_vec();
    for block in &added {
        let against = against_pooling(trial, rerun.point, planned, *block);
        if against.is_empty() {
            poolable.push(*block);
        }
        differences.extend(against);
    }
    differences.sort();
    differences.dedup();
    let with_reruns = (poolable.len() > planned.len()).then(|| effect_over(trial, rerun, &poolable, laws));
    Some(RerunFinding {
        cell: cell.id.clone(),
        response: trial.responses[rerun.response].name.clone(),
        first: rerun.first.clone(),
        rerun_alone: effect_over(trial, rerun, &added, laws),
        with_reruns,
        differences,
        // Only a record has reruns, and its blocks are numbered.
        blocks: added.iter().filter_map(|b| trial.blocks[*b as usize].label.parse().ok()).collect(),
    })
}

/// Differences between the sessions of an added block's runs and of the planned runs.
fn against_pooling(trial: &Trial, point: &Point, planned: &[u32], added: u32) -> Vec<String> {
    let cells = [&trial.cells[point.cell], &trial.cells[point.control]];
    let sessions = |block: u32| cells.into_iter().flat_map(move |c| c.in_block(block)).map(|r| r.session);
    let mut before: Vec<u32> = planned.iter().flat_map(|b| sessions(*b)).collect();
    before.sort_unstable();
    before.dedup();
    let mut found = vec![];
    for after in sessions(added) {
        for session in &before {
            found.extend_from_slice(trial.differences(*session, after));
        }
    }
    found
}

fn effect_over(trial: &Trial, rerun: &Rerun, blocks: &[u32], laws: &mut Laws) -> Effect {
    let points = std::slice::from_ref(rerun.point);
    let mut measured = measure(trial, rerun.response, rerun.arm, points, blocks, laws);
    measured.effect.exploratory = rerun.exploratory;
    // The family was judged on the planned blocks; what is added is judged by its own p.
    let circumstances = Circumstances { p: measured.effect.p, family: 1, ..rerun.circumstances.clone() };
    decide(measured, &circumstances)
}
