//! Bad input of each kind: a clear error or a named outcome, the right exit code, nothing lost.

use crate::desk::{COMMANDS, Desk, code, csv_rows, stderr, stdout};
use crate::process::told;

#[track_caller]
fn refused(campaign: &str, words: &[&str]) {
    let desk = Desk::new(campaign);
    for verb in ["check", "plan", "run"] {
        let output = desk.fieldtrial(&[verb, "c.yaml"]);
        assert_eq!(code(&output), 2, "{verb}: {}", told(&output));
        let text = stderr(&output);
        for word in words {
            assert!(text.contains(word), "{verb} does not say `{word}`: {}", told(&output));
        }
        assert!(!text.contains("panicked") && !text.contains("Error {"), "{}", told(&output));
    }
    assert!(!desk.path().join("reports").exists(), "nothing was run, so nothing is recorded");
}

#[test]
fn unknown_and_duplicate_keys_are_all_told_at_once_with_place_and_nearest_key() {
    let campaign =
        COMMANDS.replace("timeout: 10s", "time_out: 10s\nquestion: again?").replace("count: 2", "cuont: 2");
    refused(&campaign, &["time_out", "timeout", "cuont", "count", "question", "c.yaml:9:", "c.yaml:10:"]);
}

#[test]
fn a_missing_variable_is_named_with_the_nearest_one() {
    refused(&COMMANDS.replace("${text}", "${txet}"), &["txet", "text", "c.yaml:7:"]);
}

#[test]
fn an_empty_grid_is_no_success() {
    refused(&COMMANDS.replace("control:", "variables: {size: []}\ncontrol:"), &["size"]);
}

#[test]
fn excluding_every_cell_is_no_success() {
    let campaign = COMMANDS
        .replace("control:", "variables: {size: [1, 2]}\ncontrol:")
        .replace("echo same", "echo same ${size}")
        + "exclude: [{when: size > 0, because: none fits}]\n";
    refused(&campaign, &["c.yaml:"]);
}

#[test]
fn a_host_that_the_hosts_file_does_not_have_is_named() {
    refused(&COMMANDS.replace("on: here", "on: there"), &["there", "here"]);
}

#[test]
fn a_hosts_file_that_is_not_there_is_named() {
    refused(&COMMANDS.replace("hosts: hosts.yaml", "hosts: elsewhere.yaml"), &["elsewhere.yaml", "--hosts"]);
}

#[test]
fn a_program_missing_on_a_host_refuses_its_cells_and_the_control_still_runs() {
    let campaign = COMMANDS
        .replace("[sh, -c, 'echo same', '${text}']", "['${text}', same]")
        .replace("text: one", "text: echo")
        .replace("text: two", "text: no-such-program");
    let desk = Desk::new(&campaign);
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 4, "{}", told(&output));
    let record = desk.record("reports");
    let rejected = csv_rows(&record.join("rejected.csv"));
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert!(rejected[0]["reason"].contains("no-such-program"), "{rejected:?}");
    assert_eq!(csv_rows(&record.join("runs.csv")).len(), 2, "the control in two blocks");
}

#[test]
fn an_unwritable_reports_folder_is_told_before_anything_runs() {
    let desk = Desk::new(COMMANDS);
    desk.write("reports", "a file where the folder should be");
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 13, "{}", told(&output));
    assert!(stderr(&output).contains("reports"), "{}", told(&output));
}

#[test]
fn every_arm_failing_is_nothing_measured() {
    let desk = Desk::new(&COMMANDS.replace("echo same", "exit 3"));
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 8, "{}", told(&output));
    let rejected = csv_rows(&desk.record("reports").join("rejected.csv"));
    assert!(rejected[0]["reason"].contains("exit status 3"), "{rejected:?}");
}

