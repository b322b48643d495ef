//! The campaigns that come with the program: all pass check and plan, and those over programs run, shortened.

use std::net::TcpListener;
use std::path::Path;

use fieldtrial::analysis::judge::judge;
use fieldtrial::evidence::event::RunNote;
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::model::outcome::{Fate, RunOutcome};
use fieldtrial::record::{Folder, read};
use serde_json::Value;

use crate::desk::{Desk, code};
use crate::process::told;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A shipped campaign with some words replaced, each of which must be there, run as a pilot.
fn run(name: &str, changes: &[(&str, &str)]) -> (Desk, Evidence) {
    let hosts = format!("{}/hosts/", root().display());
    let text = std::fs::read_to_string(root().join("campaigns").join(name)).expect("shipped");
    let mut text = text.replace("../hosts/", &hosts);
    for (from, to) in changes {
        assert!(text.contains(from), "`{from}` is not in {name}");
        text = text.replace(from, to);
    }
    if !text.contains("pilot: true") {
        text += "pilot: true\n";
    }
    let desk = Desk::new(&text);
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{name}: {}", told(&output));
    let evidence =
        read(&Folder::open(&desk.record("reports")).expect("a record")).expect("readable").evidence;
    assert!(evidence.runs.iter().all(|row| row.note.outcome == RunOutcome::Measured), "{}", told(&output));
    (desk, evidence)
}

fn runs<'a>(evidence: &'a Evidence, arm: &str) -> Vec<&'a RunNote> {
    let of_arm = |run: &&RunNote| run.run.cell.0.ends_with(&format!("/{arm}"));
    evidence.runs.iter().map(|row| &row.note).filter(of_arm).collect()
}

/// Why an arm was refused, with its evidence.
fn refusal(evidence: &Evidence, arm: &str) -> String {
    let note = evidence.cells.values().find(|note| note.cell.0 == format!("/{arm}")).expect(arm);
    assert_eq!(note.fate, Fate::Refused, "{arm}");
    assert!(runs(evidence, arm).is_empty(), "{arm} was timed");
    format!("{}\n{}", note.reason.as_deref().unwrap_or_default(), note.evidence.join("\n"))
}

#[test]
fn every_shipped_campaign_passes_check_and_plan() {
    let desk = Desk::new("");
    let entries = std::fs::read_dir(root().join("campaigns")).expect("the folder").flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| !path.ends_with("dead-ends.yaml"));
    let files: Vec<_> = files.collect();
    assert!(files.len() >= 9, "{files:?}");
    for file in files {
        for command in ["check", "plan"] {
            let output = desk.fieldtrial(&[command, file.to_str().expect("text")]);
            assert_eq!(code(&output), 0, "{command} {}: {}", file.display(), told(&output));
        }
    }
}

#[test]
fn the_http_experiment_accounts_for_every_request_at_all_corners() {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a port").port();
    let (desk, evidence) = run(
        "http.yaml",
        &[
            ("18320", &port.to_string()),
            ("\"40\"", "\"12\""),
            ("units: 40", "units: 12"),
            ("count: 8, order: mirrored", "count: 2, order: mirrored"),
        ],
    );
    assert_eq!(evidence.runs.len(), 16, "four corners, two arms, two blocks");
    for row in &evidence.runs {
        let work = row.note.work.expect("units of work");
        assert!(work.declared == 12 && work.adds_up() && work.wrong_answer == 0, "{work:?}");
        let role = |name: &str| row.note.roles.iter().find(|note| note.role == name).expect("its report");
        let server = role("server").report.result.clone().expect("its account");
        let of = |place: &str| server.pointer(place).and_then(Value::as_u64).expect("a count");
        let ends = of("/counts/served") + of("/counts/given_up") + of("/counts/turned_away");
        assert_eq!(ends + of("/unfinished"), of("/counts/requests"), "{server}");
        assert!(of("/counts/served") >= work.success, "an answer that came was sent: {server}");
        if row.note.run.cell.0.ends_with("/released") {
            assert_eq!(of("/work_for_nobody"), 0, "{server}");
        }
        let samples = role("client").report.result.as_ref().and_then(|result| result["samples"].as_array());
        assert_eq!(samples.map(Vec::len), Some(12), "raw samples of every request are kept");
    }
    let page = std::fs::read_to_string(desk.record("reports").join("index.html")).expect("a page");
    assert!(page.matches(" of 24 units done, ").count() >= 8, "each corner of each arm has its counts");
    let findings = judge(&evidence);
    let useful =
        findings.interactions.iter().find(|one| one.response == "useful_rate").expect("the response");
    let pair = useful.pairs.iter().find(|pair| pair.first == "permits" && pair.second == "concurrency");
    let square = &pair.expect("the pair of the seed").squares[0];
    assert_eq!(
        (&square.first, &square.second),
        (&["1", "2"].map(String::from), &["2", "8"].map(String::from))
    );
}

