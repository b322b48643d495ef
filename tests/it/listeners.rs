//! What a command does when nobody listens to it any more.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::desk::{COMMANDS, Desk, code, csv_rows, stderr};
use crate::process::{self, told};

/// Standard output, and standard error where asked for, are pipes that nobody reads.
fn unheard(command: &mut Command, errors_too: bool) -> i32 {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    if errors_too {
        command.stderr(writer.try_clone().expect("a second end"));
    }
    let mut child = command.stdout(writer).stdin(Stdio::null()).spawn().expect("the program starts");
    let status = process::wait(&mut child, Duration::from_secs(60));
    if status.is_none() {
        let _ = child.kill();
    }
    status.and_then(|status| status.code()).expect("it ends by itself")
}

#[test]
fn a_reader_who_leaves_early_changes_no_exit_code() {
    let desk = Desk::new(COMMANDS);
    let verbs = [
        &["check", "c.yaml"][..],
        &["check", "c.yaml", "--json"],
        &["plan", "c.yaml"],
        &["hosts", "check", "hosts.yaml"],
        &["schema", "campaign"],
        &["completions", "bash"],
        &["init", "new"],
        &["--help"],
    ];
    for verb in verbs {
        assert_eq!(unheard(&mut desk.command(verb), true), 0, "{verb:?}");
    }
    assert_eq!(unheard(&mut desk.command(&["check", "missing.yaml"]), true), 2);
}

#[test]
fn a_trial_goes_on_when_nobody_watches_it() {
    let desk = Desk::new(COMMANDS);
    assert_eq!(unheard(&mut desk.command(&["run", "c.yaml"]), true), 0);
    let runs = csv_rows(&desk.record("reports").join("runs.csv"));
    assert_eq!(runs.iter().filter(|run| run["outcome"] == "measured").count(), 4, "{runs:?}");
}

#[test]
fn an_answer_that_finds_no_room_is_told() {
    let desk = Desk::new(COMMANDS);
    for verb in [&["check", "c.yaml"][..], &["schema", "hosts"], &["plan", "c.yaml"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
        let mut command = desk.command(verb);
        let output = command.stdout(full).stderr(Stdio::piped()).output().expect("the program runs");
        assert_eq!(code(&output), 13, "{verb:?}: {}", told(&output));
        assert!(stderr(&output).contains("standard output"), "{}", told(&output));
    }
}
