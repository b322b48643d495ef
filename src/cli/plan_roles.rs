//! The roles of a workload in lines for a person: what starts where, after whom, and how it ends.

use crate::model::role::{
    CpusDeclared, Ends, Invocation, PhasesDeclared, ReadyWhenDeclared, RoleDeclared, SetupTime, Source,
    WarmupDeclared, ranks, signal_name,
};
use crate::model::shell::quote;
use crate::model::workload::Workload;

/// One line a role, in the order of their starts; none for a workload of packets.
pub fn lines(workload: &Workload) -> Vec<String> {
    let Workload::Command(declared) = workload else { return vec![] };
    let roles = &declared.roles;
    let after: Vec<&[usize]> = roles.iter().map(|role| role.after.as_slice()).collect();
    let order: Vec<usize> = ranks(&after).unwrap_or_default().into_iter().flatten().collect();
    order.into_iter().map(|at| line(&roles[at], roles)).collect()
}

fn line(role: &RoleDeclared, roles: &[RoleDeclared]) -> String {
    let names =
        |list: &[usize]| list.iter().map(|at| roles[*at].name.as_str()).collect::<Vec<_>>().join(", ");
    let mut parts = vec![];
    if !role.after.is_empty() {
        parts.push(format!("after {}", names(&role.after)));
    }
    if let Some(ready) = &role.ready {
        let when = match &ready.when {
            ReadyWhenDeclared::Event => "ready by its event".to_owned(),
            ReadyWhenDeclared::Port(port) => format!("ready when port {port} is listened on"),
            ReadyWhenDeclared::Line(line) => format!("ready by a line that fits `{line}`"),
        };
        parts.push(format!("{when}, within {}", ready.within));
    }
    match &role.cpus {
        Some(CpusDeclared::Count(count)) => parts.push(format!("on {count} processors")),
        Some(CpusDeclared::List(list)) => parts.push(format!("on processors {}", list.join(","))),
        None => {}
    }
    parts.extend(role.cache.iter().map(|cache| format!("page cache {cache}")));
    if let Some(build) = &role.build {
        parts.push(format!("built by {}", words(&build.program)));
    }
    if let Some(artifact) = &role.artifact {
        let from = if artifact.from == Source::Build { "of the build" } else { "of this workstation" };
        parts.push(format!("artifact {} {from}", artifact.place));
    }
    phases(&role.phases, &mut parts);
    if let Ends::With { roles, signal } = &role.ends {
        parts.push(format!("ended by {} with {}", signal_name(*signal), names(roles)));
    }
    if role.timed && roles.len() > 1 {
        parts.push("timed".into());
    }
    let told = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) };
    format!("role {} on {}{told}: {}", role.name, role.on, words(&role.program))
}

fn phases(phases: &PhasesDeclared, parts: &mut Vec<String>) {
    if let Some((setup, time)) = &phases.setup {
        let time = match time {
            SetupTime::Untimed => "untimed",
            SetupTime::Response => "timed on its own",
            SetupTime::Each => "a part of each invocation",
        };
        parts.push(format!("setup by {}, {time}", words(setup)));
    }
    match &phases.warmup {
        Some(WarmupDeclared::Invocations(count)) => parts.push(format!("warm-up of {count} invocations")),
        Some(WarmupDeclared::Program(warmup)) => parts.push(format!("warm-up by {}", words(warmup))),
        None => {}
    }
    if phases.invocations != "1" {
        parts.push(format!("{} invocations a run, whose median counts", phases.invocations));
    }
    parts.extend(phases.teardown.as_ref().map(|teardown| format!("teardown by {}", words(teardown))));
}

/// What is started, as a person would type it.
fn words(program: &Invocation) -> String {
    let quoted = |words: &[String]| words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    match program {
        Invocation::Argv(words) => quoted(words),
        Invocation::Line(text) => text.clone(),
        Invocation::Tool(words) => format!("fieldtrial tool {}", quoted(words)),
        Invocation::Shell(text) => format!("/bin/sh -c {}", quote(text)),
    }
}
