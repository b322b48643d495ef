//! What a record has of every cell that a gate may judge.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::floor::FEWEST;
use super::key::{Key, key, programs};
use crate::evidence::fold::Evidence;
use crate::model::arm::ArmKind;
use crate::model::cell::CellId;
use crate::model::gate::Band;
use crate::model::outcome::{Fate, RunOutcome};
use crate::model::response::Response;

/// A record as the gate sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub record: String,
    pub campaign: String,
    /// When it was begun, RFC 3339.
    pub at: String,
    pub pilot: bool,
    pub cells: Vec<MeasuredCell>,
    /// Cells that were never timed, with the reason.
    pub not_live: BTreeMap<CellId, String>,
    /// Gated responses with their rules.
    pub responses: Vec<(Response, Band)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredCell {
    pub cell: CellId,
    pub kind: ArmKind,
    pub arm: String,
    pub levels: IndexMap<String, String>,
    pub key: Key,
    /// Digests of the products that ran; empty where none can be told.
    pub programs: BTreeSet<String>,
    pub values: BTreeMap<String, Values>,
    /// Last attempts in planned blocks, by outcome.
    pub outcomes: BTreeMap<String, u64>,
}

/// Replicates of one response of one cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Values {
    /// Block and value of every measured run of the plan.
    pub first: Vec<(u32, f64)>,
    /// The first replicates that reruns of this cell added: its second measurement. Later reruns are not
    /// looked at, so nobody can rerun until it passes.
    pub again: Vec<f64>,
}

/// Reads a record.
pub fn measured(evidence: &Evidence) -> Measured {
    let opening = evidence.opening.as_ref();
    let rule = opening.map(|opening| opening.gate.clone()).unwrap_or_default();
    let responses: Vec<(Response, Band)> = opening
        .map(|opening| opening.responses.as_slice())
        .unwrap_or_default()
        .iter()
        .filter_map(|response| Some((response.clone(), rule.of(&response.name)?)))
        .collect();
    let live = evidence.cells.values().filter(|note| note.fate == Fate::Live);
    let cells = live
        .map(|note| MeasuredCell {
            cell: note.cell.clone(),
            kind: note.kind,
            arm: note.arm.clone(),
            levels: note.levels.clone(),
            key: key(evidence, &note.cell),
            programs: programs(evidence, &note.cell),
            values: responses
                .iter()
                .map(|(response, _)| (response.name.clone(), values(evidence, &note.cell, &response.name)))
                .collect(),
            outcomes: outcomes(evidence, &note.cell),
        })
        .collect();
    let other = evidence.cells.values().filter(|note| note.fate != Fate::Live);
    let why = |note: &crate::evidence::event::CellNote| {
        format!("{}: {}", note.fate.name(), note.reason.as_deref().unwrap_or("no reason given"))
    };
    Measured {
        record: opening.map(|opening| opening.record.clone()).unwrap_or_default(),
        campaign: opening.map(|opening| opening.campaign.clone()).unwrap_or_default(),
        at: evidence.opened_at.clone(),
        pilot: opening.is_some_and(|opening| opening.pilot),
        cells,
        not_live: other.map(|note| (note.cell.clone(), why(note))).collect(),
        responses,
    }
}

fn values(evidence: &Evidence, cell: &CellId, response: &str) -> Values {
    let value = |row: &crate::evidence::fold::RunRow| {
        let counts = row.note.run.cell == *cell && row.note.outcome == RunOutcome::Measured;
        counts.then(|| row.note.values.get(response).copied()).flatten().filter(|value| value.is_finite())
    };
    let first = evidence.planned_runs();
    let added =
        |block: u32| evidence.blocks.get(&block).is_some_and(|note| note.rerun_of.as_ref() == Some(cell));
    Values {
        first: first.into_iter().filter_map(|row| Some((row.note.run.block, value(row)?))).collect(),
        again: evidence
            .runs
            .iter()
            .filter(|row| added(row.note.run.block))
            .filter_map(value)
            .take(FEWEST)
            .collect(),
    }
}

fn outcomes(evidence: &Evidence, cell: &CellId) -> BTreeMap<String, u64> {
    let mut outcomes = BTreeMap::new();
    for row in evidence.planned_runs().into_iter().filter(|row| row.note.run.cell == *cell) {
        *outcomes.entry(row.note.outcome.name().to_owned()).or_default() += 1;
    }
    outcomes
}

impl Measured {
    pub fn cell(&self, cell: &CellId) -> Option<&MeasuredCell> {
        self.cells.iter().find(|own| own.cell == *cell)
    }
}

impl Values {
    /// The planned replicates alone.
    pub fn numbers(&self) -> Vec<f64> {
        self.first.iter().map(|(_, value)| *value).collect()
    }
}
