//! Rows of a record as CSV: runs, samples and rejected configurations.
//!
//! One rule keeps spreadsheets from running a cell as a formula and loses nothing: a text that
//! begins with `=`, `+`, `-`, `@`, a tab, a carriage return or an apostrophe and is no plain number
//! gets one apostrophe in front; a reader takes one leading apostrophe off. Every text is quoted,
//! every number is bare and has all its digits. The first line names the columns, with units.

use std::collections::BTreeSet;

use csv::{QuoteStyle, WriterBuilder};

use super::event::{CellNote, RoleNote};
use super::fold::{Evidence, RunRow};
use crate::model::cell::CellId;
use crate::model::job::End;
use crate::model::metric;
use crate::model::outcome::{Fate, RunOutcome};
use crate::model::workload::Stamps;

/// A configuration that was measured and lost; judging names it, this room writes it down.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss {
    pub cell: CellId,
    pub reason: String,
    pub evidence: String,
}

/// Every attempt of every run, whatever came of it.
pub fn runs_csv(evidence: &Evidence) -> String {
    let variables = variables(evidence);
    let metrics = metrics(evidence);
    let roles = roles(evidence);
    let mut header: Vec<String> = ["cell", "arm", "kind"].map(str::to_owned).to_vec();
    header.extend(variables.iter().map(|v| format!("level.{v}")));
    let plain = ["block", "rerun_of", "attempt", "position", "session", "began_at", "ended_at"];
    header.extend(plain.map(str::to_owned));
    header.extend(["outcome", "reason", "elapsed (ns)"].map(str::to_owned));
    header.extend(metrics.iter().map(|(name, unit)| format!("{name} ({unit})")));
    header.push("absent".to_owned());
    header.push("cautions".to_owned());
    for role in &roles {
        let of = ["host", "command", "end", "exit_status", "signal", "wall (ns)", "stdout_sha256"];
        header.extend(of.map(|column| format!("{role}.{column}")));
    }
    let mut rows = vec![header];
    for row in &evidence.runs {
        rows.push(run_row(evidence, row, &variables, &metrics, &roles));
    }
    csv(rows)
}

