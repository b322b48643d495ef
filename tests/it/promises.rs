//! Promises of the front door that no other test would miss: what reaches a command, and what is told of it.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::desk::{COMMANDS, Desk, code, csv_rows, only_record, stderr, stdout};
use crate::lab::{Lab, TEST_INTERFACE};
use crate::over_ssh::{fieldtrial, run, text, tx_and_rx, write};
use crate::process::{self, told};

const LIMIT: Duration = Duration::from_secs(120);
const SECRET: &str = "marker-5f3a9c";

/// The desk's campaign with other words to run.
fn running(words: &str) -> String {
    COMMANDS.replace("[sh, -c, 'echo same', '${text}']", words)
}

fn journal(record: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(record.join("journal.jsonl")).expect("a journal");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// The last role of every timed run.
fn roles(record: &std::path::Path) -> Vec<Value> {
    let ended = journal(record).into_iter().filter(|line| line["event"]["run_ended"].is_object());
    ended.map(|line| line["event"]["run_ended"]["roles"][0].clone()).collect()
}

fn files_with(folder: &std::path::Path, needle: &str) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(folder).expect("a record").flatten().map(|entry| entry.path());
    files.filter(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap()).contains(needle)).collect()
}

/// Prints all that a command can see of an environment: its own, its parent's and its init's.
const NOSY: &str =
    "[sh, -c, 'echo same; wc -c; env >&2; cat /proc/1/environ /proc/$PPID/environ >&2', '${text}']";

#[test]
fn nothing_of_our_environment_reaches_a_command_or_a_record() {
    let desk = Desk::new(&running(NOSY));
    let mut command = desk.command(&["run", "c.yaml"]);
    let output = process::finish(command.env("FT_SECRET", SECRET), LIMIT);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let record = desk.record("reports");
    let role = &roles(&record)[0];
    assert_eq!(role["stdout_head"], "same\n0\n", "standard input is empty");
    assert!(role["stderr_head"].as_str().unwrap().contains("PATH="), "it did look: {role}");
    assert_eq!(files_with(&record, SECRET), Vec::<std::path::PathBuf>::new());
}

#[test]
fn nothing_of_our_environment_crosses_ssh() {
    let Some(lab) = Lab::two_hosts() else { return };
    tx_and_rx(&lab, TEST_INTERFACE, "10s");
    let campaign = write(&lab, "c.yaml", &running(NOSY).replace("on: here", "on: tx"));
    let output = process::finish(
        fieldtrial(&lab, &["run", text(&campaign), "--reports", "reports"]).env("FT_SECRET", SECRET),
        LIMIT,
    );
    assert_eq!(code(&output), 0, "{}", told(&output));
    let record = only_record(&lab.folder().join("reports"));
    let role = &roles(&record)[0];
    assert_eq!(role["stdout_head"], "same\n0\n", "standard input is empty");
    assert!(role["stderr_head"].as_str().unwrap().contains("PATH="), "it did look: {role}");
    assert_eq!(files_with(&record, SECRET), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_recorded_command_pasted_into_another_shell_gives_the_recorded_digest() {
    let line = "printf \"%s|\" \"it''s\" * \"$X\" \"$LANG\"; wc -c; command -v seq";
    let words = format!("[sh, -c, '{line}', '${{text}}'], env: {{X: 'a $b'}}");
    let desk = Desk::new(&running(&words));
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let record = desk.record("reports");
    let ended = roles(&record);
    assert_eq!(ended.len(), 4);
    // Another folder, another search path with another `seq`, input at hand: none of it may matter.
    desk.write("seq", "#!/bin/sh\n");
    assert!(Command::new("chmod").arg("755").arg(desk.path().join("seq")).status().unwrap().success());
    for role in ended {
        let path = format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap());
        let script = format!("{} | sha256sum", role["command"].as_str().unwrap());
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script])
            .current_dir(desk.path())
            .env("PATH", path)
            .env("LANG", "xx")
            .env("TMPDIR", desk.path());
        let output = process::finish(&mut shell, LIMIT);
        let digest = role["report"]["stdout"]["sha256"].as_str().unwrap();
        assert!(stdout(&output).starts_with(digest), "{script}\n{role}\n{}", told(&output));
    }
}

