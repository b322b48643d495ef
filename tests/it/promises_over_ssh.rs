//! Promises about hosts over ssh that no other test would miss.

use crate::desk::{COMMANDS, code, csv_rows, only_record, stderr, stdout};
use crate::lab::{Lab, TEST_INTERFACE};
use crate::over_ssh::{run, text, tx_and_rx, write};
use crate::process::told;

/// The desk's campaign on the first host.
fn on_tx() -> String {
    COMMANDS.replace("on: here", "on: tx")
}

#[test]
fn a_timeout_over_ssh_leaves_nothing_of_the_tree_on_the_host_and_keeps_what_was_seen() {
    let Some(lab) = Lab::two_hosts() else { return };
    tx_and_rx(&lab, TEST_INTERFACE, "10s");
    // The proof finds no mark and is quick; every timed run finds the one that proofs left.
    let slow = "#!/bin/sh\necho same\nif [ -e /tmp/proven-$1 ]; then (setsid sh -c \"trap '' TERM HUP; sleep 61\" &)\n\
                sleep 62 & sleep 62; fi\ntouch /tmp/proven-$1\n";
    lab.place("h1", "/opt/slow", slow.as_bytes(), "755");
    let words = on_tx()
        .replace("[sh, -c, 'echo same', '${text}']", "[/opt/slow, '${text}']")
        .replace("timeout: 10s", "timeout: 2s")
        .replace("count: 2", "count: 1");
    let campaign = write(&lab, "c.yaml", &words);
    let output = run(&lab, &["run", text(&campaign), "--reports", "reports"]);
    assert_eq!(code(&output), 8, "nothing was measured: {}", told(&output));
    let record = only_record(&lab.folder().join("reports"));
    let rows = csv_rows(&record.join("runs.csv"));
    assert_eq!(rows.len(), 2, "{rows:?}");
    for row in &rows {
        assert_eq!(row["outcome"], "timed_out", "{row:?}");
        let elapsed: f64 = row["elapsed (ns)"].parse().unwrap();
        assert!((1.9e9..20e9).contains(&elapsed), "{row:?}");
    }
    let journal = std::fs::read_to_string(record.join("journal.jsonl")).unwrap();
    assert_eq!(
        journal.matches("\"stdout_head\":\"same\\n\"").count(),
        4,
        "two proofs and two runs: {journal}"
    );
    let look = "grep -lE 'sleep.6[12]' /proc/[0-9]*/cmdline 2>/dev/null | grep -v self";
    let left = lab.on_host("h1", look);
    assert!(left.stdout.is_empty(), "it lives on: {}", told(&left));
}

#[test]
fn a_rerun_on_a_host_that_changed_is_told_and_one_with_another_program_is_refused() {
    let Some(lab) = Lab::two_hosts() else { return };
    tx_and_rx(&lab, TEST_INTERFACE, "10s");
    lab.place("h1", "/opt/work", b"#!/bin/sh\necho same\n", "755");
    let words = on_tx().replace("[sh, -c, 'echo same', '${text}']", "[/opt/work, '${text}']");
    let campaign = write(&lab, "c.yaml", &words);
    let output = run(&lab, &["run", text(&campaign), "--reports", "reports"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let record = only_record(&lab.folder().join("reports"));
    let again = || run(&lab, &["rerun", text(&record), "--cell", "/other"]);

    assert!(lab.on_host("h1", "hostname renamed").status.success());
    let output = again();
    assert_eq!(code(&output), 0, "{}", told(&output));
    let rows = csv_rows(&record.join("runs.csv"));
    assert_eq!(rows.len(), 6, "the cell and its control: {rows:?}");
    let page = std::fs::read_to_string(record.join("index.html")).unwrap();
    assert!(page.contains("renamed"), "the page tells what changed between the sessions");

    lab.place("h1", "/opt/work", b"#!/bin/sh\ntrue; echo same\n", "755");
    let output = again();
    assert_ne!(code(&output), 0, "{}", told(&output));
    assert!(stderr(&output).contains("another one than in the earlier session"), "{}", told(&output));
    assert_eq!(csv_rows(&record.join("runs.csv")), rows, "nothing was added");
}

#[test]
fn an_agent_given_for_an_architecture_is_the_one_that_is_uploaded() {
    let Some(lab) = Lab::two_hosts() else { return };
    tx_and_rx(&lab, TEST_INTERFACE, "10s");
    lab.place("h1", "/usr/local/bin/uname", b"#!/bin/sh\necho riscv64\n", "755");
    let campaign = write(&lab, "c.yaml", &on_tx());
    let agent = format!("riscv64={}", env!("CARGO_BIN_EXE_fieldtrial"));
    let output = run(&lab, &["run", text(&campaign), "--reports", "reports", "--agent", &agent]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let output =
        run(&lab, &["run", text(&campaign), "--reports", "none", "--agent", "riscv64=nowhere/fieldtrial"]);
    assert_ne!(code(&output), 0, "{}", told(&output));
    assert!(stderr(&output).contains("nowhere/fieldtrial"), "{}", told(&output));
    let output = run(&lab, &["run", text(&campaign), "--reports", "none", "--agent", "riscv64"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("ARCH=PATH"), "{}", told(&output));
}

#[test]
fn discover_writes_facts_free_ports_and_what_is_never_touched_for_any_way_to_name_a_host() {
    let Some(lab) = Lab::two_hosts() else { return };
    let config = lab.ssh_config();
    for alias in ["h1", "root@h1", "198.18.0.11"] {
        let output = run(&lab, &["hosts", "discover", alias, "--config", text(&config)]);
        assert_eq!(code(&output), 0, "{}", told(&output));
        let found = stdout(&output);
        assert!(!found.contains("unknown"), "every fact it names is known:\n{found}");
        assert!(found.contains(&format!("interface: {TEST_INTERFACE}")), "{found}");
        assert!(
            !found.contains("interface: eth0") && found.contains("default route runs over it: eth0"),
            "{found}"
        );
        let file = write(&lab, "found.yaml", &found);
        let output = run(&lab, &["hosts", "check", text(&file), "--json"]);
        assert_eq!(code(&output), 0, "what it writes can be used:\n{found}\n{}", told(&output));
        let answer: serde_json::Value =
            serde_json::from_str(&stdout(&output)).expect("JSON on standard output");
        assert_eq!(answer["ok"], true, "{answer}");
    }
}
