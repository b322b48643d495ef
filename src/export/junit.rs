//! JUnit XML: a test case for each planned cell, and for what must hold of the whole record.

use std::collections::BTreeMap;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::analysis::findings::{CellSummary, Findings};
use crate::evidence::fold::{Evidence, RunRow};
use crate::model::cell::CellId;
use crate::model::outcome::{Fate, RunOutcome};
use crate::report::number::{exact, visible};

/// What the campaign may have declared that it expects: a refused cell (None), or the outcome of a run.
pub type Expected<'a> = &'a dyn Fn(Option<RunOutcome>, &CellId) -> bool;

/// A cell fails where it was refused or where a run of it was rejected, timed out, failed or was interrupted; it
/// is skipped where a rule excludes it, where the trial did not reach it, or where the campaign declared that
/// it expects just this. A verdict such as `worse` is a result and no failure: `gate` judges.
///
/// # Errors
/// A text that XML cannot hold, which none is after it was made visible.
pub fn junit(evidence: &Evidence, findings: &Findings, expected: Expected) -> Result<String, SerializeError> {
    let campaign = findings.campaign.as_deref().unwrap_or("fieldtrial");
    let record = findings.record.as_deref().unwrap_or("");
    let mut report = Report::new("fieldtrial");
    let mut cells = TestSuite::new(format!("{campaign} {record}: cells"));
    let mut runs: BTreeMap<&CellId, Vec<&RunRow>> = BTreeMap::new();
    for row in evidence.planned_runs() {
        runs.entry(&row.note.run.cell).or_default().push(row);
    }
    for cell in &findings.cells {
        let rows = runs.get(&cell.cell).map_or(&[][..], |rows| rows.as_slice());
        cells.add_test_case(case(evidence, findings, cell, rows, expected));
    }
    let mut whole = TestSuite::new(format!("{campaign} {record}: the whole record"));
    if let Some(sums) = &findings.sums {
        let holds = [sums.cells_hold, sums.runs_hold];
        for ((words, holds), name) in
            sums.words.iter().zip(holds).zip(["every cell is accounted for", "every run is accounted for"])
        {
            whole.add_test_case(held(name, holds, words));
        }
    }
    whole.add_test_case(held("the trial is complete", findings.complete, "planned runs are not decided yet"));
    report.add_test_suite(cells);
    report.add_test_suite(whole);
    report.to_string()
}

fn held(name: &str, holds: bool, words: &str) -> TestCase {
    let mut status = TestCaseStatus::success();
    if !holds {
        status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type("incomplete").set_message(visible(words));
    }
    TestCase::new(name, status)
}

fn case(
    evidence: &Evidence,
    findings: &Findings,
    cell: &CellSummary,
    rows: &[&RunRow],
    expected: Expected,
) -> TestCase {
    let mut case = TestCase::new(visible(&cell.cell.0), status(evidence, cell, rows, expected));
    case.set_classname(visible(findings.campaign.as_deref().unwrap_or("fieldtrial")));
    case.set_time(Duration::from_nanos(rows.iter().map(|row| row.note.elapsed_ns).sum()));
    for found in &cell.responses {
        let median =
            found.median.map(exact).or_else(|| found.absent.get("median").map(|why| format!("none: {why}")));
        let mut put = |name: &str, value: String| {
            case.add_property(Property::new(visible(&format!("{}.{name}", found.response)), visible(&value)));
        };
        put("median", median.unwrap_or_else(|| "none".to_owned()));
        put("unit", found.unit.clone());
        put("n", found.n.to_string());
    }
    let effects = findings.effects.iter().filter(|e| e.cell.as_ref() == Some(&cell.cell));
    let mut sentences = vec![];
    for effect in effects {
        let name = visible(&format!("{}.verdict", effect.response));
        case.add_property(Property::new(name, effect.verdict.word()));
        sentences.push(visible(&effect.sentence));
    }
    if !sentences.is_empty() {
        case.set_system_out(sentences.join("\n"));
    }
    case
}

fn status(evidence: &Evidence, cell: &CellSummary, rows: &[&RunRow], expected: Expected) -> TestCaseStatus {
    let note = evidence.cells.get(&cell.cell);
    let reason = note.and_then(|n| n.reason.clone()).unwrap_or_else(|| "no reason was recorded".to_owned());
    let told = note.map_or(String::new(), |n| n.evidence.join("\n"));
    match cell.fate {
        Fate::Excluded => skipped("excluded", &reason, &told),
        Fate::Refused if expected(None, &cell.cell) => skipped("refused, as expected", &reason, &told),
        Fate::Refused => failure("refused", &reason, &told),
        Fate::Live => of_runs(cell, rows, expected),
    }
}

fn of_runs(cell: &CellSummary, rows: &[&RunRow], expected: Expected) -> TestCaseStatus {
    let amiss: Vec<&&RunRow> = rows.iter().filter(|row| row.note.outcome != RunOutcome::Measured).collect();
    let lines = |rows: &[&&RunRow]| {
        let line = |row: &&&RunRow| {
            let reason = row.note.reason.as_deref().unwrap_or("no reason was recorded");
            format!("{} {}: {reason}", row.note.run, row.note.outcome.name().replace('_', " "))
        };
        rows.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    let unexpected: Vec<&&RunRow> =
        amiss.iter().filter(|row| !expected(Some(row.note.outcome), &cell.cell)).copied().collect();
    let counted = |rows: &[&&RunRow], all: usize| {
        let mut parts: Vec<String> = vec![];
        for outcome in &RunOutcome::ALL[1..] {
            match rows.iter().filter(|row| row.note.outcome == *outcome).count() {
                0 => {}
                n => parts.push(format!("{n} of {all} runs {}", outcome.name().replace('_', " "))),
            }
        }
        parts.join(", ")
    };
    match (unexpected.first(), amiss.len()) {
        (Some(first), _) => {
            failure(first.note.outcome.name(), &counted(&unexpected, rows.len()), &lines(&unexpected))
        }
        (None, 0) if rows.is_empty() => skipped("not run", "the trial did not reach this cell", ""),
        (None, 0) => TestCaseStatus::success(),
        (None, n) if n == rows.len() => skipped("as expected", &counted(&amiss, rows.len()), &lines(&amiss)),
        (None, _) => TestCaseStatus::success(),
    }
}

fn failure(kind: &str, message: &str, description: &str) -> TestCaseStatus {
    told(TestCaseStatus::non_success(NonSuccessKind::Failure), kind, message, description)
}

fn skipped(kind: &str, message: &str, description: &str) -> TestCaseStatus {
    told(TestCaseStatus::skipped(), kind, message, description)
}

fn told(mut status: TestCaseStatus, kind: &str, message: &str, description: &str) -> TestCaseStatus {
    status.set_type(kind).set_message(visible(message));
    if !description.is_empty() {
        status.set_description(visible(description));
    }
    status
}
