//! The roles of a cell as jobs.

use super::lab::Lab;
use super::pass::{self, PassEnd};
use super::role::{Ends, Role, Step};
use super::watch::Stop;
use crate::evidence::event::RoleNote;
use crate::model::extract::{Extract, Written};
use crate::model::job::{End, JobSpec, Program, ReadyWhen, Stdin};
use crate::model::phase::Phase;
use crate::model::role::{Ends as Declared, ResolvedProgram, RoleWork, SetupTime, Warmup};
use crate::model::work_rule::Units;
use crate::model::workload::CommandWork;
use crate::verify;

/// Output kept on the host and fetched, in bytes, where nothing reads all of it; digests cover all of it.
const KEEP: u64 = 64 * 1024;

/// What a pass is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Untimed: as much as may be compared is fetched, and system calls are counted.
    Proof,
    Timed,
}

pub fn roles(work: &CommandWork, timeout_ms: u64, purpose: Purpose) -> Vec<Role> {
    work.roles.iter().map(|declared| role(work, declared, timeout_ms, purpose)).collect()
}

/// Is the output of this role compared with the control's?
pub fn is_compared(work: &CommandWork, role: &RoleWork) -> bool {
    work.verify.of.as_ref().map_or(role.timed, |of| of.contains(&role.name))
}

/// The role whose output tells what became of the units of work.
pub fn tells_work(work: &CommandWork) -> Option<&RoleWork> {
    let rule = work.work.as_ref()?;
    work.roles.iter().find(|role| rule.of.as_ref().map_or(role.timed, |of| *of == role.name))
}

fn role(whole: &CommandWork, work: &RoleWork, timeout_ms: u64, purpose: Purpose) -> Role {
    let read = extracts(whole, work);
    let all = purpose == Purpose::Proof
        || !read.is_empty()
        || (is_compared(whole, work) && whole.verify.output.reads());
    let fetch = if all { verify::MOST } else { KEEP };
    let phases = &work.phases;
    // Hashed by the host before each start, also where another program runs it.
    let artifact = work.artifact.as_ref().and_then(|artifact| artifact.on_host.as_ref());
    let tool = matches!(work.program, ResolvedProgram::Tool(_));
    let said = work.ready.as_ref().is_some_and(|ready| ready.when == ReadyWhen::Event);
    let phase = |program: &ResolvedProgram| phase_spec(work, program, timeout_ms);
    let spec = JobSpec {
        stdin: work.stdin.clone().map_or(Stdin::Empty, Stdin::File),
        inputs: work.inputs.iter().chain(artifact).cloned().collect(),
        keep_bytes: fetch,
        files: files(whole, work, &read),
        count_calls: purpose == Purpose::Proof && work.timed,
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
        let ready = spec.ready.clone().filter(|_| phase.is_run());
        each.into_iter().chain([Step { phase, spec: JobSpec { ready, ..spec.clone() } }])
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
        fetch,
        ..Role::new(&work.name, &work.host, spec)
    }
}

/// Every number that is read from the output of a role.
fn extracts<'a>(work: &'a CommandWork, role: &'a RoleWork) -> Vec<&'a Extract> {
    let mut read: Vec<&Extract> = role.values.iter().map(|value| &value.extract).collect();
    let tells = tells_work(work).is_some_and(|telling| telling.name == role.name);
    if let Some(rule) = work.work.as_ref().filter(|_| tells) {
        read.extend(rule.fates().into_iter().filter_map(|(_, extract)| extract));
        if let Units::Counted { by: None, extract } = &rule.units {
            read.push(extract);
        }
    }
    read
}

/// Files that are compared or read.
fn files(work: &CommandWork, role: &RoleWork, read: &[&Extract]) -> Vec<String> {
    let mut files = if is_compared(work, role) { work.verify.files.clone() } else { vec![] };
    for extract in read {
        if let Written::File(path) = &extract.from
            && !files.contains(path)
        {
            files.push(path.clone());
        }
    }
    files
}

/// Runs the program that counts units of work, where the campaign has one, after the setup of its role.
pub fn count_units(
    lab: &mut dyn Lab,
    work: &CommandWork,
    timeout_ms: u64,
    stop: &dyn Fn() -> Stop,
) -> Option<PassEnd> {
    let Units::Counted { by: Some(argv), extract } = &work.work.as_ref()?.units else { return None };
    let told_by = tells_work(work)?;
    let files = match &extract.from {
        Written::File(path) => vec![path.clone()],
        _ => vec![],
    };
    let spec = JobSpec {
        keep_bytes: verify::MOST,
        files,
        ..phase_spec(told_by, &ResolvedProgram::Argv(argv.clone()), timeout_ms)
    };
    // What is counted may be what a setup makes.
    let phase = |program: &ResolvedProgram| phase_spec(told_by, program, timeout_ms);
    let setup = told_by.phases.setup.iter();
    let role = Role {
        prepare: setup.map(|(program, _)| Step { phase: Phase::Setup, spec: phase(program) }).collect(),
        teardown: told_by.phases.teardown.as_ref().map(phase),
        fetch: verify::MOST,
        ..Role::new("count", &told_by.host, spec)
    };
    Some(pass::run(lab, &[role], stop))
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
