//! The pages of a campaign: all of its records with their trend, and what is published.

use serde::Serialize;
use tera::Context;

use super::along::{Along, Stop};
use super::figures::FigureView;
use super::number::{Scale, moment, quantity};
use super::page::{PageError, render};
use crate::analysis::change_point::ChangePoints;
use crate::analysis::verdict::percent;
use crate::gate::publication::{Baseline, Book, Entry, Published};
use crate::model::response::Better;

/// One record as lists show it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RecordRow {
    pub record: String,
    /// When it was begun, RFC 3339 in UTC.
    pub at: String,
    /// Counts by outcome, only those above zero.
    pub outcomes: String,
    /// Arm and verdict on the primary response.
    pub verdicts: Vec<String>,
    /// Level of the primary response over all cells.
    pub primary: Option<f64>,
    pub unit: String,
    /// Name of the primary response.
    pub response: String,
    /// What is to be known of it: published, no valid trial…
    pub marks: Vec<String>,
    pub in_force: bool,
    pub official: bool,
    /// Its page, from the folder of the campaign; None where the record is not here.
    pub page: Option<String>,
    /// The page of the ladder that it is a part of, likewise.
    pub ladder: Option<String>,
}

#[derive(Serialize)]
struct IndexView<'a> {
    title: String,
    campaign: &'a str,
    question: Option<&'a str>,
    response: String,
    trend: Option<FigureView>,
    rows: Vec<RowView<'a>>,
    told: Vec<&'a String>,
    published: Option<PublicationView>,
}

#[derive(Serialize)]
struct RowView<'a> {
    row: &'a RecordRow,
    at: String,
    value: String,
}

#[derive(Serialize)]
struct PublishedView<'a> {
    title: String,
    campaign: &'a str,
    in_force: Option<PublicationView>,
    baselines: Vec<BaselineView>,
    events: Vec<PublicationView>,
}

#[derive(Debug, Serialize)]
struct PublicationView {
    what: String,
    record: String,
    page: String,
    at: String,
    by: String,
    why: String,
    remarks: Vec<String>,
}

#[derive(Serialize)]
struct BaselineView {
    cell: String,
    response: String,
    median: String,
    replicates: usize,
    bound: String,
    limit: String,
    tolerance: String,
}

/// All records of a campaign, newest first, with the trend of the primary response.
///
/// # Errors
/// Only a fault in our own templates.
pub fn index_page(
    campaign: &str,
    question: Option<&str>,
    rows: &[RecordRow],
    found: &ChangePoints,
    book: Option<&Book>,
) -> Result<String, PageError> {
    let unit = rows.iter().rev().find(|row| row.primary.is_some()).map_or("", |row| &row.unit);
    let scale = Scale::of(rows.iter().filter_map(|row| row.primary), unit);
    let row = |row| RowView {
        row,
        at: moment(&row.at),
        value: row.primary.map_or("–".to_owned(), |v| scale.with_unit(v)),
    };
    let response = rows.iter().rev().map(|row| row.response.as_str()).find(|r| !r.is_empty());
    let response = response.unwrap_or_default();
    let view = IndexView {
        title: format!("{campaign} · records"),
        campaign,
        question,
        trend: trend(rows, found, response, &scale),
        response: response.to_owned(),
        rows: rows.iter().rev().map(row).collect(),
        told: std::iter::once(&found.sentence)
            .chain(found.changes.iter().map(|change| &change.sentence))
            .chain(&found.notes)
            .collect(),
        published: book.and_then(Book::active).map(|p| publication(p, "in force")),
    };
    render("campaign.html", Context::from_serialize(&view)?)
}

/// Kinds of records along the trend.
const KINDS: [(usize, &str); 4] =
    [(0, "record"), (3, "published once"), (1, "published, in force"), (4, "known from the history alone")];

/// The primary response of all records that have it, in the order they were begun.
fn trend(rows: &[RecordRow], found: &ChangePoints, response: &str, scale: &Scale) -> Option<FigureView> {
    let stop = |row: &RecordRow| {
        let value = row.primary.filter(|value| value.is_finite())?;
        let marks: String = row.marks.iter().map(|mark| format!(", {mark}")).collect();
        Some(Stop {
            name: row.record.clone(),
            value: Some(value),
            replicates: vec![],
            kind: match () {
                () if row.page.is_none() => 3,
                () if row.in_force => 2,
                () if row.official => 1,
                () => 0,
            },
            told: format!("{}: {}{marks}", row.record, scale.with_unit(value)),
            href: row.page.clone(),
        })
    };
    Along {
        of: "record",
        response,
        scale,
        stops: rows.iter().filter_map(stop).collect(),
        found,
        kinds: &KINDS,
        caption: "One mark for each record, in the order they were begun: the geometric mean of the medians of all live \
                  cells. Where a level changes stands a dashed line with the size of the step. The table below has the \
                  same values.",
    }
    .figure()
}

/// What is published: the levels in force with their floors, and every publication before it.
///
/// # Errors
/// Only a fault in our own templates.
pub fn published_page(book: &Book) -> Result<String, PageError> {
    let active = book.active();
    let event = |entry: &Entry| match entry {
        Entry::Published(published) => publication(published, "published"),
        Entry::Unpublished(back) => PublicationView {
            what: "taken back".to_owned(),
            record: back.record.clone(),
            page: page_of(&back.record),
            at: moment(&back.at),
            by: back.by.clone(),
            why: back.why.clone(),
            remarks: vec![],
        },
    };
    let view = PublishedView {
        title: format!("{} · published", book.campaign),
        campaign: &book.campaign,
        in_force: active.map(|p| publication(p, "in force")),
        baselines: active.map_or(vec![], |p| p.cells.iter().map(baseline).collect()),
        events: book.entries.iter().rev().map(event).collect(),
    };
    render("published.html", Context::from_serialize(&view)?)
}

fn page_of(record: &str) -> String {
    format!("{record}/index.html")
}

fn publication(published: &Published, what: &str) -> PublicationView {
    let forced = published.forced.iter().flat_map(|forced| {
        let against = forced.against.iter().map(|line| format!("Against it spoke: {line}"));
        std::iter::once(format!("Published all the same: {}", forced.reason)).chain(against)
    });
    let lowered = published.lowered.iter().map(|reason| format!("Floors were lowered: {reason}"));
    PublicationView {
        what: what.to_owned(),
        record: published.record.clone(),
        page: page_of(&published.record),
        at: moment(&published.at),
        by: published.by.clone(),
        why: published.why.clone(),
        remarks: forced.chain(lowered).collect(),
    }
}

fn baseline(own: &Baseline) -> BaselineView {
    BaselineView {
        cell: own.cell.0.clone(),
        response: own.response.clone(),
        median: quantity(own.median, &own.unit),
        replicates: own.replicates.len(),
        bound: match own.better {
            Better::Higher => "floor".to_owned(),
            Better::Lower => "ceiling".to_owned(),
        },
        limit: quantity(own.floor, &own.unit),
        tolerance: percent(own.tolerance),
    }
}
