//! A record of a ladder: the level of every release, and where it changes.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change_point::{ChangePoint, ChangePoints, Search, step};
use super::{ladder, quantile};
use crate::evidence::fold::Evidence;
use crate::model::outcome::{Fate, RunOutcome};
use crate::model::response::Better;

/// One response at one grid point, along all releases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Climb {
    #[schemars(with = "BTreeMap<String, String>")]
    pub levels: IndexMap<String, String>,
    pub response: String,
    pub unit: String,
    pub rungs: Vec<Rung>,
    pub found: ChangePoints,
    /// On which side of which change the control stands, in words.
    pub control: String,
}

/// What one release reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rung {
    pub release: String,
    /// Median of its replicates.
    pub median: Option<f64>,
    /// The replicates, in order of size.
    pub values: Vec<f64>,
    pub n: u64,
    /// Why it has no value.
    pub reason: Option<String>,
}

/// Reads a record whose arms are `releases`, oldest first; `control` is one of them.
pub fn climbs(evidence: &Evidence, releases: &[String], control: &str) -> Vec<Climb> {
    let Some(opening) = &evidence.opening else { return vec![] };
    let mut points: Vec<&IndexMap<String, String>> = vec![];
    for note in evidence.cells.values() {
        if !points.contains(&&note.levels) {
            points.push(&note.levels);
        }
    }
    let mut climbs = vec![];
    for levels in points {
        for response in &opening.responses {
            let blocks = blocks(evidence, releases, levels, &response.name);
            let rungs = releases.iter().enumerate().map(|(at, release)| {
                let mut values: Vec<f64> = blocks.iter().filter_map(|block| block[at]).collect();
                values.sort_by(f64::total_cmp);
                Rung {
                    release: release.clone(),
                    median: quantile::linear(&values, 0.5),
                    n: values.len() as u64,
                    values: values.clone(),
                    reason: values.is_empty().then(|| why(evidence, release, levels, &response.name)),
                }
            });
            let rungs: Vec<Rung> = rungs.collect();
            let found = ladder::change_points(releases, &blocks, &Search::default());
            climbs.push(Climb {
                levels: levels.clone(),
                response: response.name.clone(),
                unit: response.unit.clone(),
                control: stands(control, releases, &found.changes) + &far(control, &rungs, response.better),
                rungs,
                found,
            });
        }
    }
    climbs
}

/// The largest change of the primary response, over all grid points.
pub fn cliff(climbs: &[Climb]) -> Option<&ChangePoint> {
    let primary = climbs.first().map(|climb| climb.response.as_str())?;
    let changes =
        climbs.iter().filter(|climb| climb.response == primary).flat_map(|climb| &climb.found.changes);
    let size = |change: &ChangePoint| (change.new_level / change.old_level).ln().abs();
    changes.filter(|change| !change.below_smallest_step).max_by(|a, b| size(a).total_cmp(&size(b)))
}

/// Values by block and release, in the order of the blocks.
fn blocks(
    evidence: &Evidence,
    releases: &[String],
    levels: &IndexMap<String, String>,
    response: &str,
) -> Vec<Vec<Option<f64>>> {
    let mut blocks: BTreeMap<u32, Vec<Option<f64>>> = BTreeMap::new();
    for row in evidence.planned_runs() {
        let Some(cell) = evidence.cells.get(&row.note.run.cell).filter(|cell| cell.levels == *levels) else {
            continue;
        };
        let Some(at) = releases.iter().position(|release| *release == cell.arm) else { continue };
        let block = blocks.entry(row.note.run.block).or_insert_with(|| vec![None; releases.len()]);
        if row.note.outcome == RunOutcome::Measured {
            block[at] = row.note.values.get(response).copied();
        }
    }
    blocks.into_values().collect()
}

fn why(evidence: &Evidence, release: &str, levels: &IndexMap<String, String>, response: &str) -> String {
    let cell = evidence.cells.values().find(|cell| cell.arm == release && cell.levels == *levels);
    match cell {
        Some(cell) if cell.fate != Fate::Live => {
            format!("{}: {}", cell.fate.name(), cell.reason.as_deref().unwrap_or("no reason given"))
        }
        Some(cell) => {
            let mut runs = evidence.planned_runs().into_iter().filter(|row| row.note.run.cell == cell.cell);
            let absent = runs.find_map(|row| row.note.absent.get(response).cloned());
            absent.unwrap_or_else(|| "no run of it was measured".to_owned())
        }
        None => "it was not decided".to_owned(),
    }
}

/// How far the control stands from the best release, so that agreeing with it is not taken for being good.
fn far(control: &str, rungs: &[Rung], better: Better) -> String {
    let level = |rung: &Rung| rung.median.filter(|median| *median > 0.0);
    let best = rungs.iter().filter_map(|rung| Some((rung, level(rung)?))).max_by(|a, b| match better {
        Better::Higher => a.1.total_cmp(&b.1),
        Better::Lower => b.1.total_cmp(&a.1),
    });
    let own = rungs.iter().find(|rung| rung.release == control).and_then(level);
    let (Some((best, level)), Some(own)) = (best, own) else { return String::new() };
    if best.release == control {
        return "; it is the best of them".to_owned();
    }
    if better == Better::Lower && own / level >= 10.0 {
        return format!("; it stands at {:.0} times the best of them, {}", own / level, best.release);
    }
    let (share, word) = match better {
        Better::Higher => (1.0 - own / level, "below"),
        Better::Lower => (own / level - 1.0, "above"),
    };
    format!("; it stands {:.1} % {word} the best of them, {}", 100.0 * share, best.release)
}

/// Changes are in the order of the releases, so the control stands after the last that it is not before.
fn stands(control: &str, releases: &[String], changes: &[ChangePoint]) -> String {
    let place = |name: &str| releases.iter().position(|release| release == name);
    let real: Vec<&ChangePoint> = changes.iter().filter(|change| !change.below_smallest_step).collect();
    if real.is_empty() {
        return format!("No change was found that the control {control} could stand on the wrong side of");
    }
    let told = real.iter().map(|change| {
        let side = if place(control) >= place(&change.name) { "at or after" } else { "before" };
        format!("{side} the change from {} to {} ({})", change.after, change.name, step(change.change))
    });
    format!("The control {control} stands {}", told.collect::<Vec<_>>().join(", and "))
}