#[test]
fn a_campaign_that_is_no_yaml_or_no_file_is_told_so() {
    let desk = Desk::new("campaign: [\n");
    let output = desk.fieldtrial(&["check", "c.yaml"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    let output = desk.fieldtrial(&["run", "missing.yaml"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("missing.yaml"), "{}", told(&output));
}

#[test]
fn a_folder_that_is_no_record_and_a_cell_that_is_none_are_told_so() {
    let desk = Desk::new(COMMANDS);
    for verb in [&["report", "."][..], &["resume", "."], &["rerun", ".", "--cell", "x"]] {
        let output = desk.fieldtrial(verb);
        assert_eq!(code(&output), 2, "{}", told(&output));
        assert!(stderr(&output).contains("no record"), "{}", told(&output));
    }
    assert_eq!(code(&desk.fieldtrial(&["run", "c.yaml"])), 0);
    let record = desk.record("reports");
    // Case U04: a selection that matches nothing is an error, never "0 of 0 passed".
    let output = desk.fieldtrial(&["rerun", record.to_str().unwrap(), "--cell", "/othr"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("/other"), "near ids are listed: {}", told(&output));
    let output = desk.fieldtrial(&["report", "reports/c"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    let newest = format!("the newest is reports/c/{}", record.file_name().unwrap().to_string_lossy());
    assert!(stderr(&output).contains(&newest), "a campaign's folder leads to its records: {}", told(&output));
}

#[test]
fn unknown_arguments_end_with_two_and_help_with_zero() {
    let desk = Desk::new(COMMANDS);
    assert_eq!(code(&desk.fieldtrial(&["run"])), 2);
    assert_eq!(code(&desk.fieldtrial(&["frobnicate"])), 2);
    let help = desk.fieldtrial(&["--help"]);
    assert_eq!(code(&help), 0);
    for verb in ["check", "plan", "run", "resume", "rerun", "report", "init", "hosts", "schema", "tool"] {
        assert!(stdout(&help).contains(verb), "--help does not speak of {verb}");
    }
}

#[test]
fn check_answers_as_json_with_every_complaint() {
    let desk =
        Desk::new(&COMMANDS.replace("timeout: 10s", "time_out: 10s").replace("pilot: true", "pilto: true"));
    let output = desk.fieldtrial(&["check", "c.yaml", "--json"]);
    assert_eq!(code(&output), 2);
    let answer: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON on standard output");
    assert_eq!(answer["ok"], false);
    let lines: Vec<u64> =
        answer["complaints"].as_array().unwrap().iter().filter_map(|c| c["line"].as_u64()).collect();
    assert!(lines.contains(&4) && lines.contains(&9), "{answer}");
}

#[test]
fn rules_over_facts_that_leave_no_cell_are_nothing_measured() {
    let desk =
        Desk::new(&(COMMANDS.to_owned() + "exclude: [{when: hosts.here.cpu_count > 0, because: any}]\n"));
    assert_eq!(code(&desk.fieldtrial(&["check", "c.yaml"])), 0, "files alone cannot tell");
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 8, "0 cells are no success: {}", told(&output));
    let rejected = csv_rows(&desk.record("reports").join("rejected.csv"));
    assert_eq!(rejected.iter().filter(|row| row["fate"] == "excluded").count(), 2, "{rejected:?}");
}

#[test]
fn a_record_whose_campaign_was_edited_is_not_gone_on_with() {
    let desk = Desk::new(COMMANDS);
    assert_eq!(code(&desk.fieldtrial(&["run", "c.yaml"])), 0);
    let record = desk.record("reports");
    let own = record.join("campaign.yaml");
    std::fs::write(&own, COMMANDS.replace("echo same", "true; echo same")).unwrap();
    let output = desk.fieldtrial(&["rerun", record.to_str().unwrap(), "--cell", "/other"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("was changed after"), "{}", told(&output));
    std::fs::write(&own, COMMANDS).unwrap();
    let output = desk.fieldtrial(&["rerun", record.to_str().unwrap(), "--cell", "/other"]);
    assert_eq!(code(&output), 0, "the original goes on: {}", told(&output));
}

#[test]
fn a_program_that_was_replaced_is_not_measured_into_an_old_record() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new("");
    let program = desk.path().join("work.sh");
    let replace = |text: &str| {
        std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let run = format!("run: ['{}', '${{text}}']", program.display());
    desk.write("c.yaml", &COMMANDS.replace("run: [sh, -c, 'echo same', '${text}']", &run));
    replace("echo same");
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let record = desk.record("reports");
    replace("true; echo same");
    let output = desk.fieldtrial(&["rerun", record.to_str().unwrap(), "--cell", "/other"]);
    assert_eq!(code(&output), 8, "{}", told(&output));
    assert!(stderr(&output).contains("another one than in the earlier session"), "{}", told(&output));
    assert_eq!(csv_rows(&record.join("runs.csv")).len(), 4, "nothing was added");
}

#[test]
fn a_hosts_file_given_by_hand_and_an_alias_that_is_an_option_are_told_as_such() {
    let desk = Desk::new(COMMANDS);
    let output = desk.fieldtrial(&["check", "c.yaml", "--hosts", "nope.yaml"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("there is no hosts file nope.yaml"), "{}", told(&output));
    let output = desk.fieldtrial(&["hosts", "discover", "--", "-oProxyCommand=id"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
}

#[test]
fn an_expected_outcome_of_a_cell_that_is_not_there_is_an_error() {
    refused(&(COMMANDS.to_owned() + "expect: {refused: ['*othr']}\n"), &["*othr", "c.yaml:10:", "/other"]);
}

#[test]
fn a_campaign_given_as_hosts_file_is_known_as_what_it_is() {
    let desk = Desk::new(COMMANDS);
    let output = desk.fieldtrial(&["hosts", "check", "c.yaml"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("this is a campaign"), "{}", told(&output));
    assert_eq!(stderr(&output).matches("error:").count(), 1, "one word is enough: {}", told(&output));
}
