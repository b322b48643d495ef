//! Programs that fail now and then, by real runs: what is told of them, and what their numbers are worth.

use fieldtrial::analysis::findings::Verdict;
use fieldtrial::analysis::judge::judge;
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::model::outcome::RunOutcome;
use fieldtrial::record::{Folder, read};

use crate::desk::{Desk, code, csv_rows, stderr, stdout};
use crate::process::told;

/// A control that takes a while, and a treatment that is over at once and fails in these starts; its proof
/// is the first start.
fn campaign(count: &std::path::Path, fails: &str) -> String {
    format!(
        "campaign: c\nquestion: Does it hold?\nhosts: hosts.yaml\ncontrol: {{set: {{pause: '0.05'}}}}\n\
         treatments: [{{name: flaky, change: {{pause: '0'}}}}]\nworkload:\n  command:\n    on: here\n    shell: |\n      \
         sleep ${{pause}}; echo same\n      \
         if [ ${{pause}} = 0 ]; then echo x >>{count}; fi\n      \
         case \"${{pause}} $(wc -l <{count})\" in {fails}) echo 'no space on the moon' >&2; exit 2;; esac\n\
         blocks: {{count: 10, order: forward}}\ntimeout: 20s\n",
        count = count.display()
    )
}

fn ran(fails: &str) -> (Desk, std::process::Output, Evidence) {
    let place = tempfile::tempdir().expect("a folder");
    let count = place.path().join("starts");
    std::fs::write(&count, "").expect("written");
    let desk = Desk::new(&campaign(&count, fails));
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    let evidence =
        read(&Folder::open(&desk.record("reports")).expect("a record")).expect("readable").evidence;
    (desk, output, evidence)
}

#[test]
fn a_failing_program_is_not_the_fastest() {
    // Case E01: all runs of the quick arm fail, after a proof that succeeded.
    let (_, output, evidence) = ran("'0 1') ;; '0 '*");
    assert_eq!(code(&output), 5, "{}", told(&output));
    let findings = judge(&evidence);
    let flaky = findings.cells.iter().find(|cell| cell.arm == "flaky").expect("the cell");
    assert_eq!(flaky.outcomes.get("failed"), Some(&10));
    assert!(flaky.responses.iter().all(|of| of.n == 0 && of.median.is_none() && of.mean.is_none()));
    let answer = &findings.answers[0];
    assert!(answer.ratio.is_none() && answer.verdict != Verdict::Better, "{}", answer.sentence);
}

#[test]
fn flaky_failures_stand_beside_the_numbers_and_take_their_verdict() {
    // Case E06: the arm is far quicker, and three of its ten runs failed.
    let (desk, output, evidence) = ran("'0 3'|'0 5'|'0 8'");
    assert_eq!(code(&output), 5, "{}", told(&output));
    assert!(stdout(&output).contains("7 of 10") && stdout(&output).contains("3 failed"), "{}", told(&output));
    let rows = csv_rows(&desk.record("reports").join("runs.csv"));
    assert_eq!(rows.len(), 20, "every run is in the table");
    assert_eq!(rows.iter().filter(|row| row["outcome"] == "failed").count(), 3);
    let findings = judge(&evidence);
    let flaky = findings.cells.iter().find(|cell| cell.arm == "flaky").expect("the cell");
    assert_eq!((flaky.responses[0].n, flaky.outcomes["failed"]), (7, 3));
    let answer = &findings.answers[0];
    assert!(answer.ratio.is_some_and(|ratio| ratio < 1.0), "it is quicker: {answer:?}");
    assert_ne!(answer.verdict, Verdict::Better, "{}", answer.sentence);
    assert!(answer.sentence.contains("flaky completed 7 of its 10 runs"), "{}", answer.sentence);
}

#[test]
fn a_run_that_fails_is_named_with_its_place_its_command_and_its_last_words() {
    // Case E07.
    let (desk, output, evidence) = ran("'0 5'");
    assert_eq!(code(&output), 5, "{}", told(&output));
    // In the order of the blocks the fifth start, after the proof, is that of block 4: run 8 of 20.
    let line = stderr(&output).lines().find(|line| line.contains("failed")).map(str::to_owned);
    let line = line.unwrap_or_else(|| panic!("{}", told(&output)));
    for word in ["[8/20]", "/flaky#4.1", "run on here", "exit status 2"] {
        assert!(line.contains(word), "{word}: {line}");
    }
    assert!(stderr(&output).contains("no space on the moon"), "{}", told(&output));
    let row = evidence.runs.iter().find(|row| row.note.outcome == RunOutcome::Failed).expect("the run");
    let role = &row.note.roles[0];
    assert_eq!((row.note.position, role.host.as_str()), (2, "here"));
    assert!(role.command.contains("/bin/sh -c") && role.command.contains("sleep 0;"), "{}", role.command);
    assert_eq!(role.stderr_head, "no space on the moon\n");
    let rows = csv_rows(&desk.record("reports").join("runs.csv"));
    let failed = rows.iter().find(|row| row["outcome"] == "failed").expect("its row");
    assert!(failed["reason"].contains("exit status 2"), "{failed:?}");
    assert!(failed.values().any(|value| value.contains("sleep 0;")), "the full command: {failed:?}");
    let page = std::fs::read_to_string(desk.record("reports").join("index.html")).expect("a page");
    assert!(page.contains("no space on the moon") && page.contains("exit status 2"));
}
