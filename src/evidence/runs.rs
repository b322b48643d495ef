//! Every attempt of every run of a record as a sheet.

use super::event::RoleNote;
use super::fold::{Evidence, RunRow};
use super::rows::{metrics, run_columns};
use super::sheet::{Column, Field, Kind, Sheet};
use crate::model::job::End;
use crate::model::metric;
use crate::model::work_counts::WorkCounts;

/// Every attempt of every run, whatever came of it.
pub fn runs(evidence: &Evidence) -> Sheet<'_> {
    let names = Names::of(evidence);
    let columns = runs_columns(&names);
    Sheet::new("runs.csv", columns, evidence.runs.iter().map(move |row| run_row(evidence, row, &names)))
}

/// An empty sheet whose columns stand for those of any record; capitals stand for what differs between records.
pub fn any() -> Sheet<'static> {
    Sheet::new("runs.csv", runs_columns(&Names::of_any()), [])
}

/// What the columns of `runs.csv` depend on from record to record.
struct Names {
    variables: Vec<String>,
    /// Name, unit and meaning.
    metrics: Vec<(String, String, String)>,
    roles: Vec<String>,
    /// Whether runs declare units of work.
    work: bool,
}

impl Names {
    fn of(evidence: &Evidence) -> Names {
        let metrics = metrics(evidence).into_iter();
        Names {
            variables: evidence.opening.as_ref().map_or(vec![], |o| o.variables.keys().cloned().collect()),
            metrics: metrics
                .map(|(name, unit)| (meaning(&name), name, unit))
                .map(|(m, n, u)| (n, u, m))
                .collect(),
            roles: roles(evidence),
            work: evidence.runs.iter().any(|r| r.note.work.is_some()),
        }
    }

    /// Capitals stand for what differs from record to record.
    fn of_any() -> Names {
        let any = (
            "METRIC".to_owned(),
            "UNIT".to_owned(),
            "a metric of the workload or a response of the campaign".to_owned(),
        );
        Names {
            variables: vec!["VARIABLE".to_owned()],
            metrics: vec![any],
            roles: vec!["ROLE".to_owned()],
            work: true,
        }
    }
}

fn runs_columns(names: &Names) -> Vec<Column> {
    let [cell, block, attempt] = run_columns().try_into().unwrap_or_else(|_| unreachable!("three columns"));
    let mut columns = vec![
        cell,
        Column::text("arm", "control, treatment, combination, anchor or twin, by its name"),
        Column::text("kind", "which of these the arm is"),
    ];
    let level = |v: &String| {
        Column::text(format!("level.{v}"), format!("level of the variable {v}, as it was typed"))
    };
    columns.extend(names.variables.iter().map(level));
    columns.extend([
        block,
        Column::text("rerun_of", "cell that was asked for where a rerun added this block; empty for a planned block"),
        attempt,
        Column::integer("position", "", "place of the run in its block, from 1"),
        Column::integer("session", "", "number of the command that made the run, from 1: run, resume or rerun"),
        Column::of(Kind::Instant, "began_at", "", "when the run began, by the clock of the workstation"),
        Column::of(Kind::Instant, "ended_at", "", "when the run ended, by the clock of the workstation"),
        Column::text(
            "outcome",
            "measured, rejected, timed_out, failed or interrupted; a run that a person annotated as invalid is rejected",
        ),
        Column::text("reason", "why the outcome is not `measured`"),
        Column::text("outcome_as_run", "what the outcome was before a person annotated the run; empty without annotation"),
        Column::integer("elapsed", "ns", "time on the workstation from the first start to the last end of the run"),
    ]);
    let metric = |(name, unit, meaning): &(String, String, String)| Column::number(name, unit, meaning);
    columns.extend(names.metrics.iter().map(metric));
    columns.push(Column::text("absent", "metrics without a value, a line each: `name: why`"));
    columns.push(Column::text(
        "cautions",
        "what a reader of the values must know, a line each: `what: what was seen`",
    ));
    if names.work {
        columns.extend(WORK.map(|(name, meaning)| Column::integer(format!("work.{name}"), "", meaning)));
    }
    for role in &names.roles {
        let text =
            |name: &str, meaning: &str| Column::text(format!("{role}.{name}"), format!("{meaning} {role}"));
        columns.extend([
            text("host", "host of the role"),
            text("command", "exact command, ready to paste on that host, of the role"),
            text("end", "exited, signalled, timed_out, stopped, or not started and why: end of the role"),
            Column::integer(
                format!("{role}.exit_status"),
                "",
                format!("exit status of the role {role}; empty where it did not exit"),
            ),
            Column::integer(format!("{role}.signal"), "", format!("signal that killed the role {role}")),
            Column::integer(
                format!("{role}.wall"),
                "ns",
                format!("time from the start to the end of the role {role}, on its host"),
            ),
            text("stdout_sha256", "SHA-256 of all that was written to standard output by the role"),
        ]);
    }
    columns
}

const WORK: [(&str, &str); 5] = [
    ("declared", "units of work that the campaign declared for the run"),
    ("success", "units that were completed with the right answer"),
    ("timeout", "units that were given up at their deadline"),
    ("transport_error", "units that were broken by what carries them: refused, reset, closed early"),
    ("wrong_answer", "units that were completed with another answer than the right one"),
];

