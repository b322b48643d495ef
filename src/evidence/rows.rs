//! Samples and rejected configurations of a record, each a sheet with its columns.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::event::CellNote;
use super::fold::{Evidence, RunRow};
use super::sheet::{Column, Field, Kind, Sheet};
use crate::model::cell::CellId;
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

/// Cell, block and attempt, which name a run in every file.
pub(super) fn run_columns() -> Vec<Column> {
    vec![
        Column::text("cell", "id of the cell: its levels, a slash, its arm"),
        Column::integer("block", "", "number of the block, from 1; reruns add blocks of their own"),
        Column::integer("attempt", "", "number of the attempt at this cell in this block, from 1"),
    ]
}

/// Every reading inside every run. `value` has the unit that `unit` names.
pub fn samples(evidence: &Evidence) -> Sheet<'_> {
    let units: HashMap<String, String> = metrics(evidence).into_iter().collect();
    let units = Rc::new(units);
    let rows = evidence.runs.iter().flat_map(move |row| {
        let units = Rc::clone(&units);
        row.note.samples.iter().map(move |sample| {
            let unit = units.get(&*sample.metric).cloned().unwrap_or_default();
            let mut fields = run_fields(row);
            fields.extend([
                row.note.outcome.name().into(),
                sample.step.into(),
                (&*sample.metric).into(),
                unit.into(),
                sample.at_ns.into(),
                sample.value.into(),
                sample.settling.into(),
            ]);
            fields
        })
    });
    Sheet::new("samples.csv", samples_columns(), rows)
}

fn samples_columns() -> Vec<Column> {
    let mut columns = run_columns();
    columns.extend([
        Column::text("outcome", "outcome of the run that the sample is from, as in runs.csv"),
        Column::integer("step", "", "number of the load that it belongs to, from 1, where a run has several"),
        Column::text("metric", "what was read"),
        Column::text("unit", "unit of `value`"),
        Column::integer("at", "ns", "when it was read, from the start of traffic"),
        Column::number(
            "value",
            "",
            "the reading, in the unit that `unit` names; never counted as a replicate",
        ),
        Column::of(Kind::Boolean, "settling", "", "whether it lies in the warm-up, hence in no response"),
    ]);
    columns
}

/// Every configuration that was turned down, at whatever stage.
pub fn rejected<'e>(evidence: &'e Evidence, losses: &[Loss]) -> Sheet<'e> {
    let mut rows = vec![];
    for note in evidence.cells.values().filter(|c| c.fate != Fate::Live) {
        let stage = note.stage.as_deref().unwrap_or(note.fate.name());
        let reason = note.reason.as_deref().unwrap_or("");
        rows.push(rejected_row(note, stage, note.fate.name(), None, reason, note.evidence.join("\n")));
    }
    for row in evidence.runs.iter().filter(|r| r.note.outcome == RunOutcome::Rejected) {
        if let Some(note) = evidence.cells.get(&row.note.run.cell) {
            let reason = row.note.reason.as_deref().unwrap_or("");
            let stage = if row.as_run.is_some() { "annotation" } else { "acceptance" };
            rows.push(rejected_row(note, stage, "rejected", Some(row), reason, observed(row)));
        }
    }
    for loss in losses {
        if let Some(note) = evidence.cells.get(&loss.cell) {
            let evidence = loss.evidence.clone();
            rows.push(rejected_row(note, "loss", "measured", None, loss.reason.clone(), evidence));
        }
    }
    Sheet::new("rejected.csv", rejected_columns(), rows)
}

fn rejected_columns() -> Vec<Column> {
    let [cell, block, attempt] = run_columns().try_into().unwrap_or_else(|_| unreachable!("three columns"));
    vec![
        cell,
        Column::text("arm", "control, treatment, combination, anchor or twin, by its name"),
        Column::text(
            "stage",
            "what turned it down: rule (declared exclusion), host, link, proof, acceptance (a run broke a rule), annotation \
             (a person declared a run invalid), loss (measured and worse than the control)",
        ),
        Column::text(
            "fate",
            "excluded or refused: never timed; rejected: a run that does not count; measured: a loss",
        ),
        Column { meaning: format!("{}; empty where a whole cell was turned down", block.meaning), ..block },
        Column {
            meaning: format!("{}; empty where a whole cell was turned down", attempt.meaning),
            ..attempt
        },
        Column::text("reason", "why, in words"),
        Column::text("evidence", "the difference, fact or numbers behind the reason, a line each"),
    ]
}

