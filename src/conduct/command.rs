//! The roles of a cell as jobs, and what their reports prove and measure.

use std::collections::BTreeMap;

use super::role::{Ends, Role};
use crate::evidence::event::RoleNote;
use crate::model::job::{JobReport, JobSpec, Program, ReadyWhen, Stdin};
use crate::model::proof::Proof;
use crate::model::role::{Ends as Declared, ResolvedProgram, RoleWork};
use crate::model::workload::{CommandWork, OutputRule};

/// Output kept on the host for reading, in bytes; digests cover all of it.
const KEEP: u64 = 64 * 1024;

pub fn roles(work: &CommandWork, timeout_ms: u64) -> Vec<Role> {
    work.roles.iter().map(|declared| role(declared, timeout_ms)).collect()
}

fn role(work: &RoleWork, timeout_ms: u64) -> Role {
    let program = match &work.program {
        ResolvedProgram::Argv(argv) => Program::Argv(argv.clone()),
        ResolvedProgram::Shell(text) => Program::Shell(text.clone()),
        ResolvedProgram::Tool(args) => Program::Tool(args.clone()),
    };
    let tool = matches!(program, Program::Tool(_));
    let said = work.ready.as_ref().is_some_and(|ready| ready.when == ReadyWhen::Event);
    let spec = JobSpec {
        env: work.env.clone(),
        cwd: work.cwd.clone(),
        stdin: work.stdin.clone().map_or(Stdin::Empty, Stdin::File),
        inputs: work.inputs.clone(),
        keep_bytes: KEEP,
        speaks_events: tool || said,
        cpus: work.cpus.clone(),
        cache: work.cache,
        ready: work.ready.clone(),
        ..JobSpec::new(program, timeout_ms)
    };
    Role {
        after: work.after.clone(),
        ends: match &work.ends {
            Declared::ByItself => Ends::ByItself,
            Declared::With { roles, signal } => Ends::Signalled { with: roles.clone(), signal: *signal },
        },
        ..Role::new(&work.name, &work.host, spec)
    }
}

/// What the agents saw: the files hashed there, the programs that ran, the output of the timed roles.
pub fn proof(work: &CommandWork, notes: &[RoleNote]) -> Proof {
    let mut proof = Proof::default();
    // Where there is one role, there is no need to say whose a fact is.
    let several = work.roles.len() > 1;
    for note in notes.iter().filter(|note| note.phase.is_run()) {
        let Some(role) = work.roles.iter().find(|role| role.name == note.role) else { continue };
        let key = |what: &str| if several { format!("{what} of {}", role.name) } else { what.to_owned() };
        let report = &note.report;
        for input in &report.inputs {
            proof.identity.insert(
                key(&format!("input {}", input.path)),
                format!("sha256 {}, {} bytes", input.sha256, input.bytes),
            );
        }
        if let Some(program) = &report.program {
            proof.programs.insert(note.command.clone(), program.sha256.clone());
        }
        if role.ends == Declared::ByItself {
            proof.answer.insert(key("end"), format!("{:?}", report.end));
        }
        if !role.timed {
            continue;
        }
        match work.compare {
            OutputRule::Exact => {
                proof.answer.insert(key("output bytes"), report.stdout.bytes.to_string());
                proof.answer.insert(key("output sha256"), report.stdout.sha256.clone());
            }
            OutputRule::AnyOrder => {
                proof.answer.insert(key("output lines"), report.stdout.lines.to_string());
                proof.answer.insert(key("output lines digest"), report.stdout.lines_sha256.clone());
            }
            OutputRule::Ignored => {}
        }
    }
    proof
}

/// Metric values of one pass, and why a metric has none. A time is that of the slowest timed role, a peak
/// that of the largest, and every other figure the sum over the timed roles.
pub fn values(work: &CommandWork, notes: &[RoleNote]) -> (BTreeMap<String, f64>, BTreeMap<String, String>) {
    let mut values = BTreeMap::new();
    let mut absent = BTreeMap::new();
    let timed = work.roles.iter().filter(|role| role.timed);
    let of = |role: &RoleWork| notes.iter().find(|note| note.phase.is_run() && note.role == role.name);
    let reports: Vec<&JobReport> = timed.filter_map(of).map(|note| &note.report).collect();
    if reports.is_empty() {
        return (values, absent);
    }
    let wall_ns = reports.iter().map(|report| report.wall_ns).max().unwrap_or(0);
    if wall_ns > 0 {
        values.insert("wall_time".to_owned(), wall_ns as f64 / 1e9);
    }
    let mut put = |name: &str, value: Option<f64>, why: &str| match value {
        Some(value) => drop(values.insert(name.to_owned(), value)),
        None => drop(absent.insert(name.to_owned(), why.to_owned())),
    };
    let sum = |of: &dyn Fn(&JobReport) -> Option<u64>| {
        reports.iter().map(|report| of(report)).sum::<Option<u64>>().map(|sum| sum as f64)
    };
    let no_usage = "the host gave no resource usage for this run";
    let (user, system) = (sum(&|report| report.user_ns), sum(&|report| report.system_ns));
    put("user_time", user.map(|ns| ns / 1e9), no_usage);
    put("system_time", system.map(|ns| ns / 1e9), no_usage);
    put("cpu_time", user.zip(system).map(|(user, system)| (user + system) / 1e9), no_usage);
    let peaks: Option<Vec<u64>> = reports.iter().map(|report| report.peak_rss_bytes).collect();
    put(
        "peak_rss",
        peaks.and_then(|peaks| peaks.into_iter().max()).map(|bytes| bytes as f64),
        "not above the launcher's own memory before the program began, so it cannot be told apart",
    );
    let no_io = "the kernel gave no byte counts for this run";
    put("bytes_read", sum(&|report| report.read_bytes), no_io);
    put("bytes_written", sum(&|report| report.written_bytes), no_io);
    (values, absent)
}