/// What a metric says: by the workload's own list, or else a response of the campaign.
fn meaning(name: &str) -> String {
    let plain = name.strip_suffix(metric::REVERSE).unwrap_or(name);
    let known = metric::PACKETS.iter().chain(&metric::COMMAND);
    let found = known.filter(|m| m.name == name || m.name == plain).max_by_key(|m| m.name == name);
    match found {
        Some(metric) => metric.meaning.to_owned(),
        None if name.starts_with(metric::OFFERED_RATE) => "load that was asked for".to_owned(),
        None => "declared as a response by the campaign".to_owned(),
    }
}

fn run_row<'e>(evidence: &'e Evidence, row: &'e RunRow, names: &Names) -> Vec<Field<'e>> {
    let note = &row.note;
    let cell = evidence.cells.get(&note.run.cell);
    let mut fields: Vec<Field> = vec![
        (&note.run.cell.0).into(),
        cell.map_or("", |c| &c.arm).into(),
        cell.map(|c| c.kind.name()).into(),
    ];
    let level = |v: &String| Field::from(cell.and_then(|c| c.levels.get(v)));
    fields.extend(names.variables.iter().map(level));
    let rerun_of = evidence.blocks.get(&note.run.block).and_then(|b| b.rerun_of.as_ref());
    let as_run = row.as_run.as_ref().map(|as_run| as_run.outcome.name());
    fields.extend([
        note.run.block.into(),
        rerun_of.map(|c| &c.0).into(),
        note.run.attempt.into(),
        note.position.into(),
        (row.session + 1).into(),
        row.began.as_deref().into(),
        (&row.at).into(),
        note.outcome.name().into(),
        note.reason.as_deref().into(),
        as_run.into(),
        note.elapsed_ns.into(),
    ]);
    fields.extend(names.metrics.iter().map(|(name, _, _)| Field::from(note.values.get(name).copied())));
    let absent: Vec<String> = note.absent.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    fields.push(absent.join("\n").into());
    let cautions: Vec<String> = note.cautions.iter().map(|(what, seen)| format!("{what}: {seen}")).collect();
    fields.push(cautions.join("\n").into());
    if names.work {
        let counts =
            |w: &WorkCounts| [w.declared, w.success, w.timeout, w.transport_error, w.wrong_answer].map(Some);
        fields.extend(note.work.as_ref().map_or([None; 5], counts).map(Field::from));
    }
    for role in &names.roles {
        fields.extend(role_fields(note.roles.iter().find(|r| r.role == *role && r.phase.is_run())));
    }
    fields
}

fn role_fields(role: Option<&RoleNote>) -> [Field<'_>; 7] {
    let Some(role) = role else { return [const { Field::Nothing }; 7] };
    let report = &role.report;
    let (end, status, signal): (Field, _, _) = match &report.end {
        End::Exited(status) => ("exited".into(), Some(*status), None),
        End::Signalled(signal) => ("signalled".into(), None, Some(*signal)),
        End::TimedOut => ("timed_out".into(), None, None),
        End::Stopped => ("stopped".into(), None, None),
        End::NotStarted(why) => (format!("not started: {why}").into(), None, None),
    };
    [
        (&role.host).into(),
        (&role.command).into(),
        end,
        status.into(),
        signal.into(),
        report.wall_ns.into(),
        (&report.stdout.sha256).into(),
    ]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::event::Event;
    use crate::evidence::example::{self, Record, Table};
    use crate::model::arm::ArmKind;
    use crate::model::cell::RunKey;
    use crate::model::outcome::{Fate, RunOutcome};

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
        record.run(slow.clone());
        slow.run.attempt = 2;
        slow.outcome = RunOutcome::Failed;
        slow.values.clear();
        slow.absent.insert("wall_time".into(), "died".into());
        record.run(slow);
        record.push(Event::RunBegan { run: RunKey { cell: old.clone(), block: 1, attempt: 2 }, position: 4 });
        record.evidence.finish("2026-11-30T11:00:00Z");

        let text = runs(&record.evidence).csv();
        assert!(text.contains(",-5.55,"), "a number is never quoted: {text}");
        let table = Table::of(&text);
        assert_eq!(table.column("outcome"), ["measured", "timed_out", "failed", "interrupted"]);
        assert_eq!(table.at(1, "arm"), "'=new");
        assert_eq!(table.at(1, "reason"), "'-60 s, the deadline");
        assert_eq!(table.at(1, "wall_time (s)"), "60");
        assert_eq!((table.at(1, "run.signal"), table.at(1, "run.exit_status")), ("9", ""));
        assert_eq!(table.at(1, "run.command"), "scan 'a b'");
        assert_eq!(table.at(2, "absent"), "wall_time: died");
        assert_eq!(table.column("attempt")[1..3], ["1", "2"]);
        assert!(table.column("began_at").iter().all(|at| at.starts_with("2026-")), "{:?}", table.rows);
        assert_eq!(table.at(3, "ended_at"), "2026-11-30T11:00:00Z");
    }
}