/// Every reading inside every run. `value` has the unit that `unit` names; `step` numbers the loads of a
/// run that has several.
pub fn samples_csv(evidence: &Evidence) -> String {
    let units = metrics(evidence);
    let header =
        ["cell", "block", "attempt", "outcome", "step", "metric", "unit", "at (ns)", "value", "settling"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for row in &evidence.runs {
        let run = &row.note.run;
        for sample in &row.note.samples {
            let unit = units.iter().find(|(name, _)| *name == sample.metric).map_or("", |(_, unit)| unit);
            rows.push(vec![
                safe(&run.cell.0),
                run.block.to_string(),
                run.attempt.to_string(),
                row.note.outcome.name().to_owned(),
                sample.step.map_or(String::new(), |step| step.to_string()),
                safe(&sample.metric),
                safe(unit),
                sample.at_ns.to_string(),
                number(sample.value),
                sample.settling.to_string(),
            ]);
        }
    }
    csv(rows)
}

/// Every configuration that was turned down, at whatever stage: declared exclusion (`rule`), `host`,
/// `proof`, `acceptance` (a run that was rejected) and `loss` (measured and worse than control).
pub fn rejected_csv(evidence: &Evidence, losses: &[Loss]) -> String {
    let header = ["cell", "arm", "stage", "fate", "block", "attempt", "reason", "evidence"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for note in evidence.cells.values().filter(|c| c.fate != Fate::Live) {
        let stage = note.stage.as_deref().unwrap_or(note.fate.name());
        let reason = note.reason.as_deref().unwrap_or("");
        rows.push(rejected_row(note, stage, note.fate.name(), None, reason, &note.evidence.join("\n")));
    }
    for row in evidence.runs.iter().filter(|r| r.note.outcome == RunOutcome::Rejected) {
        if let Some(note) = evidence.cells.get(&row.note.run.cell) {
            let reason = row.note.reason.as_deref().unwrap_or("");
            rows.push(rejected_row(note, "acceptance", "rejected", Some(row), reason, &observed(row)));
        }
    }
    for loss in losses {
        if let Some(note) = evidence.cells.get(&loss.cell) {
            rows.push(rejected_row(note, "loss", "measured", None, &loss.reason, &loss.evidence));
        }
    }
    csv(rows)
}

/// What a run had observed, as `metric=value` lines; also for a run that does not count.
pub fn observed(row: &RunRow) -> String {
    let values = row.note.values.iter().map(|(name, value)| format!("{name}={value}"));
    values.collect::<Vec<_>>().join("\n")
}

/// Metric names with units: those of the workload first, then others that some run carries. What hangs on
/// a wish of the campaign is there only where some run speaks of it.
pub fn metrics(evidence: &Evidence) -> Vec<(String, String)> {
    let opening = evidence.opening.as_ref();
    let known: &[metric::Metric] = match opening.map(|o| o.workload.as_str()) {
        Some("packets") => &metric::PACKETS,
        Some("command") => &metric::COMMAND,
        _ => &[],
    };
    let spoken_of: BTreeSet<&String> = evidence
        .runs
        .iter()
        .flat_map(|r| r.note.values.keys().chain(r.note.absent.keys()).chain(sampled(r)))
        .collect();
    let software = opening.is_some_and(|o| o.stamps == Stamps::Software.name());
    let mut found: Vec<(String, String)> = known
        .iter()
        .filter(|m| m.needs.is_empty() || spoken_of.contains(&m.name.to_owned()))
        .map(|m| (m.name.to_owned(), metric::unit_shown(m, software)))
        .collect();
    let responses = opening.map_or(&[][..], |o| &o.responses);
    let extra: BTreeSet<&String> =
        evidence.runs.iter().flat_map(|r| r.note.values.keys().chain(sampled(r))).collect();
    for name in extra {
        if !found.iter().any(|(known, _)| known == name) {
            let offered = name.starts_with(metric::OFFERED_RATE).then_some("frames/s");
            let unit = responses.iter().find(|r| r.name == *name).map(|r| r.unit.as_str());
            found.push((name.clone(), unit.or(offered).unwrap_or("unit unknown").to_owned()));
        }
    }
    found
}

fn sampled(row: &RunRow) -> impl Iterator<Item = &String> {
    row.note.samples.iter().map(|sample| &sample.metric)
}

fn run_row(
    evidence: &Evidence,
    row: &RunRow,
    variables: &[String],
    metrics: &[(String, String)],
    roles: &[String],
) -> Vec<String> {
    let note = &row.note;
    let cell = evidence.cells.get(&note.run.cell);
    let kind = cell.and_then(|c| serde_json::to_value(c.kind).ok());
    let mut fields = vec![
        safe(&note.run.cell.0),
        safe(cell.map_or("", |c| &c.arm)),
        kind.as_ref().and_then(|k| k.as_str()).unwrap_or("").to_owned(),
    ];
    let level = |v: &String| cell.and_then(|c| c.levels.get(v)).map_or(String::new(), |l| safe(l));
    fields.extend(variables.iter().map(level));
    let rerun_of = evidence.blocks.get(&note.run.block).and_then(|b| b.rerun_of.as_ref());
    fields.extend([
        note.run.block.to_string(),
        rerun_of.map_or(String::new(), |c| safe(&c.0)),
        note.run.attempt.to_string(),
        note.position.to_string(),
        (row.session + 1).to_string(),
        evidence.began.get(&note.run).cloned().unwrap_or_default(),
        row.at.clone(),
        note.outcome.name().to_owned(),
        safe(note.reason.as_deref().unwrap_or("")),
        note.elapsed_ns.to_string(),
    ]);
    fields
        .extend(metrics.iter().map(|(name, _)| note.values.get(name).map_or(String::new(), |v| number(*v))));
    let absent: Vec<String> = note.absent.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    fields.push(safe(&absent.join("\n")));
    let cautions: Vec<String> = note.cautions.iter().map(|(what, seen)| format!("{what}: {seen}")).collect();
    fields.push(safe(&cautions.join("\n")));
    for role in roles {
        fields.extend(role_fields(note.roles.iter().find(|r| r.role == *role && r.phase.is_run())));
    }
    fields
}

fn role_fields(role: Option<&RoleNote>) -> [String; 7] {
    let Some(role) = role else { return Default::default() };
    let report = &role.report;
    let (end, status, signal) = match &report.end {
        End::Exited(status) => ("exited".to_owned(), status.to_string(), String::new()),
        End::Signalled(signal) => ("signalled".to_owned(), String::new(), signal.to_string()),
        End::TimedOut => ("timed_out".to_owned(), String::new(), String::new()),
        End::Stopped => ("stopped".to_owned(), String::new(), String::new()),
        End::NotStarted(why) => (format!("not started: {why}"), String::new(), String::new()),
    };
    let digest = safe(&report.stdout.sha256);
    [safe(&role.host), safe(&role.command), safe(&end), status, signal, report.wall_ns.to_string(), digest]
}

fn rejected_row(
    cell: &CellNote,
    stage: &str,
    fate: &str,
    run: Option<&RunRow>,
    reason: &str,
    evidence: &str,
) -> Vec<String> {
    vec![
        safe(&cell.cell.0),
        safe(&cell.arm),
        safe(stage),
        fate.to_owned(),
        run.map_or(String::new(), |r| r.note.run.block.to_string()),
        run.map_or(String::new(), |r| r.note.run.attempt.to_string()),
        safe(reason),
        safe(evidence),
    ]
}

fn variables(evidence: &Evidence) -> Vec<String> {
    evidence.opening.as_ref().map_or(vec![], |o| o.variables.keys().cloned().collect())
}

fn roles(evidence: &Evidence) -> Vec<String> {
    let mut found: Vec<String> = vec![];
    for role in evidence.runs.iter().flat_map(|r| &r.note.roles).filter(|r| r.phase.is_run()) {
        if !found.contains(&role.role) {
            found.push(role.role.clone());
        }
    }
    found
}

/// A text cell under the rule at the head of this file.
pub(super) fn safe(text: &str) -> String {
    let risky = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\'']);
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    let is_number = text.chars().all(digits) && text.parse::<f64>().is_ok_and(f64::is_finite);
    if risky && !is_number { format!("'{text}") } else { text.to_owned() }
}

