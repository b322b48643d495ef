//! Records of real runs on this machine: what they hold, and that nothing in them is lost.

use std::time::{Duration, Instant};

use crate::desk::{COMMANDS, Desk, code, csv_rows, stderr, stdout};
use crate::process::{self, told};

#[test]
fn a_run_leaves_a_whole_record_and_an_answer() {
    let desk = Desk::new(COMMANDS);
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let record = desk.record("reports");
    for file in [
        "campaign.yaml",
        "hosts.yaml",
        "plan.json",
        "journal.jsonl",
        "runs.csv",
        "samples.csv",
        "rejected.csv",
        "findings.json",
        "index.html",
    ] {
        assert!(record.join(file).is_file(), "{file} lacks");
    }
    assert_eq!(std::fs::read_to_string(record.join("campaign.yaml")).unwrap(), COMMANDS);
    let rows = csv_rows(&record.join("runs.csv"));
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|r| r["outcome"] == "measured"), "{rows:?}");
    let page = std::fs::read_to_string(record.join("index.html")).unwrap();
    assert!(page.contains("Does it hold?") && page.contains("/other"));
    assert!(stdout(&output).contains("index.html"), "it prints where the report lies: {}", told(&output));
    let journal = std::fs::read_to_string(record.join("journal.jsonl")).unwrap();
    assert!(journal.contains("env -i") && journal.contains("echo same"), "the exact command, ready to paste");
    assert!(journal.contains("tool_sha256") && journal.contains("boot_id"), "tool digest and host facts");
}

