//! Campaigns over real sshd: two hosts of their own, strict keys, and every fault of the way.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::desk::{code, csv_rows, only_record, stderr};
use crate::lab::{Faults, Lab};
use crate::process::{self, told};

const LIMIT: Duration = Duration::from_secs(240);

/// The two hosts under the names that the shipped campaign uses.
pub fn tx_and_rx(lab: &Lab, interface: &str, lease: &str) -> PathBuf {
    let config = lab.ssh_config();
    let host = |name: &str, alias: &str| {
        format!(
            "  {name}:\n    ssh: {alias}\n    config: {}\n    ports: {{port0: {{interface: {interface}}}}}\n",
            config.display()
        )
    };
    let text = format!(
        "hosts:\n{}{}links: [[tx.port0, rx.port0]]\nlease: {lease}\n",
        host("tx", "h1"),
        host("rx", "h2")
    );
    write(lab, "hosts.yaml", &text)
}

pub fn write(lab: &Lab, name: &str, text: &str) -> PathBuf {
    let path = lab.folder().join(name);
    std::fs::write(&path, text).expect("the lab's folder can be written");
    path
}

pub fn fieldtrial(lab: &Lab, args: &[&str]) -> Command {
    let mut command = lab.fieldtrial();
    command.args(args);
    command.env("HOME", lab.folder().join("home")).env("XDG_CACHE_HOME", lab.folder().join("cache"));
    command
}

pub fn run(lab: &Lab, args: &[&str]) -> Output {
    process::finish(&mut fieldtrial(lab, args), LIMIT)
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path of ASCII")
}

/// A command campaign on h1 (and h2 where asked), each run doing `line` in a shell.
fn commands(lab: &Lab, host: &str, line: &str, blocks: u32) -> PathBuf {
    let variables = if host.contains("${host}") { "variables: {host: [tx, rx]}\n" } else { "" };
    write(
        lab,
        "c.yaml",
        &format!(
            "campaign: c\nquestion: q?\nhosts: hosts.yaml\npilot: true\n{variables}control: {{set: {{text: one}}}}\n\
         treatments: [{{name: other, change: {{text: two}}}}]\n\
         workload: {{command: {{on: '{host}', run: [sh, -c, '{line}', '${{text}}']}}}}\n\
         blocks: {{count: {blocks}, order: forward}}\ntimeout: 20s\n"
        ),
    )
}

#[test]
fn half_the_work_under_the_same_name_on_one_host_is_refused() {
    let Some(lab) = Lab::two_hosts() else { return };
    tx_and_rx(&lab, crate::lab::TEST_INTERFACE, "10s");
    let whole = "#!/bin/sh\nseq 1 1000 >/dev/null\necho done\n";
    let half = "#!/bin/sh\nseq 1 500 >/dev/null\necho done\n";
    lab.place("h1", "/opt/scan", whole.as_bytes(), "755");
    lab.place("h2", "/opt/scan", half.as_bytes(), "755");
    let campaign = write(
        &lab,
        "c.yaml",
        "\
campaign: c
question: q?
hosts: hosts.yaml
pilot: true
variables: {host: [tx, rx]}
control: {set: {mode: a}}
treatments: [{name: b, change: {mode: b}}]
workload: {command: {on: '${host}', run: [/opt/scan, '${mode}']}}
blocks: {count: 2, order: forward}
",
    );
    let output = run(&lab, &["run", text(&campaign), "--reports", "reports"]);
    assert_eq!(code(&output), 4, "{}", told(&output));
    let record = only_record(&lab.folder().join("reports"));
    let rejected = csv_rows(&record.join("rejected.csv"));
    assert_eq!(rejected.len(), 2, "both cells of the tampered host: {rejected:?}");
    assert!(rejected[0]["reason"].contains("another program"), "{rejected:?}");
    let runs = csv_rows(&record.join("runs.csv"));
    assert!(
        runs.iter().all(|r| r["cell"].starts_with("host=tx/")),
        "the tampered host was never timed: {runs:?}"
    );
}

