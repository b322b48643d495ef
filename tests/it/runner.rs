//! The counting of tests/run: what it calls passed, failed and skipped, and what it refuses.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::process::{finish, told};

const GOOD: &str =
    "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n";

/// Lets a copy of tests/run count what a stand-in for cargo printed and skipped; its last line, and its exit code.
fn count(printed: &str, skips: &str, cargo_status: u8) -> (String, i32) {
    count_with(printed, skips, &format!("exit {cargo_status}"), 60)
}

/// The same with any end of cargo, and a limit in seconds.
fn count_with(printed: &str, skips: &str, end: &str, limit: u32) -> (String, i32) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |path: &str| folder.path().join(path);
    std::fs::create_dir_all(at("tests")).expect("a folder in it");
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run");
    std::fs::copy(original, at("tests/run")).expect("tests/run can be copied");
    let list =
        "need: lacking\nprobe: true\nreason: never here\n\nneed: there\nprobe: false\nreason: always here\n";
    std::fs::write(at("tests/skips.txt"), list).expect("written");
    std::fs::write(at("printed"), printed).expect("written");
    std::fs::write(at("skips"), skips).expect("written");
    let here = folder.path().display();
    // Status 99 stands for tests that do not build.
    let build = format!("case \"$*\" in *--no-run*) [ \"{end}\" != \"exit 99\" ]; exit ;; esac");
    let cargo =
        format!("#!/bin/sh\n{build}\ncat {here}/printed\ncat {here}/skips >>\"$FIELDTRIAL_SKIPS\"\n{end}\n");
    std::fs::write(at("cargo"), cargo).expect("written");
    std::fs::set_permissions(at("cargo"), PermissionsExt::from_mode(0o755)).expect("made executable");
    let path = format!("{here}:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("bash");
    command
        .arg(at("tests/run"))
        .arg("--quick")
        .env("PATH", path)
        .env("FIELDTRIAL_TEST_LIMIT", limit.to_string());
    let output = finish(&mut command, Duration::from_secs(60));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = stdout.lines().last().unwrap_or_default().to_owned();
    (last, output.status.code().unwrap_or_else(|| panic!("{}", told(&output))))
}

#[test]
fn passed_tests_of_all_binaries_are_added_up() {
    assert_eq!(
        count(&format!("{GOOD}noise\n{GOOD}"), "", 0),
        ("10 passed, 0 failed, 0 skipped".to_owned(), 0)
    );
}

#[test]
fn a_skip_counts_as_skipped_and_only_a_true_probe_justifies_it() {
    let skipped = "4 passed, 0 failed, 1 skipped".to_owned();
    assert_eq!(count(GOOD, "a\tlacking\twhy\n", 0), (skipped.clone(), 0));
    assert_eq!(
        count(GOOD, "a\tlacking\twhy\na\tlacking\twhy\n", 0),
        (skipped.clone(), 0),
        "one test, told twice"
    );
    assert_eq!(count(GOOD, "a\tthere\twhy\n", 0), (skipped.clone(), 1), "the probe says it is there");
    assert_eq!(count(GOOD, "a\tunheard of\twhy\n", 0), (skipped, 1), "not in the list");
    let ignored = GOOD.replace("0 ignored", "2 ignored");
    assert_eq!(count(&ignored, "", 0), ("5 passed, 0 failed, 2 skipped".to_owned(), 1));
}

#[test]
fn failures_crashes_and_nothing_at_all_are_never_success() {
    let failed = GOOD.replace("0 failed", "2 failed").replace("ok.", "FAILED.");
    assert_eq!(count(&failed, "", 101), ("5 passed, 2 failed, 0 skipped".to_owned(), 1));
    assert_eq!(count(GOOD, "", 101), ("5 passed, 1 failed, 0 skipped".to_owned(), 1), "a crash");
    assert_eq!(count(GOOD, "", 99), ("0 passed, 1 failed, 0 skipped".to_owned(), 1), "no build");
    assert_eq!(count("", "", 0), ("0 passed, 0 failed, 0 skipped".to_owned(), 1));
}

#[test]
fn a_run_that_hangs_ends_by_its_limit() {
    let began = std::time::Instant::now();
    let (last, code) = count_with(GOOD, "", "sleep 600", 1);
    assert_eq!((last.as_str(), code), ("5 passed, 1 failed, 0 skipped", 1));
    assert!(began.elapsed() < Duration::from_secs(50));
}

#[test]
fn every_listed_need_has_a_probe_and_a_reason() {
    let list = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/skips.txt"))
        .expect("readable");
    let with =
        |field: &str| list.lines().filter(|line| line.len() > field.len() && line.starts_with(field)).count();
    assert!(with("need: ") > 0);
    assert_eq!((with("probe: "), with("reason: ")), (with("need: "), with("need: ")));
}
