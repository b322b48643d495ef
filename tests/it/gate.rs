//! Stories of publishing and gating, over records of real runs of a tool whose figures are exact.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::desk::{Desk, code, stderr, stdout};
use crate::process::told;
use crate::tracer;

/// A tool writes as many bytes as its release says, and the kernel counts them: exact, and better when lower.
const CAMPAIGN: &str = "\
campaign: c
question: Does the tool write no more than it did?
hosts: hosts.yaml
control: {set: {amount: whole}}
workload: {command: {on: here, run: ['APP', '${amount}']}}
verify: {output: ignored}
blocks: {count: 3, order: forward}
timeout: 10s
responses: [{name: bytes_written}]
gate: {tolerance: 20%}
";

struct Shop {
    desk: Desk,
}

impl Shop {
    fn new() -> Shop {
        let desk = Desk::new("");
        desk.write("c.yaml", &CAMPAIGN.replace("APP", desk.path().join("app").to_str().unwrap()));
        Shop { desk }
    }

    /// Puts a release in place that writes so many bytes.
    fn release(&self, bytes: u64) {
        self.script(&format!("head -c {bytes} /dev/zero"));
    }

    fn script(&self, line: &str) {
        self.desk.script_file("app", &format!("#!/bin/sh\n{line}\n"));
    }

    /// Runs the campaign; the folder of the new record.
    fn run(&self) -> PathBuf {
        self.desk.new_record(&[0, 5, 8])
    }

    fn measured(&self, bytes: u64) -> PathBuf {
        self.release(bytes);
        self.run()
    }

    fn folder(&self) -> PathBuf {
        self.desk.path().join("reports/c")
    }

    fn ask(&self, command: &str, record: &Path, rest: &[&str]) -> Output {
        let args: Vec<&str> =
            [command, record.to_str().unwrap()].into_iter().chain(rest.iter().copied()).collect();
        self.desk.fieldtrial(&args)
    }

    fn publish(&self, record: &Path, rest: &[&str]) -> Output {
        self.ask("publish", record, &[&["--why", "a release", "--by", "somebody"], rest].concat())
    }

    fn published(&self, record: &Path) {
        let output = self.publish(record, &[]);
        assert_eq!(code(&output), 0, "{}", told(&output));
    }

    /// Exit code and answer of the gate.
    fn gate(&self, record: &Path, rest: &[&str]) -> (i32, Value) {
        let output = self.ask("gate", record, &[&["--json"], rest].concat());
        let answer =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", told(&output)));
        (code(&output), answer)
    }
}

fn name(record: &Path) -> &str {
    record.file_name().unwrap().to_str().unwrap()
}

#[test]
fn no_baseline_is_told_by_its_own_exit_code_and_is_never_a_pass() {
    // Case G07.
    let shop = Shop::new();
    let record = shop.measured(3_000_000);
    let output = shop.ask("gate", &record, &[]);
    assert_eq!(code(&output), 11, "{}", told(&output));
    let text = stdout(&output);
    assert!(text.contains("no baseline") && text.contains("fieldtrial publish"), "{text}");
    assert!(!text.contains("pass"), "{text}");
}