#[test]
fn a_wrong_or_unknown_host_key_is_refused_with_the_words_of_openssh() {
    for faults in [
        Faults { wrong_key: vec!["h2"], ..Faults::default() },
        Faults { unknown_key: vec!["h2"], ..Faults::default() },
    ] {
        let Some(lab) = Lab::with(&faults) else { return };
        tx_and_rx(&lab, crate::lab::TEST_INTERFACE, "10s");
        let campaign = commands(&lab, "rx", "echo same", 1);
        let output = run(&lab, &["run", text(&campaign), "--reports", "reports"]);
        assert_eq!(code(&output), 12, "{}", told(&output));
        let said = stderr(&output);
        assert!(said.contains("rx") && said.to_lowercase().contains("host key"), "{}", told(&output));
        assert!(
            !lab.folder().join("reports/c").read_dir().is_ok_and(|mut d| d.next().is_some()),
            "no empty record"
        );
    }
}

#[test]
fn a_host_that_does_not_answer_is_named() {
    let Some(lab) = Lab::two_hosts() else { return };
    tx_and_rx(&lab, crate::lab::TEST_INTERFACE, "10s");
    lab.kill_host("h2");
    let campaign = commands(&lab, "rx", "echo same", 1);
    let output = run(&lab, &["run", text(&campaign), "--reports", "reports"]);
    assert_eq!(code(&output), 12, "{}", told(&output));
    assert!(stderr(&output).contains("rx"), "{}", told(&output));
}

