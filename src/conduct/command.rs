//! The roles of a cell as jobs, and what their reports prove and measure.

use super::role::{Ends, Role, Step};
use crate::evidence::event::RoleNote;
use crate::model::job::{End, JobReport, JobSpec, Program, ReadyWhen, Stdin};
use crate::model::phase::Phase;
use crate::model::proof::Proof;
use crate::model::role::{Ends as Declared, ResolvedProgram, RoleWork, SetupTime, Warmup};
use crate::model::workload::{CommandWork, OutputRule};
use crate::verify::Difference;

/// Output kept on the host for reading, in bytes; digests cover all of it.
const KEEP: u64 = 64 * 1024;

pub fn roles(work: &CommandWork, timeout_ms: u64) -> Vec<Role> {
    work.roles.iter().map(|declared| role(declared, timeout_ms)).collect()
}

fn role(work: &RoleWork, timeout_ms: u64) -> Role {
    let phases = &work.phases;
    // Hashed by the host before each start, also where another program runs it.
    let artifact = work.artifact.as_ref().and_then(|artifact| artifact.on_host.as_ref());
    let tool = matches!(work.program, ResolvedProgram::Tool(_));
    let said = work.ready.as_ref().is_some_and(|ready| ready.when == ReadyWhen::Event);
    let phase = |program: &ResolvedProgram| phase_spec(work, program, timeout_ms);
    let spec = JobSpec {
        stdin: work.stdin.clone().map_or(Stdin::Empty, Stdin::File),
        inputs: work.inputs.iter().chain(artifact).cloned().collect(),
        keep_bytes: KEEP,
        speaks_events: tool || said,
        cpus: work.cpus.clone(),
        cache: work.cache,
        ready: work.ready.clone(),
        ..phase(&work.program)
    };
    let setup = phases.setup.as_ref();
    let invocation = |phase: Phase| {
        let each = setup.filter(|(_, time)| *time == SetupTime::Each);
        let each = each
            .map(|(program, _)| Step { phase: Phase::Setup, spec: phase_spec(work, program, timeout_ms) });
        each.into_iter().chain([Step { phase, spec: spec.clone() }])
    };
    let mut prepare = vec![];
    if let Some((program, SetupTime::Untimed | SetupTime::Response)) = setup {
        prepare.push(Step { phase: Phase::Setup, spec: phase(program) });
    }
    match &phases.warmup {
        Some(Warmup::Invocations(count)) => {
            prepare.extend((0..*count).flat_map(|_| invocation(Phase::Warmup)));
        }
        Some(Warmup::Program(program)) => {
            prepare.push(Step { phase: Phase::Warmup, spec: phase(program) });
        }
        None => {}
    }
    Role {
        prepare,
        window: (0..phases.invocations).flat_map(|_| invocation(Phase::Run)).collect(),
        teardown: phases.teardown.as_ref().map(phase),
        after: work.after.clone(),
        ends: match &work.ends {
            Declared::ByItself => Ends::ByItself,
            Declared::With { roles, signal } => Ends::Signalled { with: roles.clone(), signal: *signal },
        },
        ..Role::new(&work.name, &work.host, spec)
    }
}

/// A program of one of its phases, in the environment, the folder and on the processors of its role.
fn phase_spec(work: &RoleWork, program: &ResolvedProgram, timeout_ms: u64) -> JobSpec {
    JobSpec {
        env: work.env.clone(),
        cwd: work.cwd.clone(),
        cpus: work.cpus.clone(),
        keep_bytes: KEEP,
        ..JobSpec::new(job_program(program), timeout_ms)
    }
}

/// What an agent is to start.
pub(super) fn job_program(program: &ResolvedProgram) -> Program {
    match program {
        ResolvedProgram::Argv(argv) => Program::Argv(argv.clone()),
        ResolvedProgram::Shell(text) => Program::Shell(text.clone()),
        ResolvedProgram::Tool(args) => Program::Tool(args.clone()),
    }
}

/// What the agents saw: the files hashed there, the programs that ran, the output of the timed roles.
pub fn proof(work: &CommandWork, notes: &[RoleNote]) -> Proof {
    let mut proof = Proof::default();
    // Where there is one role, there is no need to say whose a fact is.
    let several = work.roles.len() > 1;
    for role in &work.roles {
        // Further invocations are compared with the first by `odd`.
        let Some(note) = invocations(role, notes).next() else { continue };
        let key = |what: &str| if several { format!("{what} of {}", role.name) } else { what.to_owned() };
        let report = &note.report;
        let artifact = role.artifact.as_ref().and_then(|artifact| artifact.on_host.as_ref());
        for input in &report.inputs {
            if artifact == Some(&input.path) {
                // Programs may differ from arm to arm, where input files may not.
                proof.programs.insert(input.path.clone(), input.sha256.clone());
                continue;
            }
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

/// Notes of the invocations of a role, in order.
fn invocations<'n>(role: &RoleWork, notes: &'n [RoleNote]) -> impl Iterator<Item = &'n RoleNote> {
    notes.iter().filter(move |note| note.phase.is_run() && note.role == role.name)
}

/// The first invocation that gave another output than the first one of its role in the same run.
pub fn odd(work: &CommandWork, notes: &[RoleNote]) -> Option<Difference> {
    let same = |a: &JobReport, b: &JobReport| match work.compare {
        OutputRule::Exact => a.stdout.sha256 == b.stdout.sha256,
        OutputRule::AnyOrder => a.stdout.lines_sha256 == b.stdout.lines_sha256,
        OutputRule::Ignored => true,
    };
    work.roles.iter().filter(|role| role.timed).find_map(|role| {
        let all: Vec<&JobReport> = invocations(role, notes).map(|note| &note.report).collect();
        let first = *all.first()?;
        let (at, other) = (2..).zip(all.iter().skip(1)).find(|(_, report)| !same(first, report))?;
        let shown = |report: &JobReport| {
            format!(
                "{} bytes, {} lines, sha256 {}",
                report.stdout.bytes, report.stdout.lines, report.stdout.sha256
            )
        };
        Some(Difference {
            reason: format!("invocation {at} of {} gave another output than the first", role.name),
            evidence: vec![
                format!("the first: {}", shown(first)),
                format!("invocation {at}: {}", shown(other)),
            ],
        })
    })
}

/// What of many invocations is kept as notes: the first of each phase, and every one that went wrong or
/// left something behind. The others stand in the samples.
pub fn worth_keeping(notes: Vec<RoleNote>) -> Vec<RoleNote> {
    let mut seen: Vec<(String, Phase)> = vec![];
    let keep = |note: &RoleNote| {
        let key = (note.role.clone(), note.phase);
        let first = !seen.contains(&key);
        if first {
            seen.push(key);
        }
        first || note.report.end != End::Exited(0) || note.report.left_behind > 0
    };
    let mut keep = keep;
    notes.into_iter().filter(|note| keep(note)).collect()
}
