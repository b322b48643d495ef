//! Cells that were measured again, judged without and with the blocks that reruns added.

use super::effect::{Point, measure};
use super::findings::{Effect, RerunFinding};
use super::pairs::Pairing;
use super::verdict::{Circumstances, decide};
use crate::evidence::event::ArmNote;
use crate::model::cell::CellId;
use crate::model::response::Response;

/// What judging a rerun needs beside the evidence.
pub struct Rerun<'a> {
    pub response: &'a Response,
    pub exploratory: bool,
    pub arm: &'a ArmNote,
    pub point: &'a Point,
    pub first: &'a Effect,
    /// Those under which the first verdict was given, for pilot and gate.
    pub circumstances: &'a Circumstances,
}

/// Judges one cell both ways; None where no rerun was asked of it. Added blocks whose session had
/// another set-up than the planned ones are never pooled with them, and what differs is named.
pub fn judge(pairing: &Pairing, rerun: &Rerun) -> Option<RerunFinding> {
    let cell = &rerun.point.cell;
    let added = pairing.rerun_blocks(cell);
    if added.is_empty() {
        return None;
    }
    let planned = pairing.planned_blocks();
    let mut differences: Vec<String> = vec![];
    let mut poolable = planned.clone();
    for block in &added {
        let against = against_pooling(pairing, [cell, &rerun.point.control], &planned, *block);
        if against.is_empty() {
            poolable.push(*block);
        }
        differences.extend(against);
    }
    differences.sort();
    differences.dedup();
    let with_reruns = (poolable.len() > planned.len()).then(|| effect_over(pairing, rerun, &poolable));
    Some(RerunFinding {
        cell: cell.clone(),
        response: rerun.response.name.clone(),
        first: rerun.first.clone(),
        rerun_alone: effect_over(pairing, rerun, &added),
        with_reruns,
        differences,
        blocks: added,
    })
}

/// Differences between the sessions of an added block's runs and of the planned runs.
fn against_pooling(pairing: &Pairing, cells: [&CellId; 2], planned: &[u32], added: u32) -> Vec<String> {
    let sessions =
        |block: u32| cells.into_iter().filter_map(move |c| pairing.run(c, block)).map(|r| r.session);
    let mut before: Vec<usize> = planned.iter().flat_map(|b| sessions(*b)).collect();
    before.sort_unstable();
    before.dedup();
    let mut found = vec![];
    for after in sessions(added) {
        for session in &before {
            found.extend_from_slice(pairing.differences(*session, after));
        }
    }
    found
}

fn effect_over(pairing: &Pairing, rerun: &Rerun, blocks: &[u32]) -> Effect {
    let mut measured = measure(pairing, rerun.response, rerun.arm, std::slice::from_ref(rerun.point), blocks);
    measured.effect.exploratory = rerun.exploratory;
    // The family was judged on the planned blocks; what is added is judged by its own p.
    let circumstances = Circumstances { p: measured.effect.p, family: 1, ..rerun.circumstances.clone() };
    decide(measured, &circumstances)
}
