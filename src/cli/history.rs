//! `history`: the records of a campaign, and the line that each valid trial leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use super::args::HistoryArgs;
use super::failure::{Failure, Outcome};
use super::publish::{campaign_folder, digest_of};
use super::voice::{answer, answer_json, aside, columns};
use crate::analysis::change_point::{ChangePoints, Search};
use crate::analysis::history::change_points;
use crate::analysis::judge::judge;
use crate::evidence::fold::Evidence;
use crate::gate::history::{Line, line};
use crate::gate::judge::control_below;
use crate::gate::measured::measured;
use crate::gate::publication::Book;
use crate::gate::refusal::invalid;
use crate::record::{Folder, Held, history as lines_of, published, read};
use crate::report::number::quantity;

/// Adds a valid trial to the history of its campaign, and warns where its control stands below what is known.
pub fn remember(folder: &Folder, evidence: &Evidence) -> Result<(), Failure> {
    if !invalid(evidence).is_empty() {
        return Ok(());
    }
    let measured = measured(evidence);
    let campaign = campaign_folder(folder)?;
    let past = lines_of(&campaign)?;
    for note in control_below(&measured, published(&campaign)?.as_ref(), &past) {
        aside(format_args!("warning: {}", crate::report::gate::below(&note)));
    }
    if let Some(line) = line(&measured, &digest_of(folder)?, env!("CARGO_PKG_VERSION")) {
        Held::take(&campaign)?.remember(&line)?;
    }
    Ok(())
}

/// One record as the list shows it.
struct Row {
    record: String,
    at: String,
    outcomes: String,
    verdicts: Vec<String>,
    primary: Option<f64>,
    unit: String,
    marks: Vec<&'static str>,
}

pub fn history(args: &HistoryArgs) -> Outcome {
    let (name, campaign) = folder_of(args)?;
    let past = lines_of(&campaign)?;
    let book = published(&campaign)?;
    let rows = rows(&campaign, &past, book.as_ref())?;
    if rows.is_empty() {
        return Err(Failure::Input(format!(
            "{} has no record of {name}\nnext: `fieldtrial run` makes one; --reports names another folder",
            args.reports.display()
        )));
    }
    let points: Vec<(String, f64)> =
        rows.iter().filter_map(|row| Some((row.record.clone(), row.primary?))).collect();
    let found = change_points(&points, &Search::default());
    match args.json {
        true => answer_json(&as_json(&name, &rows, &found, book.as_ref()))?,
        false => answer(as_text(&rows, &found))?,
    }
    Ok(vec![])
}

/// The campaign's name and folder, by its file or by its name.
fn folder_of(args: &HistoryArgs) -> Result<(String, PathBuf), Failure> {
    let name = if args.campaign.is_file() {
        super::load::load(&args.campaign, None)?.campaign.name
    } else {
        args.campaign.display().to_string()
    };
    let folder = args.reports.join(&name);
    match folder.is_dir() {
        true => Ok((name, folder)),
        false => Err(Failure::Input(format!(
            "there is no folder {}\nnext: name a campaign file, or one of the folders in {}",
            folder.display(),
            args.reports.display()
        ))),
    }
}

fn rows(campaign: &std::path::Path, past: &[Line], book: Option<&Book>) -> Result<Vec<Row>, Failure> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for entry in std::fs::read_dir(campaign).into_iter().flatten().flatten() {
        let Ok(folder) = Folder::open(&entry.path()) else { continue };
        let evidence = match read(&folder) {
            Ok(read) => read.evidence,
            Err(error) => {
                aside(format_args!("{error}; it is left out"));
                continue;
            }
        };
        rows.insert(folder.name(), of_record(&folder, &evidence));
    }
    for line in past {
        rows.entry(line.record.clone()).or_insert_with(|| of_line(line));
    }
    let known: BTreeSet<&str> = past.iter().map(|line| line.record.as_str()).collect();
    let official: BTreeSet<&str> =
        book.into_iter().flat_map(Book::published).map(|p| p.record.as_str()).collect();
    let active = book.and_then(Book::active).map(|active| active.record.as_str());
    for row in rows.values_mut() {
        if active == Some(&row.record) {
            row.marks.push("published, in force");
        } else if official.contains(row.record.as_str()) {
            row.marks.push("published once");
        }
        if !known.contains(row.record.as_str()) {
            row.marks.push("no valid trial");
        }
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by(|a, b| a.at.cmp(&b.at).then(a.record.cmp(&b.record)));
    Ok(rows)
}

fn of_record(folder: &Folder, evidence: &Evidence) -> Row {
    let findings = judge(evidence);
    let sums = evidence.sums();
    let mut outcomes: Vec<String> = sums
        .by_outcome
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(outcome, count)| format!("{count} {outcome}"))
        .collect();
    if sums.refused > 0 {
        outcomes.push(format!("{} refused cells", sums.refused));
    }
    let primary = findings.family.responses.first();
    let answers = findings.answers.iter().filter(|answer| Some(&answer.response) == primary);
    let measured = measured(evidence);
    Row {
        record: folder.name(),
        at: evidence.opened_at.clone(),
        outcomes: outcomes.join(", "),
        verdicts: answers.map(|answer| format!("{} {}", answer.arm, answer.verdict.word())).collect(),
        primary: line(&measured, "", "").and_then(|line| trend(&line, primary.map(String::as_str))),
        unit: measured.responses.first().map(|(response, _)| response.unit.clone()).unwrap_or_default(),
        marks: vec![],
    }
}

fn of_line(line: &Line) -> Row {
    Row {
        record: line.record.clone(),
        at: line.at.clone(),
        outcomes: String::new(),
        verdicts: vec![],
        primary: trend(line, None),
        unit: line.cells.first().map(|own| own.unit.clone()).unwrap_or_default(),
        marks: vec!["the record is not here"],
    }
}

/// Geometric mean of the medians of the primary response over all cells; None where one is not above 0.
fn trend(line: &Line, primary: Option<&str>) -> Option<f64> {
    let primary = primary.or(line.cells.first().map(|own| own.response.as_str()))?;
    let medians: Vec<f64> =
        line.cells.iter().filter(|own| own.response == primary).map(|own| own.median).collect();
    if let [median] = medians[..] {
        return (median > 0.0).then_some(median);
    }
    let logs: Option<f64> = medians.iter().map(|median| (*median > 0.0).then(|| median.ln())).sum();
    logs.filter(|_| !medians.is_empty()).map(|sum| (sum / medians.len() as f64).exp())
}

fn as_text(rows: &[Row], found: &ChangePoints) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(columns());
    table.set_header(["record", "runs", "primary response", "verdicts", ""]);
    for row in rows {
        table.add_row([
            row.record.clone(),
            row.outcomes.clone(),
            row.primary.map(|value| quantity(value, &row.unit)).unwrap_or_default(),
            row.verdicts.join(", "),
            row.marks.join(", "),
        ]);
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned());
    let told =
        std::iter::once(&found.sentence).chain(found.changes.iter().map(|c| &c.sentence)).chain(&found.notes);
    lines.chain(told.cloned()).collect::<Vec<_>>().join("\n")
}

fn as_json(name: &str, rows: &[Row], found: &ChangePoints, book: Option<&Book>) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({ "record": row.record, "at": row.at, "outcomes": row.outcomes, "verdicts": row.verdicts,
                    "primary": row.primary, "unit": row.unit, "marks": row.marks })
        })
        .collect();
    let active = book.and_then(Book::active).map(|active| active.record.clone());
    json!({ "campaign": name, "records": rows, "change_points": found, "in_force": active })
}
