//! Numbers that the outputs of programs tell: declared values, and what became of units of work.

use super::command::tells_work;
use super::frame_rates::Values;
use crate::evidence::event::RoleNote;
use crate::model::metric::USEFUL_RATE;
use crate::model::role::RoleWork;
use crate::model::work_counts::WorkCounts;
use crate::model::workload::CommandWork;
use crate::verify::{Output, counts, value};

/// What the outputs of one pass told, beside its figures.
#[derive(Debug, Default)]
pub struct Told {
    pub work: Option<WorkCounts>,
    /// Declared values that are not there, and counts that do not add up.
    pub faults: Vec<String>,
}

/// Adds declared values and the rate of useful work to the figures of a pass. `units` is how many units of
/// work the proof found.
pub fn told(
    work: &CommandWork,
    notes: &[RoleNote],
    outputs: &[Output],
    units: Option<u64>,
    found: &mut Values,
) -> Told {
    let mut told = Told::default();
    for role in &work.roles {
        declared(role, notes, outputs, found, &mut told);
    }
    completed(work, notes, outputs, units, found, &mut told);
    told
}

/// Values that the campaign declares; of several invocations their mean.
fn declared(role: &RoleWork, notes: &[RoleNote], outputs: &[Output], found: &mut Values, told: &mut Told) {
    let own: Vec<&Output> = notes
        .iter()
        .zip(outputs)
        .filter(|(note, _)| note.phase.is_run() && note.role == role.name)
        .map(|(_, output)| output)
        .collect();
    for rule in role.values.iter().filter(|_| !own.is_empty()) {
        let read: Result<Vec<f64>, String> = own.iter().map(|output| value(rule, output)).collect();
        match read {
            Ok(read) => {
                let mean = read.iter().sum::<f64>() / read.len() as f64;
                found.values.insert(rule.name.clone(), mean);
            }
            Err(why) => {
                found.absent.insert(rule.name.clone(), why.clone());
                told.faults.push(why);
            }
        }
    }
}

fn completed(
    work: &CommandWork,
    notes: &[RoleNote],
    outputs: &[Output],
    units: Option<u64>,
    found: &mut Values,
    told: &mut Told,
) {
    let (Some(rule), Some(role), Some(units)) = (&work.work, tells_work(work), units) else { return };
    let own = notes.iter().zip(outputs).find(|(note, _)| note.phase.is_run() && note.role == role.name);
    let Some((_, output)) = own else { return };
    match counts(rule, units, output) {
        Ok(counts) => {
            told.work = Some(counts);
            let rate = found.values.get("wall_time").map(|seconds| counts.success as f64 / seconds);
            found.put(USEFUL_RATE.to_owned(), rate, "the run has no wall_time");
        }
        Err(why) => {
            found.absent.insert(USEFUL_RATE.to_owned(), why.clone());
            told.faults.push(why);
        }
    }
}
