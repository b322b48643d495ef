//! Phases of a command by real runs on this machine: setup, warmup, invocations, teardown, and the folder that they share.

use fieldtrial::evidence::event::RunNote;
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::model::outcome::{Fate, RunOutcome};
use fieldtrial::model::phase::Phase;
use fieldtrial::record::{Folder, read};

use crate::desk::{Desk, code, csv_rows, stderr};
use crate::process::told;

/// A campaign of one command with these keys, one cell in two blocks.
fn campaign(keys: &str, rest: &str) -> String {
    format!(
        "campaign: c\nquestion: Does it hold?\nhosts: hosts.yaml\npilot: true\ncontrol: {{}}\n\
         workload:\n  command:\n    on: here\n{keys}blocks: {{count: 2, order: forward}}\ntimeout: 20s\n{rest}"
    )
}

fn evidence(desk: &Desk) -> Evidence {
    read(&Folder::open(&desk.record("reports")).expect("a record")).expect("readable").evidence
}

#[track_caller]
fn measured(desk: &Desk) -> Vec<RunNote> {
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let runs: Vec<RunNote> = evidence(desk).runs.into_iter().map(|row| row.note).collect();
    assert!(runs.iter().all(|run| run.outcome == RunOutcome::Measured), "{runs:?}");
    runs
}

#[test]
fn the_phases_of_a_run_share_a_folder_and_the_next_run_has_another() {
    let keys = "    setup: {shell: 'test ! -e made && echo 7 > made'}\n    warmup: {shell: 'test -e made && echo > warm'}\n    \
                shell: 'test -e warm && cat made'\n    teardown: {shell: 'test -e made && rm made'}\n";
    let runs = measured(&Desk::new(&campaign(keys, "")));
    for run in &runs {
        let phases: Vec<Phase> = run.roles.iter().map(|note| note.phase).collect();
        assert_eq!(phases, [Phase::Setup, Phase::Warmup, Phase::Run, Phase::Teardown]);
        assert_eq!(run.roles[2].stdout_head, "7\n");
        assert_eq!(run.values["wall_time"], run.roles[2].report.wall_ns as f64 / 1e9, "the work alone");
    }
}

#[test]
fn a_setup_is_untimed_a_response_or_part_of_each_request() {
    let keys = |time: &str| {
        format!(
            "    setup: {{run: [sleep, '0.5'], as: {time}}}\n    run: [sleep, '0.01']\n    invocations: 2\n"
        )
    };
    let both = "responses: [{name: wall_time}, {name: setup_time}]\n";
    let of = |time: &str, rest: &str| measured(&Desk::new(&campaign(&keys(time), rest))).remove(0).values;
    let untimed = of("untimed", "");
    assert!(untimed["wall_time"] < 0.4 && !untimed.contains_key("setup_time"), "{untimed:?}");
    let response = of("response", both);
    assert!(response["wall_time"] < 0.4 && response["setup_time"] > 0.49, "{response:?}");
    let each = of("each", "");
    assert!(each["wall_time"] > 0.5, "{each:?}");
    let desk = Desk::new(&campaign(&keys("untimed"), both));
    let output = desk.fieldtrial(&["check", "c.yaml"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("write `setup: {run: […], as: response}`"), "{}", told(&output));
}

#[test]
fn every_invocation_of_a_run_is_a_sample_and_the_run_is_their_median() {
    // The second of the three takes long.
    let script = "echo x >> n; test $(wc -l < n) -eq 2 && sleep 0.6; echo same";
    let desk = Desk::new(&campaign(&format!("    shell: '{script}'\n    invocations: 3\n"), ""));
    for run in measured(&desk) {
        let samples: Vec<f64> = run.samples.iter().map(|sample| sample.value).collect();
        assert_eq!(samples.len(), 3, "{run:?}");
        assert!(samples[1] > 0.59 && samples[0] < 0.5 && samples[2] < 0.5, "{samples:?}");
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        assert_eq!(run.values["wall_time"], sorted[1]);
        assert_eq!(run.roles.len(), 1, "one note stands for all of them");
    }
    let samples = csv_rows(&desk.record("reports").join("samples.csv"));
    assert_eq!(samples.len(), 6, "{samples:?}");
}

#[test]
fn an_invocation_that_answers_otherwise_than_the_first_rejects_its_run() {
    let count = tempfile::tempdir().unwrap();
    let starts = count.path().join("starts").display().to_string();
    // Three of the proof, three of the first run; the fifth is wrong.
    let script = format!("echo x >> {starts}; test $(wc -l < {starts}) -eq 5 && echo wrong || echo right");
    let desk = Desk::new(&campaign(&format!("    shell: '{script}'\n    invocations: 3\n"), ""));
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 5, "{}", told(&output));
    let runs = evidence(&desk).runs;
    assert_eq!(runs[0].note.outcome, RunOutcome::Rejected);
    let reason = runs[0].note.reason.clone().unwrap();
    assert!(reason.contains("invocation 2 of run gave another output than the first"), "{reason}");
    assert_eq!(runs[1].note.outcome, RunOutcome::Measured);
}

