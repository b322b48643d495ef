//! The exact command of a job, ready to paste into a shell.

use crate::model::job::{DEFAULT_PATH, JobSpec, Program, Stdin};
use crate::model::shell::quote;

/// A line for a POSIX shell that does what the job did: same arguments, environment and input.
pub fn command_line(spec: &JobSpec) -> String {
    let mut line = String::new();
    if let Some(cwd) = &spec.cwd {
        line.push_str(&format!("cd {} && ", quote(cwd)));
    } else if !matches!(spec.program, Program::Tool(_)) {
        // The job had an empty folder of its own, and what it says may depend on that.
        line.push_str("cd \"$(mktemp -d)\" && ");
    }
    let words: Vec<String> = match &spec.program {
        Program::Argv(argv) => argv.iter().map(|w| quote(w)).collect(),
        Program::Tool(args) => {
            ["fieldtrial".into(), "tool".into()].into_iter().chain(args.iter().map(|w| quote(w))).collect()
        }
        Program::Shell(text) => vec!["/bin/sh".into(), "-c".into(), quote(text)],
    };
    if !matches!(spec.program, Program::Tool(_)) {
        line.push_str("env -i ");
        if !spec.env.contains_key("PATH") {
            line.push_str(&format!("PATH={DEFAULT_PATH} "));
        }
        for (name, value) in &spec.env {
            line.push_str(&format!("{name}={} ", quote(value)));
        }
    }
    line.push_str(&words.join(" "));
    match &spec.stdin {
        Stdin::File(path) => line.push_str(&format!(" < {}", quote(path))),
        Stdin::Empty => line.push_str(" < /dev/null"),
        Stdin::Pipe => {}
    }
    line
}
