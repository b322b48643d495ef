//! A run leaves the analysis only by an annotation, which everything shows and nothing hides.

use crate::desk::{code, csv_rows, stderr, stdout};
use crate::exported::{FORMULA, copy, text};
use crate::process::told;

const RUN: &str = "text=-5.55/slower#3.1";

fn findings(record: &std::path::Path) -> serde_json::Value {
    let text = std::fs::read_to_string(record.join("findings.json")).expect("findings");
    serde_json::from_str(&text).expect("strict JSON")
}

fn answer(findings: &serde_json::Value, arm: &str) -> serde_json::Value {
    let answers = findings["answers"].as_array().expect("answers");
    answers.iter().find(|a| a["arm"] == arm && a["exploratory"] == false).expect("an answer").clone()
}

#[test]
fn an_annotated_run_leaves_every_estimate_and_stays_in_every_table() {
    let (desk, record) = copy();
    let path = text(&record);
    let journal = std::fs::read(record.join("journal.jsonl")).unwrap();
    let before = findings(&record);
    let reason = "the fan was off | <b>really</b>";
    let output = desk.fieldtrial(&["annotate", &path, "--run", RUN, "--invalid", reason]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert!(stdout(&output).contains("was annotated as invalid by"), "{}", told(&output));
    assert!(stdout(&output).contains("With the annotated runs: slower is worse"), "{}", told(&output));

    let after_journal = std::fs::read(record.join("journal.jsonl")).unwrap();
    assert!(
        after_journal.starts_with(&journal) && after_journal.len() > journal.len(),
        "it is only appended to"
    );
    let after = findings(&record);
    assert_eq!(answer(&before, "slower")["n"], 8);
    assert_eq!(answer(&after, "slower")["n"], 7);
    let with = after["as_run"].as_array().expect("answers with the run");
    assert_eq!(with[0], answer(&before, "slower"), "with the run the answer is what it was");
    assert_eq!(after["annotations"][0]["outcome_as_run"], "measured");
    assert_eq!(after["annotations"][0]["reason"], reason);
    assert_eq!(after["sums"]["by_outcome"]["rejected"], 1);
    assert_eq!(after["sums"]["runs_hold"], true, "the sum holds");

    let rows = csv_rows(&record.join("runs.csv"));
    assert_eq!(rows.len(), 40, "no row is gone");
    let row = rows.iter().find(|r| format!("{}#{}.{}", r["cell"], r["block"], r["attempt"]) == RUN).unwrap();
    assert_eq!((row["outcome"].as_str(), row["outcome_as_run"].as_str()), ("rejected", "measured"));
    assert!(row["wall_time (s)"].parse::<f64>().is_ok() && row["reason"].contains(reason), "{row:?}");
    let rejected = csv_rows(&record.join("rejected.csv"));
    assert!(
        rejected.iter().any(|r| r["stage"] == "annotation" && r["reason"].contains(reason)),
        "{rejected:?}"
    );
    let page = std::fs::read_to_string(record.join("index.html")).unwrap();
    assert!(page.contains("Annotated by a person") && page.contains("annotated as invalid"));
    assert!(page.contains("&lt;b&gt;really&lt;") && !page.contains("<b>really"), "the reason is no markup");
    let shown = stdout(&desk.fieldtrial(&["show", &path, "--cell", "text=-5.55/slower"]));
    assert!(shown.contains("as it ran: measured") && shown.contains("with the annotated runs: "), "{shown}");

    let output =
        desk.fieldtrial(&["annotate", &path, "--run", RUN, "--valid", "it was another fan", "--json"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let again = findings(&record);
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(said["findings"], again);
    assert_eq!(again["answers"], before["answers"], "as if nothing had been said");
    assert_eq!(again["annotations"].as_array().map(Vec::len), Some(2), "but both are told");
    assert_eq!(again["annotations"][0]["holds"], false);
    let page = std::fs::read_to_string(record.join("index.html")).unwrap();
    assert!(page.contains("invalid, taken back later") && page.contains("it was another fan"));
}

#[test]
fn a_timed_out_run_and_a_control_can_be_annotated_and_counts_stay_whole() {
    let (desk, record) = copy();
    let control = ["text=-5.55/plain#1.1", "text=-5.55/plain#2.1", "text=-5.55/plain#1.1"];
    let args = [
        "annotate",
        &text(&record),
        "--invalid",
        "warm-up",
        "--run",
        control[0],
        "--run",
        control[1],
        "--run",
    ];
    let output = desk.fieldtrial(&[&args[..], &[control[2]]].concat());
    assert_eq!(code(&output), 0, "{}", told(&output));
    let found = findings(&record);
    assert_eq!(found["annotations"].as_array().map(Vec::len), Some(2), "naming a run twice says it once");
    assert_eq!(found["sums"]["by_outcome"]["rejected"], 2);
    assert_eq!(answer(&found, "slower")["n"], 6, "its pairs leave with the control's runs");
    assert_eq!(
        code(&desk.fieldtrial(&["report", &text(&record)])),
        5,
        "the record is one with rejected runs"
    );
}

#[test]
fn what_cannot_be_annotated_is_refused_and_nothing_is_written() {
    let (desk, record) = copy();
    let path = text(&record);
    let before = std::fs::read(record.join("journal.jsonl")).unwrap();
    let failed = format!("{FORMULA}/flaky#3.1");
    let rows = csv_rows(&record.join("runs.csv"));
    let failed = rows
        .iter()
        .find(|r| r["outcome"] == "failed")
        .map_or(failed, |r| format!("{}#{}.{}", r["cell"], r["block"], r["attempt"]));
    for (run, flag, reason, expected) in [
        ("text=-5.55/slower#9.1", "--invalid", "x", "matches no run of this record; the nearest are"),
        ("text=-5.55/slower", "--invalid", "x", "text=-5.55/slower#1.1"),
        (RUN, "--invalid", "  ", "expected a reason, found none"),
        (RUN, "--valid", "x", "is not annotated as invalid; it was measured"),
        (&failed, "--invalid", "x", "is in no estimate already, because it was failed"),
    ] {
        let output = desk.fieldtrial(&["annotate", &path, "--run", run, flag, reason]);
        assert_eq!(code(&output), 2, "{}", told(&output));
        assert!(stderr(&output).contains(expected), "{expected}: {}", told(&output));
    }
    assert_eq!(code(&desk.fieldtrial(&["annotate", &path, "--run", RUN])), 2, "a reason is needed");
    assert_eq!(std::fs::read(record.join("journal.jsonl")).unwrap(), before);
    assert_eq!(code(&desk.fieldtrial(&["annotate", &path, "--run", RUN, "--invalid", "x"])), 0);
    let twice = desk.fieldtrial(&["annotate", &path, "--run", RUN, "--invalid", "y"]);
    assert_eq!(code(&twice), 2);
    assert!(
        stderr(&twice).contains("is out of the analysis already")
            && stderr(&twice).contains("next: `--valid")
    );
}

#[test]
fn a_record_that_another_fieldtrial_writes_to_is_not_annotated() {
    let (desk, record) = copy();
    let journal = std::fs::OpenOptions::new().append(true).open(record.join("journal.jsonl")).unwrap();
    journal.lock().unwrap();
    let output = desk.fieldtrial(&["annotate", &text(&record), "--run", RUN, "--invalid", "x"]);
    assert_eq!(code(&output), 12, "{}", told(&output));
    assert!(stderr(&output).contains("in use by another fieldtrial"), "{}", told(&output));
    drop(journal);
    assert_eq!(code(&desk.fieldtrial(&["annotate", &text(&record), "--run", RUN, "--invalid", "x"])), 0);
}