#[test]
fn derived_files_can_be_deleted_and_built_again() {
    let desk = Desk::new(COMMANDS);
    assert_eq!(code(&desk.fieldtrial(&["run", "c.yaml"])), 0);
    let record = desk.record("reports");
    let before = std::fs::read(record.join("runs.csv")).unwrap();
    for file in ["runs.csv", "samples.csv", "counters.csv", "rejected.csv", "findings.json", "index.html"] {
        std::fs::remove_file(record.join(file)).unwrap();
    }
    let output = desk.fieldtrial(&["report", record.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert_eq!(std::fs::read(record.join("runs.csv")).unwrap(), before);
    assert!(record.join("index.html").is_file());
}

#[test]
fn a_timeout_kills_the_whole_tree_and_leaves_a_row() {
    // Case E02: a grandchild keeps the pipe open; another called setsid.
    let desk = Desk::new("");
    let mark = desk.path().join("MARK");
    let slow = format!(
        "echo before; if [ -e {0}/go ]; then (setsid sh -c 'sleep 3; touch {1}' &) ; sleep 4 & sleep 4; fi",
        desk.path().display(),
        mark.display()
    );
    desk.write("slow.sh", &slow);
    desk.write(
        "c.yaml",
        &COMMANDS
            .replace(
                "[sh, -c, 'echo same', '${text}']",
                &format!("[sh, {}/slow.sh, '${{text}}']", desk.path().display()),
            )
            .replace("timeout: 10s", "timeout: 1s")
            .replace("count: 2", "count: 1"),
    );
    // The proof has to succeed, so the program turns slow only after it.
    let mut child = desk.command(&["run", "c.yaml"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    let proven = || {
        let journal = std::fs::read_dir(desk.path().join("reports/c"))
            .ok()
            .and_then(|mut d| d.next())
            .and_then(Result::ok)
            .and_then(|e| std::fs::read_to_string(e.path().join("journal.jsonl")).ok());
        journal.is_some_and(|j| j.contains("\"block\"") || j.contains("accepted"))
    };
    while !proven() && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    desk.write("go", "");
    process::wait(&mut child, Duration::from_secs(60)).expect("it ends by itself");
    let rows = csv_rows(&desk.record("reports").join("runs.csv"));
    let timed_out: Vec<_> = rows.iter().filter(|r| r["outcome"] == "timed_out").collect();
    assert!(!timed_out.is_empty(), "{rows:?}");
    std::thread::sleep(Duration::from_millis(3500));
    assert!(!mark.exists(), "case S03: what was started lives on after its timeout");
}

#[test]
fn a_trial_that_was_killed_is_resumed_and_runs_exactly_the_rest() {
    let campaign = COMMANDS.replace("echo same", "sleep 0.2; echo same").replace("count: 2", "count: 6");
    let desk = Desk::new(&campaign);
    let mut child = desk.command(&["run", "c.yaml"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    let journal = || {
        std::fs::read_dir(desk.path().join("reports/c"))
            .ok()
            .and_then(|mut d| d.next())
            .and_then(Result::ok)
            .and_then(|e| std::fs::read_to_string(e.path().join("journal.jsonl")).ok())
            .unwrap_or_default()
    };
    let began = Instant::now();
    while journal().matches("\"run_ended\"").count() < 4 {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", journal());
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let record = desk.record("reports");
    // Case U02: a torn last line loses only itself.
    let mut file = std::fs::OpenOptions::new().append(true).open(record.join("journal.jsonl")).unwrap();
    std::io::Write::write_all(&mut file, b"{\"v\":1,\"seq\":99,\"at\":\"2026").unwrap();
    drop(file);
    let done = journal().matches("\"run_ended\"").count();

    let output = desk.fieldtrial(&["resume", record.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert!(stderr(&output).contains("torn"), "{}", told(&output));
    let rows = csv_rows(&record.join("runs.csv"));
    assert_eq!(rows.iter().filter(|r| r["outcome"] == "measured").count(), 12);
    assert!(rows.iter().filter(|r| r["outcome"] == "interrupted").count() <= 1, "{rows:?}");
    assert!(done >= 4 && rows.len() <= 13, "only what lacked was run: {done} {}", rows.len());
    assert!(
        std::fs::read_dir(&record)
            .unwrap()
            .flatten()
            .any(|e| e.file_name().to_string_lossy().starts_with("journal.torn"))
    );

    // Case U07: nothing left to do is success, and nothing is run.
    let output = desk.fieldtrial(&["resume", record.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert!(stderr(&output).contains("12 of 12"), "{}", told(&output));
    assert_eq!(csv_rows(&record.join("runs.csv")).len(), rows.len());
}

#[test]
fn a_rerun_cell_is_shown_beside_its_first_attempt() {
    let desk = Desk::new(COMMANDS);
    assert_eq!(code(&desk.fieldtrial(&["run", "c.yaml"])), 0);
    let record = desk.record("reports");
    let before = csv_rows(&record.join("runs.csv"));
    let output = desk.fieldtrial(&["rerun", record.to_str().unwrap(), "--cell", "/other"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let after = csv_rows(&record.join("runs.csv"));
    assert_eq!(after.len(), before.len() + 2, "the cell and its control");
    assert_eq!(&after[..before.len()], &before[..], "the first runs stay as they were");
    let findings: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(record.join("findings.json")).unwrap()).unwrap();
    assert!(findings.to_string().contains("rerun"), "{findings}");
}

#[test]
fn a_full_disk_is_told_and_what_was_measured_is_kept() {
    if let Err(why) = crate::lab::allowed() {
        crate::skip::skip("sandbox", &why);
        return;
    }
    let desk = Desk::new(&COMMANDS.replace("count: 2", "count: 400"));
    let script = format!(
        "mount -t tmpfs tmpfs /run && mkdir small && mount -t tmpfs -o size=400k tmpfs small && \
         {} run c.yaml --reports small; code=$?; cp -r small kept; exit $code",
        env!("CARGO_BIN_EXE_fieldtrial")
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).current_dir(desk.path());
    command.env("XDG_CACHE_HOME", desk.path().join("cache")).env("XDG_RUNTIME_DIR", desk.path());
    let output = process::finish(&mut command, Duration::from_secs(120));
    assert_eq!(code(&output), 13, "{}", told(&output));
    assert!(
        stderr(&output).contains("No space left") && stderr(&output).contains("resume"),
        "{}",
        told(&output)
    );
    let record = desk.record("kept");
    let journal = std::fs::read_to_string(record.join("journal.jsonl")).unwrap();
    assert!(journal.matches("\"run_ended\"").count() > 2 && journal.ends_with('\n'), "whole lines are kept");
    let output = desk.fieldtrial(&["resume", record.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "with room it goes on: {}", told(&output));
}

#[test]
fn a_program_that_prints_its_environment_answers_the_same_in_every_run() {
    let desk = Desk::new(&COMMANDS.replace("[sh, -c, 'echo same', '${text}']", "[env, -u, '${text}']"));
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let rows = csv_rows(&desk.record("reports").join("runs.csv"));
    assert!(rows.len() == 4 && rows.iter().all(|r| r["outcome"] == "measured"), "{rows:?}");
}