/// Shortest text that reads back as the same number; empty where there is none.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

pub(super) fn csv(rows: Vec<Vec<String>>) -> String {
    let mut writer = WriterBuilder::new().quote_style(QuoteStyle::NonNumeric).from_writer(Vec::new());
    for row in rows {
        // Memory takes every write and all rows have the header's length.
        if let Err(e) = writer.write_record(&row) {
            unreachable!("a row of {} fields cannot be written: {e}", row.len());
        }
    }
    match writer.into_inner() {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(e) => unreachable!("rows cannot be flushed to memory: {e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::event::Sample;
    use crate::evidence::example::{self, Record};
    use crate::model::arm::ArmKind;

    fn read(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().expect("header").iter().map(str::to_owned).collect();
        let rows = reader.records().map(|r| r.expect("row").iter().map(str::to_owned).collect()).collect();
        (header, rows)
    }

    fn column(header: &[String], name: &str) -> usize {
        header.iter().position(|h| h == name).unwrap_or_else(|| panic!("no column {name} in {header:?}"))
    }

    #[test]
    fn texts_that_look_like_formulas_are_neutralised_and_numbers_stay_numbers() {
        for (text, expected) in [
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("+1-2", "'+1-2"),
            ("-rf", "'-rf"),
            ("@x", "'@x"),
            ("'quoted", "''quoted"),
            ("\t=1", "'\t=1"),
            ("-5.55", "-5.55"),
            ("-22.75", "-22.75"),
            ("-inf", "'-inf"),
            ("plain", "plain"),
        ] {
            assert_eq!(safe(text), expected);
        }
        assert_eq!(number(-5.55), "-5.55");
        assert_eq!(number(0.1 + 0.2), "0.30000000000000004");
        assert_eq!(number(f64::NAN), "");
    }

    #[test]
    fn every_attempt_is_a_row_with_its_outcome_and_what_was_observed() {
        let mut record = Record::open(&[("=new", ArmKind::Treatment)], 1);
        let old = record.cell(&[("size", "1")], "old", Fate::Live, None);
        let new = record.cell(&[("size", "1")], "=new", Fate::Live, None);
        record.block(1, None, &[&old, &new]);
        record.measured(&old, 1, -5.55);
        let mut slow = example::run(&new.0, 1, 60.0);
        slow.outcome = RunOutcome::TimedOut;
        slow.reason = Some("-60 s, the deadline".into());
        slow.roles = vec![example::role("run", "h1", "scan 'a b'", End::Signalled(9))];
        slow.samples =
            vec![Sample { metric: "wall_time".into(), at_ns: 5, value: 0.25, settling: true, step: None }];
        record.run(slow.clone());
        slow.run.attempt = 2;
        slow.outcome = RunOutcome::Failed;
        slow.values.clear();
        slow.absent.insert("wall_time".into(), "died".into());
        record.run(slow);
        record.push(crate::evidence::event::Event::RunBegan {
            run: crate::model::cell::RunKey { cell: old.clone(), block: 1, attempt: 2 },
            position: 4,
        });
        record.evidence.finish("2026-11-30T11:00:00Z");

        let text = runs_csv(&record.evidence);
        assert!(text.contains(",-5.55,"), "a number is never quoted: {text}");
        let (header, rows) = read(&text);
        let at = |name: &str| column(&header, name);
        let outcomes: Vec<&str> = rows.iter().map(|r| r[at("outcome")].as_str()).collect();
        assert_eq!(outcomes, ["measured", "timed_out", "failed", "interrupted"]);
        assert_eq!(rows[1][at("arm")], "'=new");
        assert_eq!(rows[1][at("reason")], "'-60 s, the deadline");
        assert_eq!(rows[1][at("wall_time (s)")], "60");
        assert_eq!((rows[1][at("run.signal")].as_str(), rows[1][at("run.exit_status")].as_str()), ("9", ""));
        assert_eq!(rows[1][at("run.command")], "scan 'a b'");
        assert_eq!(rows[2][at("absent")], "wall_time: died");
        assert_eq!((rows[1][at("attempt")].as_str(), rows[2][at("attempt")].as_str()), ("1", "2"));
        assert!(rows.iter().all(|r| r[at("began_at")].starts_with("2026-")), "{rows:?}");
        assert_eq!(rows[3][at("ended_at")], "2026-11-30T11:00:00Z");

        let (header, rows) = read(&samples_csv(&record.evidence));
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0][column(&header, "unit")], "s");
        assert_eq!(rows[0][column(&header, "settling")], "true");
    }

    #[test]
    fn rejected_configurations_of_every_stage_share_one_table() {
        let mut record = Record::open(&[("new", ArmKind::Treatment), ("bad", ArmKind::Treatment)], 1);
        let old = record.cell(&[("size", "1")], "old", Fate::Live, None);
        let new = record.cell(&[("size", "1")], "new", Fate::Live, None);
        record.cell(
            &[("size", "1")],
            "bad",
            Fate::Refused,
            Some(("proof", "another answer", "1532 != 1519")),
        );
        record.cell(&[("size", "8")], "new", Fate::Excluded, Some(("rule", "seven queues", "size > 7")));
        record.block(1, None, &[&old, &new]);
        record.measured(&old, 1, 1.0);
        record.ended(&new, 1, RunOutcome::Rejected, "lost 3 frames");
        let loss = Loss { cell: new.clone(), reason: "slower".into(), evidence: "ratio 1.4".into() };
        let (header, rows) = read(&rejected_csv(&record.evidence, &[loss]));
        let stage = column(&header, "stage");
        let stages: Vec<&str> = rows.iter().map(|r| r[stage].as_str()).collect();
        assert_eq!(stages, ["proof", "rule", "acceptance", "loss"]);
        assert_eq!(rows[2][column(&header, "reason")], "lost 3 frames");
        assert_eq!(rows[0][column(&header, "evidence")], "1532 != 1519");
    }
}
