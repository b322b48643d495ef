//! The roles of a cell as jobs.

use super::lab::Lab;
use super::pass::{self, PassEnd};
use super::role::{Ends, Role};
use super::watch::Stop;
use crate::model::extract::{Extract, Written};
use crate::model::job::{JobSpec, Program, ReadyWhen, Stdin};
use crate::model::role::{Ends as Declared, ResolvedProgram, RoleWork};
use crate::model::work_rule::Units;
use crate::model::workload::CommandWork;
use crate::verify;

/// Output of a timed run kept on the host and fetched, in bytes, where nothing reads all of it; digests
/// cover all of it.
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
pub fn tells_work<'a>(work: &'a CommandWork) -> Option<&'a RoleWork> {
    let rule = work.work.as_ref()?;
    work.roles.iter().find(|role| rule.of.as_ref().map_or(role.timed, |of| *of == role.name))
}

fn role(work: &CommandWork, declared: &RoleWork, timeout_ms: u64, purpose: Purpose) -> Role {
    let program = match &declared.program {
        ResolvedProgram::Argv(argv) => Program::Argv(argv.clone()),
        ResolvedProgram::Shell(text) => Program::Shell(text.clone()),
        ResolvedProgram::Tool(args) => Program::Tool(args.clone()),
    };
    let tool = matches!(program, Program::Tool(_));
    let said = declared.ready.as_ref().is_some_and(|ready| ready.when == ReadyWhen::Event);
    let read = extracts(work, declared);
    let whole = purpose == Purpose::Proof
        || !read.is_empty()
        || (is_compared(work, declared) && work.verify.output.reads());
    let fetch = if whole { verify::MOST } else { KEEP };
    let spec = JobSpec {
        env: declared.env.clone(),
        cwd: declared.cwd.clone(),
        stdin: declared.stdin.clone().map_or(Stdin::Empty, Stdin::File),
        inputs: declared.inputs.clone(),
        keep_bytes: fetch,
        speaks_events: tool || said,
        cpus: declared.cpus.clone(),
        cache: declared.cache,
        ready: declared.ready.clone(),
        files: files(work, declared, &read),
        count_calls: purpose == Purpose::Proof && declared.timed,
        ..JobSpec::new(program, timeout_ms)
    };
    Role {
        after: declared.after.clone(),
        ends: match &declared.ends {
            Declared::ByItself => Ends::ByItself,
            Declared::With { roles, signal } => Ends::Signalled { with: roles.clone(), signal: *signal },
        },
        fetch,
        ..Role::new(&declared.name, &declared.host, spec)
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

/// Runs the program that counts units of work, where the campaign has one.
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
        env: told_by.env.clone(),
        cwd: told_by.cwd.clone(),
        keep_bytes: verify::MOST,
        files,
        ..JobSpec::new(Program::Argv(argv.clone()), timeout_ms)
    };
    let role = Role { fetch: verify::MOST, ..Role::new("count", &told_by.host, spec) };
    Some(pass::run(lab, &[role], stop))
}
