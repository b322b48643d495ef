//! `history`: the records of a campaign, and the line that each valid trial leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use super::failure::{Failure, Outcome};
use super::gate_args::HistoryArgs;
use super::publish::{campaign_folder, digest_of};
use super::voice::{answer, answer_json, aside, columns};
use crate::analysis::change_point::{ChangePoints, Search};
use crate::analysis::findings::{CellSummary, Findings, VERSION};
use crate::analysis::history::change_points;
use crate::analysis::judge::judge;
use crate::evidence::fold::Evidence;
use crate::gate::history::{Line, line};
use crate::gate::judge::control_below;
use crate::gate::measured::measured;
use crate::gate::publication::Book;
use crate::gate::refusal::invalid;
use crate::record::{Folder, Held, RecordError, history as lines_of, opening, published, put, read};
use crate::report::campaign::{RecordRow, index_page, published_page};
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
    let found = changes(&rows);
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

fn rows(campaign: &Path, past: &[Line], book: Option<&Book>) -> Result<Vec<RecordRow>, Failure> {
    let mut rows: BTreeMap<String, RecordRow> = BTreeMap::new();
    for entry in std::fs::read_dir(campaign).into_iter().flatten().flatten() {
        let Ok(folder) = Folder::open(&entry.path()) else { continue };
        match of_record(&folder) {
            Ok(row) => drop(rows.insert(folder.name(), row)),
            Err(error) => aside(format_args!("{error}; it is left out")),
        }
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
            row.marks.push("published, in force".to_owned());
            (row.in_force, row.official) = (true, true);
        } else if official.contains(row.record.as_str()) {
            row.marks.push("published once".to_owned());
            row.official = true;
        }
        if !known.contains(row.record.as_str()) {
            row.marks.push("no valid trial".to_owned());
        }
    }
    let mut rows: Vec<RecordRow> = rows.into_values().collect();
    rows.sort_by(|a, b| a.at.cmp(&b.at).then(a.record.cmp(&b.record)));
    Ok(rows)
}

/// By what was judged when the record was last reported; a record without that is judged now.
fn of_record(folder: &Folder) -> Result<RecordRow, RecordError> {
    let (at, findings) = match judged(folder) {
        Some(known) => known,
        None => {
            let evidence = read(folder)?.evidence;
            (evidence.opened_at.clone(), judge(&evidence))
        }
    };
    let sums = findings.sums.as_ref();
    let counts = sums.into_iter().flat_map(|sums| &sums.by_outcome).filter(|(_, count)| **count > 0);
    let mut outcomes: Vec<String> = counts.map(|(outcome, count)| format!("{count} {outcome}")).collect();
    if let Some(refused) = sums.map(|sums| sums.refused).filter(|n| *n > 0) {
        outcomes.push(format!("{refused} refused cells"));
    }
    let primary = findings.family.responses.first().cloned().unwrap_or_default();
    let answers = findings.answers.iter().filter(|answer| answer.response == primary);
    let of = |cell: &CellSummary| cell.responses.iter().find(|r| r.response == primary).cloned();
    let live: Vec<_> = findings.cells.iter().filter_map(of).collect();
    let medians: Vec<f64> = live.iter().filter_map(|r| r.median).collect();
    let ladder = folder.file(Folder::LADDER_PAGE);
    Ok(RecordRow {
        record: folder.name(),
        at,
        outcomes: outcomes.join(", "),
        verdicts: answers.map(|answer| format!("{} {}", answer.arm, answer.verdict.word())).collect(),
        primary: trend(&medians),
        unit: live.first().map(|r| r.unit.clone()).unwrap_or_default(),
        response: primary,
        page: Some(format!("{}/{}", folder.name(), Folder::PAGE)),
        ladder: ladder.is_file().then(|| format!("{}/{}", folder.name(), Folder::LADDER_PAGE)),
        ..RecordRow::default()
    })
}

/// When the record was begun, and its findings, where they are younger than its journal.
fn judged(folder: &Folder) -> Option<(String, Findings)> {
    let age = |name| std::fs::metadata(folder.file(name)).and_then(|m| m.modified()).ok();
    if age(Folder::FINDINGS)? < age(Folder::JOURNAL)? {
        return None;
    }
    let findings: Findings = serde_json::from_str(&folder.text(Folder::FINDINGS).ok()?).ok()?;
    (findings.version == VERSION).then_some(())?;
    Some((opening(folder)?.0, findings))
}

fn of_line(line: &Line) -> RecordRow {
    let primary = line.cells.first().map(|own| own.response.clone()).unwrap_or_default();
    let medians: Vec<f64> =
        line.cells.iter().filter(|own| own.response == primary).map(|own| own.median).collect();
    RecordRow {
        record: line.record.clone(),
        at: line.at.clone(),
        primary: trend(&medians),
        unit: line.cells.first().map(|own| own.unit.clone()).unwrap_or_default(),
        response: primary,
        marks: vec!["the record is not here".to_owned()],
        ..RecordRow::default()
    }
}

/// Geometric mean of the medians of all cells; None where there is none or one is not above 0.
fn trend(medians: &[f64]) -> Option<f64> {
    if let [median] = medians[..] {
        return (median > 0.0).then_some(median);
    }
    let logs: Option<f64> = medians.iter().map(|median| (*median > 0.0).then(|| median.ln())).sum();
    logs.filter(|_| !medians.is_empty()).map(|sum| (sum / medians.len() as f64).exp())
}

/// Writes the pages of a campaign: all its records, and what is published. A page that
/// cannot be written is told and harms nothing, because all of it can be derived again.
pub fn pages(campaign: &Path) {
    if let Err(failure) = write_pages(campaign) {
        failure.print();
        aside("the record is whole; only the pages of its campaign are not up to date");
    }
}

fn write_pages(campaign: &Path) -> Result<(), Failure> {
    let (past, book) = (lines_of(campaign)?, published(campaign)?);
    let rows = rows(campaign, &past, book.as_ref())?;
    let name = campaign.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let newest = rows.iter().rev().find_map(|row| Folder::open(&campaign.join(&row.record)).ok());
    let opening = newest.and_then(|folder| Some(opening(&folder)?.1));
    // A record that was copied elsewhere has no campaign's folder around it, and we leave what is there alone.
    if opening.as_ref().is_some_and(|opening| opening.campaign != name) {
        return Ok(());
    }
    let question = opening.and_then(|opening| opening.question);
    let fault = |e: crate::report::PageError| Failure::Fault(e.to_string());
    let index =
        index_page(&name, question.as_deref(), &rows, &changes(&rows), book.as_ref()).map_err(fault)?;
    put(&campaign.join(Folder::PAGE), index)?;
    if let Some(book) = &book {
        put(&campaign.join("published.html"), published_page(book).map_err(fault)?)?;
    }
    Ok(())
}

fn changes(rows: &[RecordRow]) -> ChangePoints {
    let points: Vec<(String, f64)> =
        rows.iter().filter_map(|row| Some((row.record.clone(), row.primary?))).collect();
    change_points(&points, &Search::default())
}

fn as_text(rows: &[RecordRow], found: &ChangePoints) -> String {
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

fn as_json(name: &str, rows: &[RecordRow], found: &ChangePoints, book: Option<&Book>) -> Value {
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