/// Empty sheets with the columns.
pub fn any() -> [Sheet<'static>; 2] {
    [Sheet::new("samples.csv", samples_columns(), []), Sheet::new("rejected.csv", rejected_columns(), [])]
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
    let mut valued: BTreeSet<&str> = BTreeSet::new();
    let mut spoken_of: BTreeSet<&str> = BTreeSet::new();
    for row in &evidence.runs {
        valued.extend(row.note.values.keys().map(String::as_str));
        spoken_of.extend(row.note.absent.keys().map(String::as_str));
        // Readings of one metric follow each other, and there may be a million.
        valued.extend(row.note.samples.chunk_by(|a, b| a.metric == b.metric).map(|same| &*same[0].metric));
    }
    spoken_of.extend(&valued);
    let software = opening.is_some_and(|o| o.stamps == Stamps::Software.name());
    let mut found: Vec<(String, String)> = known
        .iter()
        .filter(|m| m.needs.is_empty() || spoken_of.contains(m.name))
        .map(|m| (m.name.to_owned(), metric::unit_shown(m, software)))
        .collect();
    let responses = opening.map_or(&[][..], |o| &o.responses);
    for name in valued {
        if !found.iter().any(|(known, _)| known == name) {
            let offered = name.starts_with(metric::OFFERED_RATE).then_some("frames/s");
            let unit = responses.iter().find(|r| r.name == name).map(|r| r.unit.as_str());
            let told = opening.and_then(|o| o.values.get(name)).map(String::as_str);
            found.push((name.to_owned(), unit.or(told).or(offered).unwrap_or("unit unknown").to_owned()));
        }
    }
    found
}

/// The fields of [`run_columns`].
pub(super) fn run_fields(row: &RunRow) -> Vec<Field<'_>> {
    let run = &row.note.run;
    vec![(&run.cell.0).into(), run.block.into(), run.attempt.into()]
}

fn rejected_row<'e>(
    cell: &'e CellNote,
    stage: &'e str,
    fate: &'e str,
    run: Option<&RunRow>,
    reason: impl Into<Field<'e>>,
    evidence: String,
) -> Vec<Field<'e>> {
    vec![
        (&cell.cell.0).into(),
        (&cell.arm).into(),
        stage.into(),
        fate.into(),
        run.map(|r| r.note.run.block).into(),
        run.map(|r| r.note.run.attempt).into(),
        reason.into(),
        evidence.into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::event::Sample;
    use crate::evidence::example::{self, Record, Table};
    use crate::model::arm::ArmKind;

    #[test]
    fn every_sample_is_a_row_with_its_unit() {
        let mut record = Record::open(&[], 1);
        let old = record.cell(&[("size", "1")], "old", Fate::Live, None);
        record.block(1, None, &[&old]);
        let mut run = example::run(&old.0, 1, 60.0);
        let sample = Sample { metric: "wall_time".into(), at_ns: 5, value: 0.25, settling: true, step: None };
        run.samples = vec![sample.clone(), Sample { settling: false, ..sample }];
        record.run(run);
        let table = Table::of(&samples(&record.evidence).csv());
        assert_eq!(table.column("unit"), ["s", "s"]);
        assert_eq!(table.column("settling"), ["true", "false"]);
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
        let table = Table::of(&rejected(&record.evidence, &[loss]).csv());
        assert_eq!(table.column("stage"), ["proof", "rule", "acceptance", "loss"]);
        assert_eq!(table.at(2, "reason"), "lost 3 frames");
        assert_eq!(table.at(0, "evidence"), "1532 != 1519");
    }
}
