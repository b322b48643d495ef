//! Whether the environment moved while a trial ran: drift of the controls, and the first place of a block.

use std::collections::BTreeMap;

use super::drift::{self, ControlRun};
use super::effect::ALPHA;
use super::findings::EnvironmentFinding;
use super::first_place::{self, PlacedRun};
use super::trial::{Reading, Scale, Trial};
use crate::model::arm::ArmKind;

/// Looks at every response, on the logarithmic scale.
pub fn look(trial: &Trial, blocks: &[u32]) -> Vec<EnvironmentFinding> {
    (0..trial.responses.len()).map(|response| one(trial, blocks, response)).collect()
}

fn one(trial: &Trial, blocks: &[u32], response: usize) -> EnvironmentFinding {
    let mut found = EnvironmentFinding {
        response: trial.responses[response].name.clone(),
        drift: None,
        first_place: None,
        absent: BTreeMap::new(),
    };
    match placed(trial, blocks, response) {
        Ok(runs) => {
            let controls: Vec<ControlRun> = runs
                .iter()
                .filter(|(run, _)| trial.cells[run.cell].kind == ArmKind::Control)
                .map(|(run, order)| ControlRun {
                    cell: run.cell,
                    block: run.block,
                    order: *order,
                    value: run.value,
                })
                .collect();
            found.drift = Some(drift::of_controls(&controls));
            let runs: Vec<PlacedRun> = runs.into_iter().map(|(run, _)| run).collect();
            match blocks.len() > 1 {
                true => found.first_place = Some(first_place::penalty(&runs, ALPHA)),
                false => {
                    found.absent.insert("first_place".to_owned(), "there are no blocks".to_owned());
                }
            }
        }
        Err(why) => {
            for name in ["drift", "first_place"] {
                found.absent.insert(name.to_owned(), why.clone());
            }
        }
    }
    found
}

/// Measured runs with their place in their block and their order.
fn placed(trial: &Trial, blocks: &[u32], response: usize) -> Result<Vec<(PlacedRun, f64)>, String> {
    let mut runs = vec![];
    for (at, cell) in trial.cells.iter().enumerate() {
        for run in blocks.iter().flat_map(|b| cell.in_block(*b)) {
            let Reading::Value(value) = run.readings[response] else { continue };
            let order = run.order.ok_or("nothing says in what order the runs were made")?;
            let value =
                Scale::Log.of(value).ok_or_else(|| format!("{value} of {} has no logarithm", cell.id))?;
            runs.push((PlacedRun { cell: at, block: run.block as usize, place: 0, value }, order));
        }
    }
    runs.sort_by(|(a, a_order), (b, b_order)| a.block.cmp(&b.block).then(a_order.total_cmp(b_order)));
    for block in runs.chunk_by_mut(|(a, _), (b, _)| a.block == b.block) {
        for (place, (run, _)) in block.iter_mut().enumerate() {
            run.place = place + 1;
        }
    }
    Ok(runs)
}
