//! `versus` by real runs: command lines in, a proof, a verdict and a campaign to keep out.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::desk::{COMMANDS, Desk, code, csv_rows, stderr, stdout};
use crate::lab::{Lab, TEST_INTERFACE};
use crate::over_ssh;
use crate::process::told;

fn versus(desk: &Desk, args: &[&str]) -> Output {
    desk.fieldtrial(&[&["versus"], args].concat())
}

fn findings(record: &Path) -> Value {
    let text = std::fs::read(record.join("findings.json")).expect("findings");
    serde_json::from_slice(&text).expect("JSON")
}

/// A desk with a text and two ways to read it, of which the second reads it many times.
fn desk() -> Desk {
    let desk = Desk::new(COMMANDS);
    desk.write("text", &"a line of some length\n".repeat(20_000));
    desk.write("once.sh", "cat text >/dev/null; echo done\n");
    desk.write(
        "often.sh",
        "for i in 1 2 3 4 5 6 7 8 9 10; do cat text text text >/dev/null; done; echo done\n",
    );
    desk
}

const PAIR: [&str; 2] = ["sh once.sh", "sh often.sh"];

fn with<'a>(commands: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [commands, more].concat()
}

#[test]
fn two_commands_give_a_proof_a_verdict_a_record_and_a_campaign_that_runs_again() {
    let desk = desk();
    let output = versus(&desk, &with(&PAIR, &["--blocks", "6"]));
    assert_eq!(code(&output), 0, "{}", told(&output));
    let said = stdout(&output);
    // Thirty times the reading and ten processes more leave no doubt on any machine.
    assert!(said.contains("often.sh is worse than the control: wall_time is"), "{said}");
    let row = said.lines().find(|line| line.contains("/sh-often.sh")).expect(&said);
    assert!(said.contains("peak_rss") && said.contains("bytes_read"), "{said}");
    let ratios =
        row.split('×').skip(1).filter_map(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    assert!(ratios.into_iter().any(|ratio| (28.0..31.0).contains(&ratio)), "thirty times the reading: {row}");
    let record = desk.record("reports");
    assert!(
        record.starts_with(desk.path().join("reports/sh-once.sh-vs-sh-often.sh")),
        "{}",
        record.display()
    );
    assert!(record.join("index.html").is_file());
    let runs = csv_rows(&record.join("runs.csv"));
    assert_eq!(runs.len(), 12);
    let order = |block: &str| -> Vec<String> {
        runs.iter().filter(|run| run["block"] == block).map(|run| run["cell"].clone()).collect()
    };
    let mut mirror = order("2");
    mirror.reverse();
    assert_eq!(order("1"), mirror, "the second block of a pair runs backwards");

    let kept = record.join("campaign.yaml");
    assert!(said.contains("kept") && said.contains("campaign.yaml"), "{said}");
    let copy = desk.path().join("mine.yaml");
    let text =
        std::fs::read_to_string(&kept).expect("the campaign").replace("count: 6", "count: 2\npilot: true\n#");
    std::fs::write(&copy, text.replace("order: mirrored, seed: 1}", "").replace("{count", "\n  count"))
        .unwrap();
    let output = desk.fieldtrial(&["check", "mine.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let output = desk.fieldtrial(&["run", "mine.yaml", "--reports", "again"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let cells = |record: &Path| -> Vec<(String, String)> {
        let rows = csv_rows(&record.join("runs.csv"));
        let mut cells: Vec<_> = rows.iter().map(|r| (r["cell"].clone(), r["outcome"].clone())).collect();
        cells.sort();
        cells.dedup();
        cells
    };
    assert_eq!(cells(&desk.record("again")), cells(&record));
}

#[test]
fn commands_that_print_something_else_are_refused_with_the_difference() {
    let desk = desk();
    let output = versus(&desk, &["head -c 100 text", "head -c 99 text", "--blocks", "6"]);
    assert_eq!(code(&output), 4, "{}", told(&output));
    let record = desk.record("reports");
    let rejected = csv_rows(&record.join("rejected.csv"));
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert!(rejected[0]["reason"].contains("another answer than the control"), "{rejected:?}");
    let page = std::fs::read_to_string(record.join("index.html")).expect("the page");
    assert!(page.contains("the control has 100, this has 99"), "the page shows both sides");
    let runs = csv_rows(&record.join("runs.csv"));
    assert!(runs.iter().all(|run| run["cell"] == "/head-100"), "what differs is never timed: {runs:?}");
    assert!(!findings(&record)["cautions"].to_string().contains("Outputs may differ"));
}

#[test]
fn that_outputs_may_differ_stands_in_the_report_and_in_the_campaign() {
    let desk = desk();
    let output =
        versus(&desk, &["head -c 100 text", "head -c 99 text", "--blocks", "6", "--outputs-may-differ"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let record = desk.record("reports");
    let cautions = findings(&record)["cautions"].to_string();
    assert!(cautions.contains("Outputs may differ"), "{cautions}");
    let page = std::fs::read_to_string(record.join("index.html")).expect("the page");
    assert!(page.contains("Outputs may differ"));
    let kept = std::fs::read_to_string(record.join("campaign.yaml")).expect("the campaign");
    assert!(kept.contains("verify: {output: ignored}"), "{kept}");
}

#[test]
fn lines_in_another_order_are_equal_only_where_that_was_asked_for() {
    let desk = desk();
    let commands = ["seq 1 50", "seq 50 -1 1", "--pilot", "--blocks", "2"];
    assert_eq!(code(&versus(&desk, &commands)), 4);
    let output = versus(&desk, &with(&commands, &["--any-order"]));
    assert_eq!(code(&output), 0, "{}", told(&output));
}

#[test]
fn a_shell_starts_all_commands_or_none_and_that_is_said() {
    let desk = desk();
    let print = |args: &[&str]| {
        let output = versus(&desk, &with(&["--print"], args));
        assert_eq!(code(&output), 0, "{}", told(&output));
        (stdout(&output), stderr(&output))
    };
    let (plain, said) = print(&["wc -l text", "grep -c '' text"]);
    assert!(plain.contains("run: \"${command}\"") && !said.contains("/bin/sh"), "{plain}\n{said}");
    let (shell, said) = print(&["wc -l text", "cat text | wc -l"]);
    assert!(shell.contains("shell: \"${command}\""), "{shell}");
    assert!(said.contains("all commands go through /bin/sh, since `|` in command 2 needs it"), "{said}");
    assert!(print(&["wc -l text", "grep -c '' text", "--shell"]).0.contains("shell: \"${command}\""));
    let output = versus(&desk, &["cat text | wc -l", "wc -l < text", "--pilot", "--blocks", "2"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let journal = std::fs::read_to_string(desk.record("reports").join("journal.jsonl")).expect("the journal");
    assert!(journal.contains("/bin/sh -c 'wc -l < text'"), "the record says so");
}

#[test]
fn the_printed_campaign_is_the_one_that_would_have_run() {
    let desk = desk();
    let output = versus(
        &desk,
        &with(
            &PAIR,
            &["--print", "--arms", "one,two", "--name", "reading", "--question", "Is it worse?", "--aa"],
        ),
    );
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert!(!desk.path().join("reports").exists(), "nothing was run");
    desk.write("kept.yaml", &stdout(&output));
    let output = desk.fieldtrial(&["plan", "kept.yaml", "--json"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let plan = stdout(&output);
    for cell in ["/one", "/two", "/one-again"] {
        assert!(plan.contains(&format!("\"{cell}\"")), "{cell} is not in {plan}");
    }
}

#[test]
fn what_comes_before_a_run_is_not_timed_and_every_invocation_is_kept() {
    let desk = desk();
    let log = |word: &str| format!("sh -c 'echo {word} >>log; echo same'");
    let (one, two) = (log("one"), log("two"));
    let more = ["--pilot", "--blocks", "2", "--prepare", "echo before >>log; sleep 0.3", "--warmup", "2"];
    let output = versus(&desk, &with(&with(&[&one, &two], &more), &["--invocations", "3", "--cpus", "1"]));
    assert_eq!(code(&output), 0, "{}", told(&output));
    let log = std::fs::read_to_string(desk.path().join("log")).expect("what ran");
    // Two proofs, whatever they do of it, and then four runs.
    let before = log.matches("before").count();
    let runs: Vec<&str> = log.split("before\n").skip(1 + before - 4).collect();
    assert!(runs.iter().all(|run| run.lines().count() == 5), "two to warm up and three timed: {log}");
    let record = desk.record("reports");
    let samples = csv_rows(&record.join("samples.csv"));
    assert_eq!(samples.len(), 12, "{samples:?}");
    let times = csv_rows(&record.join("runs.csv"));
    for run in &times {
        assert!(
            run["wall_time (s)"].parse::<f64>().expect("a time") < 0.3,
            "preparing is not timed: {run:?}"
        );
    }
}

#[test]
fn standard_input_environment_and_inputs_reach_the_commands() {
    let desk = desk();
    let bare = ["sh -c 'wc -l; echo [$GREETING] $#'", "sh -c 'grep -c line; echo [$GREETING] $#'"];
    let more =
        ["--pilot", "--blocks", "2", "--input", "text", "--inputs", "once.sh", "--env", "GREETING=a  b"];
    let output = versus(&desk, &with(&bare, &more));
    assert_eq!(code(&output), 0, "{}", told(&output));
    let journal = std::fs::read_to_string(desk.record("reports").join("journal.jsonl")).expect("the journal");
    assert!(journal.contains("input ") && journal.contains("once.sh"), "inputs are identified");
    let output = versus(&desk, &with(&PAIR, &["--env", "NO_SUCH_VARIABLE"]));
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("--env NO_SUCH_VARIABLE=VALUE"), "{}", told(&output));
}

#[test]
fn commands_that_fail_or_are_missing_measure_nothing_and_say_why() {
    let desk = desk();
    for (commands, reason) in [
        (["grep -c nowhere text", "true"], "exit status 1"),
        (["no-such-program text", "true"], "no-such-program: not found on this host"),
    ] {
        let output = versus(&desk, &with(&commands, &["--pilot", "--blocks", "2"]));
        assert_eq!(code(&output), 8, "{}", told(&output));
        assert!(stderr(&output).contains(reason), "expected {reason} in {}", told(&output));
    }
    let output = versus(&desk, &["true", "sleep 60", "--pilot", "--blocks", "2", "--timeout", "200ms"]);
    assert_eq!(code(&output), 4, "{}", told(&output));
}

#[test]
fn mistakes_are_told_by_what_was_typed() {
    let desk = desk();
    for (args, expected) in [
        (&["true"][..], "2 values required"),
        (&["true", "true "], "commands 1 and 2 are the same"),
        (&["true", "echo 'a"], "command 2: expected every ' to be closed"),
        (&["true", "  "], "command 2: expected a program and its arguments"),
        (&["true", "echo a\necho b"], "command 2: expected one line"),
        (&["true", "false", "--arms", "one"], "--arms: expected 2 names, one for each command, found 1"),
        (&["true", "false", "--on", "tx"], "--hosts"),
        (&["true", "false", "--blocks", "2"], "2 blocks cannot decide 1 comparison"),
        (&["true", "false", "--margin", "2"], "margin"),
        (&["true", "false", "--arms", "a,a"], "two arms are called `a`"),
    ] {
        let output = versus(&desk, args);
        assert_eq!(code(&output), 2, "{args:?}: {}", told(&output));
        assert!(stderr(&output).contains(expected), "expected {expected} in {}", told(&output));
    }
    assert!(!desk.path().join("reports").exists(), "nothing was run");
}

#[test]
fn the_readme_names_options_that_are_there_and_the_way_for_old_data() {
    let readme = include_str!("../../README.md");
    let (_, section) = readme.split_once("### Two commands, without a file").expect("the section");
    let (section, _) = section.split_once("\n### ").expect("the next section");
    let help = stdout(&versus(&desk(), &["--help"]));
    let options: Vec<&str> = section.split(['`', ' ', ',']).filter(|word| word.starts_with("--")).collect();
    assert!(options.len() > 15, "{options:?}");
    for option in options.iter().filter(|option| **option != "--export-json") {
        assert!(help.contains(option), "{option} is not in {help}");
    }
    assert!(section.contains("hyperfine --export-json") && section.contains("fieldtrial analyse FILE"));
}

#[test]
fn on_a_lab_host_the_commands_run_there_and_nowhere_else() {
    let Some(lab) = Lab::two_hosts() else { return };
    let hosts: PathBuf = over_ssh::tx_and_rx(&lab, TEST_INTERFACE, "10s");
    lab.place("h1", "/opt/one", b"#!/bin/sh\nhostname >&2\necho same\n", "755");
    lab.place("h1", "/opt/two", b"#!/bin/sh\nsleep 0.3\necho same\n", "755");
    let args = ["versus", "/opt/one", "/opt/two", "--blocks", "6", "--on", "tx", "--hosts"];
    let output =
        over_ssh::run(&lab, &[&args[..], &[over_ssh::text(&hosts), "--reports", "reports"]].concat());
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert!(stdout(&output).contains("two is worse than the control"), "{}", told(&output));
    let record = crate::desk::only_record(&lab.folder().join("reports"));
    let journal = std::fs::read_to_string(record.join("journal.jsonl")).expect("the journal");
    assert!(journal.contains("\"transport\":\"ssh\""));
    let output = over_ssh::run(&lab, &["check", over_ssh::text(&record.join("campaign.yaml"))]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let output = over_ssh::run(
        &lab,
        &["versus", "true", "echo", "--on", "nowhere", "--hosts", over_ssh::text(&hosts)],
    );
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("no host is called `nowhere`"), "{}", told(&output));
}