#[test]
fn the_port_that_carries_ssh_is_never_a_test_port() {
    let Some(lab) = Lab::two_hosts() else { return };
    let hosts = tx_and_rx(&lab, "eth0", "10s");
    let campaign = Path::new(env!("CARGO_MANIFEST_DIR")).join("campaigns/quickstart.yaml");
    let output = run(&lab, &["run", text(&campaign), "--hosts", text(&hosts), "--reports", "reports"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("eth0") && stderr(&output).contains("SSH"), "{}", told(&output));
}

#[test]
fn a_port_that_is_not_there_refuses_the_cells_that_need_it() {
    let Some(lab) = Lab::two_hosts() else { return };
    let hosts = tx_and_rx(&lab, "nosuch0", "10s");
    let campaign = Path::new(env!("CARGO_MANIFEST_DIR")).join("campaigns/quickstart.yaml");
    let output = run(&lab, &["run", text(&campaign), "--hosts", text(&hosts), "--reports", "reports"]);
    assert_eq!(code(&output), 8, "{}", told(&output));
    let rejected = csv_rows(&only_record(&lab.folder().join("reports")).join("rejected.csv"));
    assert_eq!(rejected.len(), 4, "{rejected:?}");
    let reason = &rejected[0]["reason"];
    assert!(reason.contains("nosuch0") && reason.contains("test0"), "what lacks and what is there: {reason}");
    let output = run(&lab, &["hosts", "check", text(&hosts)]);
    assert_eq!(code(&output), 4, "{}", told(&output));
}

#[test]
fn a_host_of_another_architecture_asks_for_its_agent() {
    let Some(lab) = Lab::two_hosts() else { return };
    tx_and_rx(&lab, crate::lab::TEST_INTERFACE, "10s");
    lab.place("h2", "/usr/local/bin/uname", b"#!/bin/sh\necho riscv64\n", "755");
    let campaign = commands(&lab, "rx", "echo same", 1);
    let output = run(&lab, &["run", text(&campaign), "--reports", "reports"]);
    assert_eq!(code(&output), 12, "{}", told(&output));
    assert!(stderr(&output).contains("riscv64") && stderr(&output).contains("--agent"), "{}", told(&output));
}

#[test]
fn a_host_where_nothing_may_be_executed_or_written_is_told_so() {
    for (faults, word) in [
        (Faults { noexec: vec!["h2"], ..Faults::default() }, "noexec"),
        (Faults { full: vec!["h2"], ..Faults::default() }, "space"),
    ] {
        let Some(lab) = Lab::with(&faults) else { return };
        tx_and_rx(&lab, crate::lab::TEST_INTERFACE, "10s");
        let campaign = commands(&lab, "rx", "echo same", 1);
        let output = run(&lab, &["run", text(&campaign), "--reports", "reports"]);
        assert_eq!(code(&output), 12, "{}", told(&output));
        assert!(stderr(&output).to_lowercase().contains(word), "{word}: {}", told(&output));
    }
}

#[test]
fn status_255_and_signals_come_from_the_program_not_from_ssh() {
    // Cases S01 and S02.
    for (line, words) in
        [("exit 255", "exit status 255"), ("kill -9 $$", "signal 9"), ("kill -TERM $$", "signal 15")]
    {
        let Some(lab) = Lab::two_hosts() else { return };
        tx_and_rx(&lab, crate::lab::TEST_INTERFACE, "10s");
        let campaign = commands(&lab, "tx", line, 1);
        let output = run(&lab, &["run", text(&campaign), "--reports", "reports"]);
        assert_eq!(code(&output), 8, "{}", told(&output));
        let rejected = csv_rows(&only_record(&lab.folder().join("reports")).join("rejected.csv"));
        assert!(rejected[0]["reason"].contains(words), "{words}: {rejected:?}");
    }
}

/// Starts a long campaign on h1 and waits until its job runs there.
fn start_long(lab: &Lab, lease: &str) -> (std::process::Child, PathBuf) {
    tx_and_rx(lab, crate::lab::TEST_INTERFACE, lease);
    let campaign =
        commands(lab, "tx", "if [ -e /tmp/slow ]; then (setsid sleep 61 &); sleep 62; fi; echo same", 2);
    let mut command = fieldtrial(lab, &["run", text(&campaign), "--reports", "reports"]);
    let child = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    // The proofs have to pass first; then a run is held up.
    let began = Instant::now();
    while journal(lab).matches("\"accepted\":true").count() < 1 {
        assert!(began.elapsed() < Duration::from_secs(60), "no proof came: {}", journal(lab));
        std::thread::sleep(Duration::from_millis(2));
    }
    lab.on_host("h1", "touch /tmp/slow");
    while !sleepers(lab) {
        assert!(began.elapsed() < Duration::from_secs(60), "the job never ran: {}", journal(lab));
        std::thread::sleep(Duration::from_millis(10));
    }
    (child, campaign)
}

fn journal(lab: &Lab) -> String {
    let records = std::fs::read_dir(lab.folder().join("reports/c")).ok();
    records
        .and_then(|mut d| d.next())
        .and_then(Result::ok)
        .and_then(|e| std::fs::read_to_string(e.path().join("journal.jsonl")).ok())
        .unwrap_or_default()
}

fn sleepers(lab: &Lab) -> bool {
    let look = "for c in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$c 2>/dev/null; echo; done | grep -qE '^sleep 6[12]'";
    lab.on_host("h1", look).status.success()
}

fn gone_within(lab: &Lab, limit: Duration) -> bool {
    let began = Instant::now();
    while began.elapsed() < limit {
        if !sleepers(lab) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

#[test]
fn a_killed_workstation_leaves_nothing_running_on_the_host() {
    let Some(lab) = Lab::two_hosts() else { return };
    let (mut child, _) = start_long(&lab, "3s");
    lab.signal(&child, libc::SIGKILL);
    assert!(gone_within(&lab, Duration::from_secs(6)), "the job outlived its workstation");
    let _ = child.wait();
}

#[test]
fn a_pulled_cable_ends_the_job_by_its_lease_and_resume_goes_on() {
    let Some(lab) = Lab::two_hosts() else { return };
    let (mut child, _) = start_long(&lab, "3s");
    lab.cut_link("h1");
    assert!(gone_within(&lab, Duration::from_secs(8)), "the job outlived its lease");
    let status = process::wait(&mut child, Duration::from_secs(60)).expect("the workstation gives up");
    assert_eq!(status.code(), Some(12));
    lab.heal_link("h1");
    lab.on_host("h1", "rm /tmp/slow");
    let record = only_record(&lab.folder().join("reports"));
    let output = run(&lab, &["resume", text(&record)]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let rows = csv_rows(&record.join("runs.csv"));
    assert_eq!(rows.iter().filter(|r| r["outcome"] == "measured").count(), 4, "{rows:?}");
}

#[test]
fn a_second_campaign_on_a_leased_host_is_told_who_holds_it() {
    // Case S10: nobody steals a live lock.
    let Some(lab) = Lab::two_hosts() else { return };
    let (mut child, campaign) = start_long(&lab, "3s");
    let output = run(&lab, &["run", text(&campaign), "--reports", "second"]);
    assert_eq!(code(&output), 12, "{}", told(&output));
    assert!(stderr(&output).contains("leased"), "{}", told(&output));
    lab.signal(&child, libc::SIGKILL);
    let _ = child.wait();
    assert!(gone_within(&lab, Duration::from_secs(6)));
    lab.on_host("h1", "rm /tmp/slow");
    let output = run(&lab, &["run", text(&campaign), "--reports", "third"]);
    assert_eq!(code(&output), 0, "a dead holder's lease is free: {}", told(&output));
}

#[test]
fn hosts_check_and_discover_tell_what_a_host_is() {
    let Some(lab) = Lab::two_hosts() else { return };
    let hosts = tx_and_rx(&lab, crate::lab::TEST_INTERFACE, "10s");
    let output = run(&lab, &["hosts", "check", text(&hosts)]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("tx") && shown.contains("kernel") && shown.contains("test0"), "{}", told(&output));
    let config = lab.ssh_config();
    let output = run(&lab, &["hosts", "discover", "h1", "--config", text(&config)]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let file = write(&lab, "found.yaml", &String::from_utf8_lossy(&output.stdout));
    let output = run(&lab, &["hosts", "check", text(&file)]);
    assert_eq!(code(&output), 0, "what discover writes can be used: {}", told(&output));
}

#[test]
fn what_a_killed_agent_left_changed_on_a_host_is_put_back_by_restore() {
    let Some(lab) = Lab::two_hosts() else { return };
    tx_and_rx(&lab, crate::lab::TEST_INTERFACE, "3s");
    let campaign = commands(&lab, "tx", "if [ -e /tmp/slow ]; then sleep 62; fi; echo same", 2);
    let held = std::fs::read_to_string(&campaign).unwrap() + "hold: {mtu: 1400}\n";
    std::fs::write(&campaign, held).unwrap();
    let mtu = || {
        let output = lab.on_host("h1", &format!("cat /sys/class/net/{}/mtu", crate::lab::TEST_INTERFACE));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(mtu(), "1500");
    let mut command = fieldtrial(&lab, &["run", text(&campaign), "--reports", "reports"]);
    let mut child = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while journal(&lab).matches("\"accepted\":true").count() < 1 {
        assert!(began.elapsed() < Duration::from_secs(60), "no proof came: {}", journal(&lab));
        std::thread::sleep(Duration::from_millis(2));
    }
    lab.on_host("h1", "touch /tmp/slow");
    let agent = "kill -9 $(grep -lzx 'agen[t]' /proc/[0-9]*/cmdline | cut -d/ -f3 | sort -n | head -1)";
    assert!(lab.on_host("h1", agent).status.success());
    let status = process::wait(&mut child, Duration::from_secs(60)).expect("the workstation gives up");
    assert_eq!((status.code(), mtu().as_str()), (Some(12), "1400"), "nobody was there to put it back");
    let hosts = lab.folder().join("hosts.yaml");
    let restore = || run(&lab, &["restore", "tx", "--hosts", text(&hosts), "--json"]);
    let output = restore();
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert_eq!(mtu(), "1500", "{}", told(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["ok"] == true && answer["restored"]["back"].to_string().contains("mtu"), "{answer}");
    let output = restore();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((code(&output), &answer["restored"]["back"]), (0, &serde_json::json!([])), "{answer}");
}