#[test]
fn ten_megabytes_of_output_are_cut_in_the_record_with_their_true_count() {
    let desk = Desk::new(&running("[sh, -c, 'head -c 10485760 /dev/zero', '${text}']"));
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let record = desk.record("reports");
    for role in roles(&record) {
        let stream = &role["report"]["stdout"];
        assert_eq!(stream["bytes"], 10_485_760);
        // sha256 of 10 MiB of zeros.
        assert_eq!(stream["sha256"], "e5b844cc57f57094ea4585e235f36c78c1cd222262bb89d53c94dcb4d6b3e55d");
    }
    let journal = std::fs::metadata(record.join("journal.jsonl")).unwrap().len();
    assert!(journal < 200_000, "the record holds heads, not outputs: {journal} bytes");
}

#[test]
fn one_ctrl_c_ends_after_the_run_and_two_end_the_run() {
    for (times, outcomes) in [(1, vec!["measured"]), (2, vec!["interrupted"])] {
        let Some(lab) = Lab::no_hosts() else { return };
        write(&lab, "hosts.yaml", crate::desk::HOSTS);
        let flag = lab.folder().join("slow");
        let line = format!("if [ -e {0} ]; then touch {0}.runs; sleep 4; fi; echo same", flag.display());
        let campaign = write(
            &lab,
            "c.yaml",
            &running(&format!("[sh, -c, '{line}', '${{text}}']")).replace("count: 2", "count: 40"),
        );
        let mut command = fieldtrial(&lab, &["run", text(&campaign), "--reports", "reports"]);
        let mut child =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        // Proofs and one run pass first; the next is slow, whichever it is.
        let began = Instant::now();
        let reports = lab.folder().join("reports/c");
        let until = |what: &dyn Fn() -> bool| {
            while !what() {
                assert!(began.elapsed() < Duration::from_secs(60), "the run never came");
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        until(&|| {
            reports.read_dir().is_ok_and(|mut d| {
                d.next().is_some_and(|e| {
                    let journal =
                        std::fs::read_to_string(e.unwrap().path().join("journal.jsonl")).unwrap_or_default();
                    journal.contains("\"outcome\":\"measured\"")
                })
            })
        });
        std::fs::write(&flag, "").unwrap();
        until(&|| lab.folder().join("slow.runs").exists());
        for _ in 0..times {
            lab.signal(&child, libc::SIGINT);
            std::thread::sleep(Duration::from_millis(300));
        }
        let status = process::wait(&mut child, LIMIT).expect("it ends by itself");
        assert_eq!(status.code(), Some(5), "incomplete");
        let record = only_record(&lab.folder().join("reports"));
        let rows = csv_rows(&record.join("runs.csv"));
        assert_eq!(rows.last().unwrap()["outcome"], outcomes[0], "{rows:?}");
        assert!(rows.len() < 80, "it stopped before its end: {rows:?}");
        std::fs::remove_file(&flag).unwrap();
        let output = run(&lab, &["resume", text(&record)]);
        assert_eq!(code(&output), 0, "{}", told(&output));
    }
}

#[test]
fn a_rule_over_facts_is_undecided_until_hosts_told_and_decided_afterwards() {
    let rule = "exclude: [{when: hosts.here.cpu_count > 0 && text == 'two', because: enough cores}]\n";
    let desk = Desk::new(&(COMMANDS.to_owned() + rule));
    let decisions = || {
        let output = desk.fieldtrial(&["plan", "c.yaml", "--json"]);
        assert_eq!(code(&output), 0, "{}", told(&output));
        let plan: Value = serde_json::from_str(&stdout(&output)).expect("JSON on standard output");
        let cells = plan["cells"].as_array().unwrap().clone();
        let decided: Vec<String> = cells.iter().map(|c| format!("{} {}", c["cell"], c["decision"])).collect();
        (decided.join(", ").replace('"', ""), plan)
    };
    let (before, plan) = decisions();
    assert_eq!(before, "/control planned, /other undecided", "{plan}");
    assert_eq!(plan["estimate"]["undecided"], 1, "{plan}");
    assert!(stdout(&desk.fieldtrial(&["plan", "c.yaml"])).contains("1 cell undecided"));
    let output = desk.fieldtrial(&["hosts", "check", "hosts.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let (after, plan) = decisions();
    assert_eq!(after, "/control planned, /other excluded", "{plan}");
    assert_eq!(plan["cells"][1]["reason"].as_str().map(|r| r.contains("enough cores")), Some(true), "{plan}");
    assert_eq!(plan["order"], serde_json::json!([[0], [0]]), "one list a block, numbers of planned cells");
}

#[test]
fn a_level_given_twice_is_refused_and_an_a_a_pair_is_a_warning() {
    let desk = Desk::new(
        &COMMANDS
            .replace("control:", "variables: {n: [1, 1]}\ncontrol:")
            .replace("echo same'", "echo same', '${n}'"),
    );
    let output = desk.fieldtrial(&["check", "c.yaml"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("c.yaml:5:"), "{}", told(&output));
    desk.write("c.yaml", &(COMMANDS.to_owned() + "anchors: [{name: same, set: {text: one}}]\n"));
    let output = desk.fieldtrial(&["check", "c.yaml", "--json"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let answer: Value = serde_json::from_str(&stdout(&output)).expect("JSON on standard output");
    assert_eq!(
        (&answer["ok"], &answer["complaints"][0]["severity"]),
        (&Value::Bool(true), &"warning".into())
    );
    assert!(answer["complaints"][0]["help"].as_str().unwrap().contains("A/A"), "{answer}");
}

#[test]
fn two_ports_of_one_embedded_host_carry_several_streams() {
    let Some(lab) = Lab::no_hosts() else { return };
    write(
        &lab,
        "hosts.yaml",
        "hosts:\n  box: {transport: netns, ports: {a: {interface: fta0}, b: {interface: ftb0}}}\nlinks: [[box.a, box.b]]\n",
    );
    let campaign = write(&lab, "c.yaml", "\
campaign: c
question: Do the two ports of one host reach each other?
hosts: hosts.yaml
pilot: true
variables: {streams: [1, 3]}
control: {set: {batch: 8}}
treatments: [{name: single, change: {batch: 1}}]
workload:
  packets: {between: [box.a, box.b], frame_size: 128, batch: '${batch}', streams: '${streams}', rate: 1000/s, duration: 400ms, settle: 200ms, stamps: software}
verify: {frames: 300}
blocks: {count: 1, order: forward}
timeout: 30s
accept: [zero_loss]
responses: [{name: tx_rate, primary: true}]
");
    let output = run(&lab, &["run", text(&campaign), "--reports", "reports"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let record = only_record(&lab.folder().join("reports"));
    let rows = csv_rows(&record.join("runs.csv"));
    assert_eq!(rows.len(), 4, "{rows:?}");
    for row in &rows {
        assert_eq!((&row["send.host"][..], &row["receive.host"][..]), ("box", "box"));
        // The rate is per stream: three streams are seen as three.
        let (rate, streams): (f64, f64) = (
            row["rx_rate (frames/s, software stamps)"].parse().unwrap(),
            row["level.streams"].parse().unwrap(),
        );
        assert!((rate / streams - 1000.0).abs() < 300.0, "{row:?}");
    }
    let ledgers = roles(&record);
    let three =
        ledgers.iter().filter(|r| r["report"]["result"]["streams"].as_object().is_some_and(|s| s.len() == 3));
    assert_eq!(three.count(), 2, "a ledger for every stream: {ledgers:?}");
}