#[test]
fn what_is_published_is_the_gate_and_a_fall_trips_it_only_when_measured_again() {
    let shop = Shop::new();
    let first = shop.measured(3_000_000);
    shop.published(&first);
    let (exit, answer) = shop.gate(&first, &[]);
    assert_eq!((exit, &answer["overall"]), (0, &"pass".into()), "{answer}");
    assert_eq!(answer["cells"][0]["floor"], 3_750_000.0, "lower is better: worst / (1 - 20 %)");
    let book: Value =
        serde_json::from_slice(&std::fs::read(shop.folder().join("published.json")).unwrap()).unwrap();
    let entry = &book["entries"][0]["published"];
    assert_eq!((&entry["by"], &entry["why"]), (&"somebody".into(), &"a release".into()), "{book}");
    assert_eq!(entry["cells"][0]["replicates"].as_array().unwrap().len(), 3);

    let fallen = shop.measured(4_000_000);
    let output = shop.ask("gate", &fallen, &[]);
    assert_eq!(code(&output), 3, "{}", told(&output));
    assert!(stdout(&output).contains("measured once, and `--again`"), "{}", told(&output));
    let (exit, answer) = shop.gate(&fallen, &["--again"]);
    assert_eq!(exit, 3, "{answer}");
    assert_eq!(
        (&answer["cells"][0]["again"]["n"], &answer["cells"][0]["again"]["value"]),
        (&3.into(), &4e6.into())
    );
    assert_eq!(answer["cells"][0]["published"], 3e6);

    // The first measurement failed by something that passed: the second decides, and both are shown.
    shop.script(&format!(
        "n=$(ls {0} | grep -c block); touch {0}/block$n; head -c $((n < 5 ? 4000000 : 3000000)) /dev/zero",
        shop.desk.path().display()
    ));
    let record = shop.run();
    assert_eq!(shop.gate(&record, &[]).0, 3);
    let (exit, answer) = shop.gate(&record, &["--again"]);
    assert_eq!((exit, &answer["cells"][0]["verdict"]), (0, &"pass".into()), "{answer}");
    // The script that counts its runs writes some bytes itself.
    let near = |value: &Value, bytes: f64| (value.as_f64().unwrap() - bytes).abs() < 1000.0;
    let own = &answer["cells"][0];
    assert!(near(&own["value"], 4e6) && near(&own["again"]["value"], 3e6), "{answer}");
}

