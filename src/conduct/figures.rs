//! The numbers that reports and outputs of programs yield.

use std::collections::BTreeMap;

use super::command::tells_work;
use crate::evidence::event::RoleNote;
use crate::model::job::JobReport;
use crate::model::metric::{SYSTEM_CALLS, USEFUL_RATE};
use crate::model::role::RoleWork;
use crate::model::work_counts::WorkCounts;
use crate::model::workload::CommandWork;
use crate::verify::{Output, counts, value};

/// Numbers of one pass, and why one is missing.
#[derive(Debug, Default)]
pub struct Numbers {
    pub values: BTreeMap<String, f64>,
    pub absent: BTreeMap<String, String>,
    pub work: Option<WorkCounts>,
    /// Declared values that the output does not hold, and counts that do not add up.
    pub faults: Vec<String>,
}

/// A time is that of the slowest timed role, a peak that of the largest, and every other figure the sum over
/// the timed roles. `units` is how many units of work the proof found.
pub fn numbers(work: &CommandWork, notes: &[RoleNote], outputs: &[Output], units: Option<u64>) -> Numbers {
    let mut found = Numbers::default();
    measured(work, notes, &mut found);
    for role in &work.roles {
        declared(role, notes, outputs, &mut found);
    }
    completed(work, notes, outputs, units, &mut found);
    found
}

fn measured(work: &CommandWork, notes: &[RoleNote], found: &mut Numbers) {
    let timed = work.roles.iter().filter(|role| role.timed);
    let of = |role: &RoleWork| notes.iter().find(|note| note.phase.is_run() && note.role == role.name);
    let reports: Vec<&JobReport> = timed.filter_map(of).map(|note| &note.report).collect();
    if reports.is_empty() {
        return;
    }
    let wall_ns = reports.iter().map(|report| report.wall_ns).max().unwrap_or(0);
    if wall_ns > 0 {
        found.values.insert("wall_time".to_owned(), wall_ns as f64 / 1e9);
    }
    let sum = |of: &dyn Fn(&JobReport) -> Option<u64>| {
        reports.iter().map(|report| of(report)).sum::<Option<u64>>().map(|sum| sum as f64)
    };
    let no_usage = "the host gave no resource usage for this run";
    let (user, system) = (sum(&|report| report.user_ns), sum(&|report| report.system_ns));
    found.put("user_time", user.map(|ns| ns / 1e9), no_usage);
    found.put("system_time", system.map(|ns| ns / 1e9), no_usage);
    found.put("cpu_time", user.zip(system).map(|(user, system)| (user + system) / 1e9), no_usage);
    let peaks: Option<Vec<u64>> = reports.iter().map(|report| report.peak_rss_bytes).collect();
    found.put(
        "peak_rss",
        peaks.and_then(|peaks| peaks.into_iter().max()).map(|bytes| bytes as f64),
        "not above the launcher's own memory before the program began, so it cannot be told apart",
    );
    let no_io = "the kernel gave no byte counts for this run";
    found.put("bytes_read", sum(&|report| report.read_bytes), no_io);
    found.put("bytes_written", sum(&|report| report.written_bytes), no_io);
    let minor = sum(&|report| report.figures.minor_faults);
    let major = sum(&|report| report.figures.major_faults);
    found.put("minor_faults", minor, no_usage);
    found.put("major_faults", major, no_usage);
    found.put("page_faults", minor.zip(major).map(|(minor, major)| minor + major), no_usage);
    let why = |name: &str| reports.iter().find_map(|report| report.figures.absent.get(name)).cloned();
    let instructions = sum(&|report| report.figures.instructions);
    let why_not = why("instructions").unwrap_or_else(|| "the host does not count them".to_owned());
    found.put("instructions", instructions, &why_not);
    // Asked for in the proof only; elsewhere there is nothing to say of them.
    let calls = sum(&|report| report.figures.system_calls);
    match (calls, why(SYSTEM_CALLS)) {
        (Some(calls), _) => drop(found.values.insert(SYSTEM_CALLS.to_owned(), calls)),
        (None, Some(why)) => drop(found.absent.insert(SYSTEM_CALLS.to_owned(), why)),
        (None, None) => {}
    }
}

/// Values that the campaign declares; of several invocations their mean.
fn declared(role: &RoleWork, notes: &[RoleNote], outputs: &[Output], found: &mut Numbers) {
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
                found.faults.push(why);
            }
        }
    }
}

fn completed(
    work: &CommandWork,
    notes: &[RoleNote],
    outputs: &[Output],
    units: Option<u64>,
    found: &mut Numbers,
) {
    let (Some(rule), Some(role), Some(units)) = (&work.work, tells_work(work), units) else { return };
    let own = notes.iter().zip(outputs).find(|(note, _)| note.phase.is_run() && note.role == role.name);
    let Some((_, output)) = own else { return };
    match counts(rule, units, output) {
        Ok(counts) => {
            found.work = Some(counts);
            let rate = found.values.get("wall_time").map(|seconds| counts.success as f64 / seconds);
            found.put(USEFUL_RATE, rate, "the run has no wall_time");
        }
        Err(why) => {
            found.absent.insert(USEFUL_RATE.to_owned(), why.clone());
            found.faults.push(why);
        }
    }
}

impl Numbers {
    fn put(&mut self, name: &str, value: Option<f64>, why: &str) {
        match value {
            Some(value) => drop(self.values.insert(name.to_owned(), value)),
            None => drop(self.absent.insert(name.to_owned(), why.to_owned())),
        }
    }
}
