//! What was measured again: reruns beside their first attempts, and runs repeated after a cut.

use std::collections::BTreeMap;

use serde::Serialize;

use super::number::{Scale, exact};
use super::view::{EffectView, anchor, effect};
use crate::analysis::findings::{Findings, RerunFinding};
use crate::analysis::verdict::ratio;
use crate::evidence::fold::{Evidence, RunRow};
use crate::model::arm::ArmKind;
use crate::model::cell::{CellId, RunKey};
use crate::model::outcome::RunOutcome;

/// A rerun beside its first measurement.
#[derive(Debug, Serialize)]
pub struct RerunView {
    pub cell: String,
    pub control: String,
    pub anchor: String,
    pub response: String,
    pub unit: String,
    pub added_blocks: String,
    /// Every planned block, then those that reruns added.
    pub blocks: Vec<PairView>,
    /// The verdict without and with the added blocks.
    pub verdicts: Vec<(String, EffectView)>,
    pub differences: Vec<String>,
}

/// A cell and its control in one block.
#[derive(Debug, Serialize)]
pub struct PairView {
    pub block: u32,
    pub added: bool,
    pub control: String,
    pub cell: String,
    pub ratio: String,
}

/// A run that was interrupted and repeated in the same block.
#[derive(Debug, Serialize)]
pub struct RepeatView {
    pub cell: String,
    pub anchor: String,
    pub block: u32,
    pub attempt: u32,
    pub session: usize,
    pub before: String,
    pub outcome: String,
    pub response: String,
    pub value: String,
    pub exact: String,
}

/// Reruns of primary responses, in the order of the findings.
pub fn reruns(evidence: &Evidence, findings: &Findings) -> Vec<RerunView> {
    let primary = |r: &&RerunFinding| findings.family.responses.contains(&r.response);
    let runs: BTreeMap<(&CellId, u32), &RunRow> =
        evidence.runs.iter().map(|row| ((&row.note.run.cell, row.note.run.block), row)).collect();
    findings.effects_with_reruns.iter().filter(primary).map(|r| rerun(evidence, &runs, r)).collect()
}

fn rerun(evidence: &Evidence, runs: &BTreeMap<(&CellId, u32), &RunRow>, found: &RerunFinding) -> RerunView {
    let note = evidence.cells.get(&found.cell);
    let control = evidence.cells.values().find(|c| {
        c.kind == ArmKind::Control
            && note.is_some_and(|n| n.levels.iter().all(|(k, v)| c.levels.get(k) == Some(v)))
    });
    let planned = evidence.blocks.keys().filter(|b| evidence.is_planned_block(**b));
    let blocks: Vec<u32> = planned.chain(&found.blocks).copied().collect();
    let value = |cell: Option<&CellId>, block: u32| {
        let row = runs.get(&(cell?, block))?;
        let counts = row.note.outcome == RunOutcome::Measured;
        let value = row.note.values.get(&found.response).copied().filter(|_| counts);
        Some(value.ok_or_else(|| row.note.outcome.name().replace('_', " ")))
    };
    let control_id = control.map(|c| &c.cell);
    let both = |b: &u32| [value(control_id, *b), value(Some(&found.cell), *b)];
    let scale = Scale::of(blocks.iter().flat_map(both).flatten().filter_map(Result::ok), &found.first.unit);
    let pair = |block: &u32| {
        let [control, cell] = both(block);
        let share = match (&control, &cell) {
            (Some(Ok(c)), Some(Ok(v))) if *c != 0.0 => ratio(v / c),
            _ => "–".to_owned(),
        };
        let text = |v: Option<Result<f64, String>>| match v {
            Some(Ok(value)) => scale.text(value),
            Some(Err(outcome)) => outcome,
            None => "not run".to_owned(),
        };
        let added = found.blocks.contains(block);
        PairView { block: *block, added, control: text(control), cell: text(cell), ratio: share }
    };
    let mut verdicts = vec![
        ("first attempts, planned blocks".to_owned(), effect(&found.first)),
        ("rerun alone".to_owned(), effect(&found.rerun_alone)),
    ];
    verdicts.extend(found.with_reruns.as_ref().map(|e| ("both together".to_owned(), effect(e))));
    let numbers: Vec<String> = found.blocks.iter().map(u32::to_string).collect();
    RerunView {
        cell: found.cell.0.clone(),
        control: control_id.map_or("its control".to_owned(), |c| c.0.clone()),
        anchor: anchor(&found.cell),
        response: found.response.clone(),
        unit: scale.heading.clone(),
        added_blocks: format!(
            "{} {}",
            if numbers.len() == 1 { "block" } else { "blocks" },
            numbers.join(", ")
        ),
        blocks: blocks.iter().map(pair).collect(),
        verdicts,
        differences: found.differences.clone(),
    }
}

/// Later attempts in planned blocks, each with what the attempt before it came to.
pub fn repeats(evidence: &Evidence) -> Vec<RepeatView> {
    let responses = evidence.opening.as_ref().map_or(&[][..], |o| &o.responses);
    let primary = responses.iter().find(|r| r.primary).or(responses.first());
    let rows: BTreeMap<&RunKey, &RunRow> = evidence.runs.iter().map(|row| (&row.note.run, row)).collect();
    let repeated = |r: &&RunRow| r.note.run.attempt > 1 && evidence.is_planned_block(r.note.run.block);
    evidence
        .runs
        .iter()
        .filter(repeated)
        .map(|row| {
            let run = &row.note.run;
            let before = rows.get(&RunKey { attempt: run.attempt - 1, ..run.clone() });
            let value = primary.and_then(|r| Some((row.note.values.get(&r.name)?, r)));
            RepeatView {
                cell: run.cell.0.clone(),
                anchor: anchor(&run.cell),
                block: run.block,
                attempt: run.attempt,
                session: row.session + 1,
                before: before.map_or("no record of it".to_owned(), |b| {
                    let why = b.note.reason.as_ref().map_or(String::new(), |r| format!(": {r}"));
                    format!("{}{why}", b.note.outcome.name().replace('_', " "))
                }),
                outcome: row.note.outcome.name().replace('_', " "),
                response: primary.map_or(String::new(), |r| r.name.clone()),
                value: value.map_or("–".to_owned(), |(v, r)| super::number::quantity(*v, &r.unit)),
                exact: value.map_or(String::new(), |(v, _)| exact(*v)),
            }
        })
        .collect()
}
