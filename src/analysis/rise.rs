//! Rises of what the work itself costs, told even where nobody asserted anything.

use std::collections::BTreeMap;

use super::order_statistic::median_of_sorted;
use crate::evidence::event::{CellNote, RoleNote};
use crate::evidence::fold::Evidence;
use crate::model::arm::ArmKind;
use crate::model::cell::CellId;
use crate::model::metric::{BYTES, COMMAND, RISES, SYSTEM_CALLS};
use crate::model::outcome::{Fate, RunOutcome};
use crate::model::size;

/// Part of the control's figure from which on a rise is told.
const PART: f64 = 0.1;

/// One sentence for each arm and figure that rose over the control's, at the point where it rose most. A
/// stated threshold decides and not a test, for these figures hardly move by chance.
pub fn rises(evidence: &Evidence) -> Vec<String> {
    let asked = evidence.opening.as_ref().map_or(&[][..], |opening| &opening.responses);
    let live = || evidence.cells.values().filter(|cell| cell.fate == Fate::Live);
    let controls: BTreeMap<Vec<(&String, &String)>, &CellNote> =
        live().filter(|cell| cell.kind == ArmKind::Control).map(|cell| (point(cell), cell)).collect();
    let mut found = vec![];
    for (name, least) in RISES {
        // Where it is a response, its effect is told with an interval.
        if asked.iter().any(|response| response.name == name) {
            continue;
        }
        let figures = figures(evidence, name);
        let mut worst: BTreeMap<&String, (f64, String)> = BTreeMap::new();
        for cell in live().filter(|cell| !matches!(cell.kind, ArmKind::Control | ArmKind::Twin)) {
            let control = controls.get(&point(cell)).and_then(|control| figures.get(&control.cell));
            let (Some(own), Some(control)) = (figures.get(&cell.cell), control) else { continue };
            let rise = own - control;
            if rise < least || rise < control * PART {
                continue;
            }
            let sentence = format!(
                "{}: {name} is {} where the control has {}; a rise is told from {} and {} % on.",
                cell.cell,
                shown(name, *own),
                shown(name, *control),
                shown(name, least),
                PART * 100.0
            );
            let entry = worst.entry(&cell.arm).or_insert((f64::NEG_INFINITY, String::new()));
            if rise > entry.0 {
                *entry = (rise, sentence);
            }
        }
        found.extend(worst.into_values().map(|(_, sentence)| sentence));
    }
    found
}

fn point(cell: &CellNote) -> Vec<(&String, &String)> {
    let mut levels: Vec<_> = cell.levels.iter().collect();
    levels.sort();
    levels
}

/// Each cell's figure: the median of its measured runs, or what its last proof counted.
fn figures<'a>(evidence: &'a Evidence, name: &str) -> BTreeMap<&'a CellId, f64> {
    if name == SYSTEM_CALLS {
        let proofs = evidence.proofs.iter().filter(|proof| proof.accepted);
        let calls = |roles: &[RoleNote]| {
            roles.iter().filter_map(|role| role.report.figures.system_calls).sum::<u64>()
        };
        let found = proofs.map(|proof| (&proof.cell, calls(&proof.roles) as f64));
        return found.filter(|(_, calls)| *calls > 0.0).collect();
    }
    let mut values: BTreeMap<&CellId, Vec<f64>> = BTreeMap::new();
    for row in evidence.planned_runs() {
        if let (RunOutcome::Measured, Some(value)) = (row.note.outcome, row.note.values.get(name)) {
            values.entry(&row.note.run.cell).or_default().push(*value);
        }
    }
    let median = |(cell, mut values): (&'a CellId, Vec<f64>)| {
        values.sort_unstable_by(f64::total_cmp);
        median_of_sorted(&values).map(|median| (cell, median))
    };
    values.into_iter().filter_map(median).collect()
}

fn shown(name: &str, value: f64) -> String {
    let unit = COMMAND.iter().find(|metric| metric.name == name).map_or("", |metric| metric.unit);
    if unit == BYTES { size::shown(value) } else { format!("{value}") }
}