#[test]
fn a_baseline_that_was_overtaken_is_stale_also_for_a_record_that_stands_between() {
    // The seed's story, mirrored: published 1/2.28, reached 1/3.30 twice, and 1/2.40 arrives.
    let bytes = |rate: f64| (1e7 / rate).round() as u64;
    let shop = Shop::new();
    shop.published(&shop.measured(bytes(2.28)));
    let better = shop.measured(bytes(3.30));
    let (exit, answer) = shop.gate(&better, &[]);
    assert_eq!((exit, &answer["overall"]), (7, &"stale_baseline".into()), "case G16: {answer}");
    let band = answer["cells"][0]["band_in_force"].as_f64().unwrap();
    assert!((band - 0.4473).abs() < 1e-3, "20 % is now 44.7 %: {band}");
    let text = stdout(&shop.ask("gate", &better, &[]));
    assert!(text.contains("20 % is now 44.7 %") && text.contains("the product did not fail"), "{text}");

    shop.measured(bytes(3.31));
    // Only 1 % better than what is published, hence not above it by itself.
    let between = shop.measured(bytes(2.30));
    let (exit, answer) = shop.gate(&between, &[]);
    assert_eq!(
        (exit, &answer["overall"]),
        (7, &"stale_baseline".into()),
        "a plain ratio would pass: {answer}"
    );
    assert_eq!(answer["cells"][0]["above"].as_array().unwrap().len(), 2, "two in a row: {answer}");
    assert_eq!(answer["published"]["age_releases"], 3);
    assert_eq!(answer["controls_below"][0]["response"], "bytes_written");

    // Publishing the level that fell needs a reason, and the reason is printed from then on.
    let output = shop.publish(&between, &[]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("--lower REASON"), "{}", told(&output));
    let output = shop.publish(&between, &["--lower", "a new checksum"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let (exit, answer) = shop.gate(&between, &[]);
    assert_eq!((exit, &answer["published"]["lowered"]), (0, &"a new checksum".into()), "{answer}");
}

#[test]
fn a_control_under_the_cliff_is_no_pass_though_it_agrees_with_what_is_published() {
    // Case G04: two builds that agree within 0.4 % and both stand 27 % below what was reached.
    let shop = Shop::new();
    shop.published(&shop.measured(4_160_000));
    shop.measured(3_039_000);
    let record = shop.measured(4_150_000);
    let output = shop.desk.fieldtrial(&["gate", record.to_str().unwrap()]);
    assert_eq!(code(&output), 10, "{}", told(&output));
    assert!(stdout(&output).contains("36.6 % above the best known bytes_written"), "{}", told(&output));
    assert!(stdout(&output).contains("fieldtrial ladder"), "{}", told(&output));
}

#[test]
fn another_machine_work_or_deadline_is_not_comparable_and_the_fact_is_named() {
    // Cases G09 and T05.
    let shop = Shop::new();
    shop.published(&shop.measured(3_000_000));
    let campaign = std::fs::read_to_string(shop.desk.path().join("c.yaml")).unwrap();
    for (from, to, fact) in [
        ("timeout: 10s", "timeout: 20s", "timeout: published with `10000 ms`, now `20000 ms`"),
        ("amount: whole", "amount: half", "command of run"),
    ] {
        shop.desk.write("c.yaml", &campaign.replace(from, to));
        let record = shop.run();
        let output = shop.ask("gate", &record, &[]);
        assert_eq!(code(&output), 9, "{}", told(&output));
        let joined = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(fact), "{joined}");
    }
    // What was published on another machine: the one file is what the gate believes.
    shop.desk.write("c.yaml", &campaign);
    let path = shop.folder().join("published.json");
    let book = std::fs::read_to_string(&path).unwrap();
    let cpu = book.split("\"here: cpu_model\": \"").nth(1).unwrap().split('"').next().unwrap();
    std::fs::write(&path, book.replace(cpu, "Another Processor")).unwrap();
    let record = shop.run();
    let (exit, answer) = shop.gate(&record, &[]);
    assert_eq!(exit, 9, "{answer}");
    let differences = answer["cells"][0]["differences"].to_string();
    assert!(differences.contains("cpu_model") && differences.contains("Another Processor"), "{differences}");
}

#[test]
fn a_killed_run_is_no_improvement_and_a_cell_that_vanished_is_told() {
    // Case G17.
    let shop = Shop::new();
    shop.published(&shop.measured(3_000_000));
    shop.script(&format!("test -e {0}/proven && kill -9 $$; touch {0}/proven", shop.desk.path().display()));
    let record = shop.run();
    let output = shop.ask("gate", &record, &[]);
    assert_eq!(code(&output), 8, "{}", told(&output));
    assert!(stdout(&output).contains("no valid sample (3 failed)"), "{}", told(&output));

    shop.release(3_000_000);
    let campaign = std::fs::read_to_string(shop.desk.path().join("c.yaml")).unwrap();
    shop.desk.write("c.yaml", &campaign.replace("control: {set", "control: {name: renamed, set"));
    let (exit, answer) = shop.gate(&shop.run(), &[]);
    assert_eq!(exit, 11, "{answer}");
    assert!(answer.to_string().contains("the campaign has this cell no more"), "{answer}");
}

#[test]
fn what_speaks_against_a_record_keeps_it_from_being_official_unless_forced_with_a_reason() {
    let shop = Shop::new();
    // A spread of half, where a quarter of the tolerance is allowed.
    shop.script(&format!(
        "n=$(ls {0} | grep -c block); touch {0}/block$n; head -c $((3000000 + n * 500000)) /dev/zero",
        shop.desk.path().display()
    ));
    let record = shop.run();
    let output = shop.publish(&record, &[]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("more than a quarter of the tolerance"), "{}", told(&output));
    assert!(!shop.folder().join("published.json").exists());
    let output = shop.publish(&record, &["--force", "there is no better lab"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let book = std::fs::read_to_string(shop.folder().join("published.json")).unwrap();
    assert!(book.contains("there is no better lab") && book.contains("too much spread"), "{book}");
}

#[test]
fn a_publication_is_taken_back_by_an_entry_and_never_erased() {
    let shop = Shop::new();
    let first = shop.measured(3_000_000);
    shop.published(&first);
    let second = shop.measured(2_000_000);
    shop.published(&second);
    let output = shop.ask("unpublish", &second, &["--why", "measured with the wrong corpus", "--json"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["in_force"], name(&first));
    let book = std::fs::read_to_string(shop.folder().join("published.json")).unwrap();
    assert!(book.contains(name(&second)) && book.contains("the wrong corpus"), "{book}");
    let again = shop.ask("unpublish", &second, &["--why", "x"]);
    assert_eq!(code(&again), 2, "{}", told(&again));
    let listed = stdout(&shop.desk.fieldtrial(&["history", "c"]));
    assert!(listed.contains("published, in force") && listed.contains("published once"), "{listed}");
}

#[test]
fn a_publisher_that_is_killed_leaves_the_old_state_or_the_new_one_and_never_half() {
    let shop = Shop::new();
    let (first, second) = (shop.measured(3_000_000), shop.measured(2_900_000));
    shop.published(&first);
    let file = shop.folder().join("published.json");
    let old = std::fs::read(&file).unwrap();
    let (mut point, mut kept, mut changed) = (0, 0, 0);
    loop {
        point += 1;
        assert!(point < 100, "it never came to its end");
        let mut command = shop.desk.command(&["publish", second.to_str().unwrap(), "--why", "next"]);
        let (_, killed) = tracer::alone(&mut command, point);
        let now = std::fs::read(&file).unwrap();
        let book: Value = serde_json::from_slice(&now).expect("the file is whole");
        match book["entries"].as_array().unwrap().len() {
            1 => kept += usize::from(now == old),
            2 => changed += 1,
            n => panic!("{n} entries"),
        }
        if !killed {
            break;
        }
        std::fs::write(&file, &old).unwrap();
    }
    assert!(kept >= 2 && changed >= 1, "killed at {point} points: {kept} old, {changed} new");
    // The dead left nothing in the way of the living.
    assert_eq!(shop.gate(&second, &[]).0, 0);
}

#[test]
fn two_publishers_at_once_come_one_after_the_other() {
    let shop = Shop::new();
    let records: Vec<PathBuf> = [3_000_000, 2_990_000, 2_980_000, 2_970_000].map(|b| shop.measured(b)).into();
    let children: Vec<_> = records
        .iter()
        .map(|record| {
            let mut command =
                shop.desk.command(&["publish", record.to_str().unwrap(), "--why", "at once", "--lower", "x"]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            command.spawn().expect("it starts")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let book = std::fs::read_to_string(shop.folder().join("published.json")).unwrap();
    assert!(records.iter().all(|record| book.contains(name(record))), "none is lost: {book}");
}

#[test]
fn a_pipeline_gets_junit_markdown_and_the_same_verdict() {
    let shop = Shop::new();
    shop.published(&shop.measured(3_000_000));
    let record = shop.measured(4_000_000);
    let file = shop.desk.path().join("gate.xml");
    let output = shop.ask("gate", &record, &["--format", "junit", "--output", file.to_str().unwrap()]);
    assert_eq!(code(&output), 3, "{}", told(&output));
    let report = quick_junit::Report::deserialize_from_str(&std::fs::read_to_string(file).unwrap())
        .expect("JUnit XML");
    assert_eq!((report.tests, report.failures, report.errors), (1, 1, 0));
    let markdown = stdout(&shop.ask("gate", &record, &["--format", "markdown"]));
    assert!(
        markdown.starts_with("### gate: regression") && markdown.contains("| **regression** | /control |"),
        "{markdown}"
    );
}

#[test]
fn the_history_is_known_to_a_fresh_clone_without_the_records() {
    let shop = Shop::new();
    let (first, second) = (shop.measured(3_000_000), shop.measured(2_000_000));
    std::fs::remove_dir_all(&first).unwrap();
    let output = shop.desk.fieldtrial(&["history", "c", "--json"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let records = answer["records"].as_array().unwrap();
    assert_eq!(
        (&records[0]["record"], &records[0]["primary"]),
        (&name(&first).into(), &3e6.into()),
        "{answer}"
    );
    assert!(records[0]["marks"].to_string().contains("not here"), "{answer}");
    assert_eq!(
        (&records[1]["record"], &records[1]["outcomes"]),
        (&name(&second).into(), &"3 measured".into())
    );
    // A pilot decides nothing, so it leaves no line.
    let campaign = std::fs::read_to_string(shop.desk.path().join("c.yaml")).unwrap();
    shop.desk.write("c.yaml", &(campaign + "pilot: true\n"));
    shop.run();
    let lines = std::fs::read_to_string(shop.folder().join("history.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
}

#[test]
fn a_response_whose_level_is_nought_has_a_limit_or_allows_nothing() {
    // Case G05.
    let shop = Shop::new();
    shop.script("exit 0");
    let record = shop.run();
    shop.published(&record);
    shop.release(1200);
    let (_, answer) = shop.gate(&shop.run(), &[]);
    let own = |answer: &Value| answer["cells"][0].clone();
    assert_eq!(
        (&own(&answer)["floor"], &own(&answer)["verdict"]),
        (&0.0.into(), &"regression".into()),
        "{answer}"
    );
    let campaign = std::fs::read_to_string(shop.desk.path().join("c.yaml")).unwrap();
    let limited = "gate: {responses: {bytes_written: {limit: 2000}}}";
    shop.desk.write("c.yaml", &campaign.replace("gate: {tolerance: 20%}", limited));
    shop.script("exit 0");
    let output = shop.publish(&shop.run(), &["--lower", "a limit in place of nothing"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    shop.release(1200);
    let (exit, answer) = shop.gate(&shop.run(), &[]);
    assert_eq!((exit, &own(&answer)["floor"]), (0, &2000.0.into()), "{answer}");
}

#[test]
fn the_schema_describes_the_answer() {
    let shop = Shop::new();
    let record = shop.measured(3_000_000);
    let (_, answer) = shop.gate(&record, &[]);
    jsonschema::validate(&shop.desk.schema("gate"), &answer)
        .unwrap_or_else(|error| panic!("{error}: {answer}"));
}

#[test]
fn the_published_artifact_in_the_same_blocks_decides_by_its_ratio() {
    // Case G11: the host gives another figure than when it was published, and the ratio says that nothing fell.
    let shop = Shop::new();
    let app = shop.desk.path().join("app");
    let old = shop.desk.path().join("old");
    shop.published(&shop.measured(3_000_000));
    std::fs::copy(&app, &old).unwrap();
    let campaign = CAMPAIGN
        .replace(
            "control: {set: {amount: whole}}",
            "control: {set: {program: APP}}\nanchors: [{name: published, set: {program: OLD}}]",
        )
        .replace("run: ['APP', '${amount}']", "run: ['${program}', whole]")
        .replace("APP", app.to_str().unwrap())
        .replace("OLD", old.to_str().unwrap());
    shop.desk.write("c.yaml", &campaign);
    for (bytes, verdict, exit) in [(3_010_000, "pass", 0), (4_000_000, "regression", 3)] {
        shop.release(bytes);
        let (found, answer) = shop.gate(&shop.run(), &[]);
        let own = &answer["cells"][0];
        assert_eq!(
            (found, &own["verdict"], &own["anchor"]["arm"]),
            (exit, &verdict.into(), &"published".into()),
            "{answer}"
        );
        let ratio = own["anchor"]["ratio"].as_f64().unwrap();
        assert!((ratio - 3e6 / bytes as f64).abs() < 1e-9, "{answer}");
        assert_eq!(answer["cells"].as_array().unwrap().len(), 1, "anchors are not judged: {answer}");
    }
}