#[test]
fn the_scanners_are_compared_only_where_they_find_the_same() {
    let (_, evidence) = run("scanner.yaml", &[("count: 8, order: mirrored", "count: 2, order: mirrored")]);
    for arm in ["grep", "awk"] {
        for run in runs(&evidence, arm) {
            let work = run.work.expect("units of work");
            assert_eq!((work.declared, work.success), (100_000, 100_000), "lines counted in the corpus");
            assert!(run.values["useful_rate"] > 0.0);
        }
        assert_eq!(runs(&evidence, arm).len(), 2);
    }
    let identities: Vec<_> = evidence.proofs.iter().map(|proof| &proof.proof.identity).collect();
    assert!(identities.iter().all(|identity| *identity == identities[0]), "{identities:?}");
    assert!(identities[0]["input corpus"].contains("64902bad2e63bb47"), "{:?}", identities[0]);
    let fewer = refusal(&evidence, "fewer-patterns");
    assert!(fewer.contains("another answer than the control") && fewer.contains("output bytes"), "{fewer}");
    let less = refusal(&evidence, "less-format");
    assert!(less.contains("line 1: the control has `11:garnet94"), "{less}");
    let order = refusal(&evidence, "other-order");
    assert!(order.contains("output sha256") && !order.contains("output bytes"), "as much of it: {order}");
}

#[test]
fn a_reader_that_loads_the_whole_file_is_refused_and_the_mended_one_is_not() {
    let (_, evidence) = run("whole-file.yaml", &[("count: 8, order: mirrored", "count: 2, order: mirrored")]);
    let reason = refusal(&evidence, "whole-file");
    assert!(reason.contains("bytes_read <= 1MiB") && reason.contains("128.0 MiB"), "{reason}");
    for arm in ["four-bytes", "mended"] {
        assert_eq!(runs(&evidence, arm).len(), 2, "{arm}");
        for run in runs(&evidence, arm) {
            assert!(run.values["bytes_read"] <= f64::from(1 << 20), "{:?}", run.values);
        }
    }
    let answers: Vec<_> = evidence.proofs.iter().map(|proof| &proof.proof.answer).collect();
    assert!(answers.len() == 3 && answers.iter().all(|answer| *answer == answers[0]), "the answer is right");
}

#[test]
fn iperf3s_numbers_are_read_from_its_json() {
    if let Err(why) = crate::lab::allowed() {
        crate::skip::skip("sandbox", &why);
        return;
    }
    let (_, evidence) = run(
        "iperf3.yaml",
        &[("streams: [1, 4]", "streams: [2]"), ("count: 6, order: mirrored", "count: 1, order: forward")],
    );
    for arm in ["write-128k", "write-4k"] {
        let all = runs(&evidence, arm);
        assert_eq!(all.len(), 1, "{arm}");
        // 1 Mbit/s is far below what any host does by itself.
        assert!(all[0].values["received_rate"] > 1e6, "{:?}", all[0].values);
        assert!(all[0].values.contains_key("retransmits"), "{:?}", all[0].values);
    }
}
