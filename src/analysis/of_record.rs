//! The evidence of a record as the trial that is judged.

use std::collections::{BTreeMap, HashMap};

use super::pairs::said;
use super::setup;
use super::trial::{Arm, Block, Cell, Reading, Run, Trial};
use crate::evidence::event::{CellNote, RunNote};
use crate::evidence::fold::Evidence;
use crate::model::cell::CellId;
use crate::model::outcome::RunOutcome;
use crate::model::response::{Better, Response};

/// The response that a deadline cuts off at the deadline itself.
const TIME: &str = "wall_time";

/// Takes the last attempt of every run, with its readings.
pub fn trial(evidence: &Evidence) -> Trial {
    let opening = evidence.opening.as_ref();
    let responses = opening.map_or(vec![], |o| o.responses.clone());
    let deadline = opening.map(|o| o.timeout_ms as f64 / 1e3).filter(|s| *s > 0.0);
    let mut numbers: Vec<u32> =
        evidence.blocks.keys().copied().chain(evidence.runs.iter().map(|r| r.note.run.block)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut runs: HashMap<&CellId, Vec<Run>> = HashMap::new();
    let mut hosts: HashMap<&CellId, String> = HashMap::new();
    for (at, row) in evidence.runs.iter().enumerate().filter(|(_, row)| !row.superseded) {
        let cell = &row.note.run.cell;
        let block = numbers.partition_point(|n| *n < row.note.run.block) as u32;
        let readings = responses.iter().map(|r| reading(&row.note, r, deadline)).collect();
        hosts.entry(cell).or_insert_with(|| hosts_of(&row.note));
        runs.entry(cell).or_default().push(Run {
            block,
            session: row.session as u32,
            outcome: row.note.outcome,
            reason: row.note.reason.as_deref().map(Into::into),
            group: None,
            order: Some(at as f64),
            readings,
            work: row.note.work,
        });
    }
    // A resume ends runs of earlier blocks later.
    runs.values_mut().for_each(|runs| runs.sort_by_key(|run| run.block));
    Trial {
        deadlines: responses.iter().map(|r| deadline.filter(|_| r.name == TIME)).collect(),
        responses,
        pilot: opening.is_some_and(|o| o.pilot),
        hard_to_change: opening.map_or(vec![], |o| o.hard_to_change.clone()),
        arms: opening
            .map_or(vec![], |o| o.arms.iter().map(|a| Arm { name: a.name.clone(), kind: a.kind }).collect()),
        cells: in_grid_order(evidence)
            .into_iter()
            .map(|note| {
                let hosts = hosts.remove(&note.cell).unwrap_or_default();
                cell(note, deadline, hosts, runs.remove(&note.cell).unwrap_or_default())
            })
            .collect(),
        blocks: numbers.iter().map(|n| block(evidence, *n)).collect(),
        differences: differences(evidence),
    }
}

/// Hosts of a run, by name, in the order of its roles.
fn hosts_of(run: &RunNote) -> String {
    let mut hosts: Vec<&str> = vec![];
    for role in &run.roles {
        if !hosts.contains(&role.host.as_str()) {
            hosts.push(&role.host);
        }
    }
    hosts.join(" and ")
}

fn cell(note: &CellNote, deadline: Option<f64>, hosts: String, runs: Vec<Run>) -> Cell {
    let mut cell = Cell {
        id: note.cell.clone(),
        arm: note.arm.clone(),
        kind: note.kind,
        levels: note.levels.clone(),
        hosts,
        fate: note.fate,
        reason: note.reason.clone(),
        deadlines: deadline.into_iter().collect(),
        runs,
    };
    cell.rank_worst();
    cell
}

fn block(evidence: &Evidence, number: u32) -> Block {
    let rerun_of = evidence.blocks.get(&number).and_then(|b| b.rerun_of.clone());
    let first = evidence.runs.iter().find(|row| row.note.run.block == number);
    let day = first.and_then(|row| row.at.get(.."2026-11-30".len())).map(str::to_owned);
    Block { label: number.to_string(), rerun_of, day }
}

/// The last number that a run gave, the bound that its timeout is, or why there is neither.
fn reading(note: &RunNote, response: &Response, deadline: Option<f64>) -> Reading {
    let observed = note.values.get(&response.name).copied();
    match note.outcome {
        RunOutcome::Measured => match observed {
            Some(value) if value.is_finite() => Reading::Value(value),
            Some(value) => Reading::Absent(format!("{value} is not finite").into()),
            None => {
                let why = note.absent.get(&response.name).map_or("the run did not yield it", |w| w);
                Reading::Absent(why.into())
            }
        },
        RunOutcome::TimedOut => match (response.better, deadline) {
            (Better::Lower, Some(deadline)) if response.name == TIME => Reading::AtLeast(deadline),
            // What had been used by then can only have grown.
            (Better::Lower, _) => {
                Reading::AtLeast(observed.filter(|v| v.is_finite()).unwrap_or(f64::NEG_INFINITY))
            }
            (Better::Higher, _) => Reading::AtMost(f64::INFINITY),
        },
        outcome => Reading::Absent(said(outcome).into()),
    }
}

/// Cells as the campaign declares them. The journal has them in the order they were decided, which
/// puts those turned down first.
fn in_grid_order(evidence: &Evidence) -> Vec<&CellNote> {
    let opening = evidence.opening.as_ref();
    let place = |cell: &&CellNote| {
        let levels = opening.into_iter().flat_map(|o| &o.variables).map(|(name, levels)| {
            let level = cell.levels.get(name);
            level.and_then(|level| levels.iter().position(|l| l == level)).unwrap_or(levels.len())
        });
        let arm = opening.and_then(|o| o.arms.iter().position(|a| a.kind == cell.kind && a.name == cell.arm));
        (levels.collect::<Vec<_>>(), arm.unwrap_or(usize::MAX))
    };
    let mut cells: Vec<&CellNote> = evidence.cells.values().collect();
    cells.sort_by_cached_key(place);
    cells
}

/// All sessions' set-ups compared with each other, once.
fn differences(evidence: &Evidence) -> BTreeMap<(u32, u32), Vec<String>> {
    let mut differences = BTreeMap::new();
    for after in 0..evidence.sessions.len() {
        for before in 0..after {
            let found = setup::differences(evidence, before, after);
            if !found.is_empty() {
                differences.insert((before as u32, after as u32), found);
            }
        }
    }
    differences
}