#[test]
fn teardown_runs_after_failure_too_and_its_own_failure_is_one() {
    let mark = tempfile::tempdir().unwrap();
    let flag = mark.path().join("clean").display().to_string();
    let keys = format!("    run: ['false']\n    teardown: {{shell: 'echo x >> {flag}'}}\n");
    let desk = Desk::new(&campaign(&keys, ""));
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 8, "{}", told(&output));
    assert_eq!(std::fs::read_to_string(&flag).unwrap(), "x\n", "its proof was torn down");
    let keys = "    run: ['true']\n    teardown: {run: ['false']}\n";
    let desk = Desk::new(&campaign(keys, ""));
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 8, "{}", told(&output));
    let cell = &evidence(&desk).cells[0];
    assert_eq!(cell.fate, Fate::Refused);
    assert!(cell.reason.as_ref().unwrap().contains("run on here: teardown: exit status 1"), "{cell:?}");
}

#[test]
fn a_setup_that_another_program_does_in_the_run_than_in_the_proof_rejects_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("make");
    // It puts another program in its own place, so the run has another one than the proof.
    let text =
        "#!/bin/sh\nprintf '#!/bin/sh\\n:\\n' > \"$0.new\" && chmod 755 \"$0.new\" && mv \"$0.new\" \"$0\"\n";
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let keys = format!("    setup: {{run: ['{}']}}\n    run: [echo, same]\n", program.display());
    let desk = Desk::new(&campaign(&keys, ""));
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 8, "{}", told(&output));
    let reason = evidence(&desk).runs[0].note.reason.clone().unwrap();
    assert!(reason.contains("the program changed between proof and run"), "{reason}");
}

#[test]
fn what_setup_cannot_make_is_told_with_its_phase() {
    let desk =
        Desk::new(&campaign("    setup: {shell: 'echo no disk >&2; exit 3'}\n    run: ['true']\n", ""));
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 8, "{}", told(&output));
    let cell = &evidence(&desk).cells[0];
    assert!(cell.reason.as_ref().unwrap().contains("run on here: setup: exit status 3"), "{cell:?}");
    assert!(cell.evidence.iter().any(|line| line.contains("run: setup on here: no disk")), "{cell:?}");
}

#[test]
fn phases_that_make_no_sense_are_refused_by_check() {
    let check = |keys: &str, wanted: &str| {
        let desk = Desk::new(&campaign(keys, ""));
        let output = desk.fieldtrial(&["check", "c.yaml"]);
        assert_eq!(code(&output), 2, "{}", told(&output));
        assert!(stderr(&output).contains(wanted), "`{wanted}`: {}", told(&output));
    };
    check("    run: [a]\n    invocations: 0\n", "`invocations`: expected");
    check("    run: [a]\n    invocations: 2000\n", "`invocations`: expected");
    check("    run: [a]\n    setup: {run: [b], as: free}\n", "`untimed` or `response` or `each`");
    check("    run: [a]\n    setup: [b]\n", "`setup`: expected a mapping");
    check("    run: [a]\n    warmup: {program: [b]}\n", "unknown key `program`");
    check("    run: [a]\n    teardown: {}\n", "`teardown` lacks the key `run`");
}
