//! What a run of programs measured: its invocations one by one, and the figures of the run from them.

use super::frame_rates::Values;
use crate::evidence::event::{RoleNote, Sample};
use crate::model::job::JobReport;
use crate::model::metric::{SETUP_TIME, SYSTEM_CALLS};
use crate::model::phase::Phase;
use crate::model::role::{RoleWork, SetupTime};
use crate::model::workload::CommandWork;

/// What one invocation used; where its setup is a part of it, with that. Nanoseconds and bytes.
#[derive(Debug, Clone, Copy)]
struct Used {
    wall_ns: u64,
    user_ns: Option<u64>,
    system_ns: Option<u64>,
    peak_rss_bytes: Option<u64>,
    read_bytes: Option<u64>,
    written_bytes: Option<u64>,
    minor_faults: Option<u64>,
    major_faults: Option<u64>,
    instructions: Option<u64>,
    system_calls: Option<u64>,
}

/// The figures of one pass, and why a metric has none. Of a role that is started more than once they are the
/// medians of its invocations, and the peak is the largest. Of several timed roles a time is that of the
/// slowest, a peak that of the largest, and every other figure is the sum.
pub fn values(work: &CommandWork, notes: &[RoleNote]) -> Values {
    let mut found = Values::default();
    let timed: Vec<&RoleWork> = work.roles.iter().filter(|role| role.timed).collect();
    let roles: Vec<Vec<Used>> =
        timed.iter().map(|role| invocations(role, notes)).filter(|used| !used.is_empty()).collect();
    if roles.is_empty() {
        return found;
    }
    let wall_ns = roles.iter().map(|used| median(used.iter().map(|used| used.wall_ns as f64).collect()));
    let wall_ns = wall_ns.fold(0.0, f64::max);
    if wall_ns > 0.0 {
        found.values.insert("wall_time".to_owned(), wall_ns / 1e9);
    }
    let each = |of: &dyn Fn(&Used) -> Option<u64>| -> Option<Vec<Vec<f64>>> {
        let one = |used: &Vec<Used>| used.iter().map(|used| Some(of(used)? as f64)).collect();
        roles.iter().map(one).collect()
    };
    let sum =
        |of: &dyn Fn(&Used) -> Option<u64>| each(of).map(|roles| roles.into_iter().map(median).sum::<f64>());
    let no_usage = "the host gave no resource usage for this run";
    let seconds = |of: &dyn Fn(&Used) -> Option<u64>| sum(of).map(|ns| ns / 1e9);
    found.put("user_time".into(), seconds(&|used| used.user_ns), no_usage);
    found.put("system_time".into(), seconds(&|used| used.system_ns), no_usage);
    let both = |used: &Used| Some(used.user_ns? + used.system_ns?);
    found.put("cpu_time".into(), seconds(&both), no_usage);
    found.put(
        "peak_rss".into(),
        each(&|used| used.peak_rss_bytes).map(|roles| roles.into_iter().flatten().fold(0.0, f64::max)),
        "not above the launcher's own memory before the program began, so it cannot be told apart",
    );
    let no_io = "the kernel gave no byte counts for this run";
    found.put("bytes_read".into(), sum(&|used| used.read_bytes), no_io);
    found.put("bytes_written".into(), sum(&|used| used.written_bytes), no_io);
    found.put("minor_faults".into(), sum(&|used| used.minor_faults), no_usage);
    found.put("major_faults".into(), sum(&|used| used.major_faults), no_usage);
    let both = |used: &Used| Some(used.minor_faults? + used.major_faults?);
    found.put("page_faults".into(), sum(&both), no_usage);
    let why = |name: &str| {
        let reports = notes.iter().filter(|note| note.phase.is_run()).map(|note| &note.report);
        reports.filter_map(|report| report.figures.absent.get(name)).next().cloned()
    };
    let uncounted = why("instructions").unwrap_or_else(|| "the host does not count them".to_owned());
    found.put("instructions".into(), sum(&|used| used.instructions), &uncounted);
    // Asked for in the proof only; of a timed run there is nothing to say.
    match (sum(&|used| used.system_calls), why(SYSTEM_CALLS)) {
        (None, None) => {}
        (calls, why) => found.put(SYSTEM_CALLS.into(), calls, &why.unwrap_or_default()),
    }
    let setups = timed.iter().filter_map(|role| setup_ns(role, notes));
    if let Some(longest) = setups.max() {
        found.values.insert(SETUP_TIME.to_owned(), longest as f64 / 1e9);
    }
    found.samples = roles.iter().filter(|used| used.len() > 1).flat_map(|used| samples(used)).collect();
    found
}

/// The wall time of every invocation, at the end of it, counted over the invocations alone.
fn samples(used: &[Used]) -> Vec<Sample> {
    let mut at_ns = 0;
    let one = |used: &Used| {
        at_ns += used.wall_ns;
        let (metric, value) = ("wall_time".into(), used.wall_ns as f64 / 1e9);
        Sample { metric, at_ns, value, settling: false, step: None }
    };
    used.iter().map(one).collect()
}

fn setup_ns(role: &RoleWork, notes: &[RoleNote]) -> Option<u64> {
    role.phases.setup.as_ref().filter(|(_, time)| *time == SetupTime::Response)?;
    let setup = notes.iter().find(|note| note.role == role.name && note.phase == Phase::Setup)?;
    Some(setup.report.wall_ns)
}

fn invocations(role: &RoleWork, notes: &[RoleNote]) -> Vec<Used> {
    let each = matches!(role.phases.setup, Some((_, SetupTime::Each)));
    let mut before: Option<&JobReport> = None;
    let mut all = vec![];
    for note in notes.iter().filter(|note| note.role == role.name) {
        match note.phase {
            Phase::Setup if each => before = Some(&note.report),
            Phase::Run => all.push(used(&note.report, before.take())),
            _ => {}
        }
    }
    all
}

fn used(run: &JobReport, setup: Option<&JobReport>) -> Used {
    let own = |report: &JobReport| Used {
        wall_ns: report.wall_ns,
        user_ns: report.user_ns,
        system_ns: report.system_ns,
        peak_rss_bytes: report.peak_rss_bytes,
        read_bytes: report.read_bytes,
        written_bytes: report.written_bytes,
        minor_faults: report.figures.minor_faults,
        major_faults: report.figures.major_faults,
        instructions: report.figures.instructions,
        system_calls: report.figures.system_calls,
    };
    let (run, Some(setup)) = (own(run), setup.map(own)) else { return own(run) };
    let add = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
    Used {
        wall_ns: run.wall_ns + setup.wall_ns,
        user_ns: add(run.user_ns, setup.user_ns),
        system_ns: add(run.system_ns, setup.system_ns),
        peak_rss_bytes: run.peak_rss_bytes.zip(setup.peak_rss_bytes).map(|(a, b)| a.max(b)),
        read_bytes: add(run.read_bytes, setup.read_bytes),
        written_bytes: add(run.written_bytes, setup.written_bytes),
        minor_faults: add(run.minor_faults, setup.minor_faults),
        major_faults: add(run.major_faults, setup.major_faults),
        instructions: add(run.instructions, setup.instructions),
        // Of the program itself; those of a setup are not counted.
        system_calls: run.system_calls,
    }
}

/// The middle value, or the mean of the two in the middle; 0 of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    match (values.get(low), values.get(high)) {
        (Some(low), Some(high)) => (low + high) / 2.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 9.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 9.0, 2.0]), 3.0);
        assert_eq!(median(vec![]), 0.0);
    }
}
