//! A `command` cell as roles, and what its reports prove and measure.

use std::collections::BTreeMap;

use super::pass::Role;
use crate::evidence::event::RoleNote;
use crate::model::job::{JobSpec, Program, Stdin};
use crate::model::proof::Proof;
use crate::model::workload::{CommandWork, OutputRule, ResolvedProgram};

/// Output kept on the host for reading, in bytes; digests cover all of it.
const KEEP: u64 = 64 * 1024;

pub fn roles(work: &CommandWork, timeout_ms: u64) -> Vec<Role> {
    let spec = JobSpec {
        program: match &work.program {
            ResolvedProgram::Argv(argv) => Program::Argv(argv.clone()),
            ResolvedProgram::Shell(text) => Program::Shell(text.clone()),
        },
        env: work.env.clone(),
        cwd: work.cwd.clone(),
        stdin: work.stdin.clone().map_or(Stdin::Empty, Stdin::File),
        inputs: work.inputs.clone(),
        deadline_ms: timeout_ms,
        keep_bytes: KEEP,
        speaks_events: false,
    };
    vec![Role { name: "run", host: work.host.clone(), spec, after: vec![], told_by: vec![] }]
}

/// What the agent saw: the files hashed there, the program that ran, the output it gave.
pub fn proof(work: &CommandWork, notes: &[RoleNote]) -> Proof {
    let mut proof = Proof::default();
    for note in notes {
        let report = &note.report;
        for input in &report.inputs {
            proof.identity.insert(
                format!("input {}", input.path),
                format!("sha256 {}, {} bytes", input.sha256, input.bytes),
            );
        }
        if let Some(program) = &report.program {
            proof.programs.insert(note.command.clone(), program.sha256.clone());
        }
        proof.answer.insert("end".into(), format!("{:?}", report.end));
        match work.compare {
            OutputRule::Exact => {
                proof.answer.insert("output bytes".into(), report.stdout.bytes.to_string());
                proof.answer.insert("output sha256".into(), report.stdout.sha256.clone());
            }
            OutputRule::AnyOrder => {
                proof.answer.insert("output lines".into(), report.stdout.lines.to_string());
                proof.answer.insert("output lines digest".into(), report.stdout.lines_sha256.clone());
            }
            OutputRule::Ignored => {}
        }
    }
    proof
}

/// Metric values of one pass, and why a metric has none.
pub fn values(notes: &[RoleNote]) -> (BTreeMap<String, f64>, BTreeMap<String, String>) {
    let mut values = BTreeMap::new();
    let mut absent = BTreeMap::new();
    let Some(report) = notes.first().map(|n| &n.report) else { return (values, absent) };
    if report.wall_ns > 0 {
        values.insert("wall_time".to_owned(), report.wall_ns as f64 / 1e9);
    }
    let mut put = |name: &str, value: Option<f64>, why: &str| match value {
        Some(value) => drop(values.insert(name.to_owned(), value)),
        None => drop(absent.insert(name.to_owned(), why.to_owned())),
    };
    let ns = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
    let no_usage = "the host gave no resource usage for this run";
    put("user_time", ns(report.user_ns), no_usage);
    put("system_time", ns(report.system_ns), no_usage);
    put("cpu_time", report.user_ns.zip(report.system_ns).map(|(u, s)| (u + s) as f64 / 1e9), no_usage);
    put(
        "peak_rss",
        report.peak_rss_bytes.map(|b| b as f64),
        "not above the launcher's own memory before the program began, so it cannot be told apart",
    );
    let no_io = "the kernel gave no byte counts for this run";
    put("bytes_read", report.read_bytes.map(|b| b as f64), no_io);
    put("bytes_written", report.written_bytes.map(|b| b as f64), no_io);
    (values, absent)
}
