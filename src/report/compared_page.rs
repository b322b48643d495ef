//! Two records beside each other as a page.

use serde::Serialize;
use tera::Context;

use super::number::{Scale, moment};
use super::page::{PageError, render};
use crate::analysis::verdict::{between, confidence, p_text, ratio};
use crate::compare::comparison::{Comparison, FactDifference, Level, Moved, Side, Way};
use crate::plot::forest::{self, Row};

/// Ticks on the axis of the figures.
const TICKS: usize = 4;

#[derive(Serialize)]
struct View<'a> {
    title: String,
    found: &'a Comparison,
    sides: Vec<SideView<'a>>,
    facts: Vec<FactView>,
    tables: Vec<TableView>,
    not_compared: Vec<(String, String)>,
}

#[derive(Serialize)]
struct SideView<'a> {
    when: &'static str,
    own: &'a Side,
    at: String,
}

#[derive(Serialize)]
struct FactView {
    fact: String,
    before: String,
    after: String,
    cells: Vec<String>,
}

/// One response, all in one unit.
#[derive(Serialize)]
struct TableView {
    response: String,
    unit: String,
    /// Ticks of the figures' axis.
    axis: Option<String>,
    rows: Vec<RowView>,
}

#[derive(Serialize)]
struct RowView {
    cell: String,
    before: String,
    after: String,
    effect: String,
    interval: String,
    confidence: String,
    p: String,
    word: &'static str,
    /// Effect and interval as a row of a forest plot.
    figure: String,
    /// For the style sheet.
    class: &'static str,
}

/// The two records, the facts that differ, every number that both have, and what cannot be compared.
///
/// # Errors
/// Only a fault in our own templates.
pub fn compared_page(found: &Comparison) -> Result<String, PageError> {
    let side = |(when, own)| SideView { when, own, at: moment(&own.at) };
    let mut responses: Vec<(&str, &str)> = vec![];
    for own in found.numbers.iter().filter(|own| own.why.is_none()) {
        if !responses.contains(&(&own.response, &own.unit)) {
            responses.push((&own.response, &own.unit));
        }
    }
    let not_compared = found.numbers.iter().filter_map(|own| {
        Some((format!("{} {}", own.cell, own.response), format!("{}: {}", own.way.word(), own.why.as_ref()?)))
    });
    let view = View {
        title: format!("{} against {}", found.after.record, found.before.record),
        found,
        sides: [("Before", &found.before), ("After", &found.after)].map(side).into(),
        facts: found.facts.iter().map(fact).collect(),
        tables: responses.into_iter().map(|(response, unit)| table(found, response, unit)).collect(),
        not_compared: not_compared.collect(),
    };
    render("compared.html", Context::from_serialize(&view)?)
}

fn fact(own: &FactDifference) -> FactView {
    let said = |value: &Option<String>| match value.as_deref() {
        None => "(absent)".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(text) => text.to_owned(),
    };
    FactView {
        fact: own.fact.clone(),
        before: said(&own.before),
        after: said(&own.after),
        cells: own.cells.clone(),
    }
}

fn table(found: &Comparison, response: &str, unit: &str) -> TableView {
    let own: Vec<&Moved> =
        found.numbers.iter().filter(|own| own.response == response && own.why.is_none()).collect();
    let scale = Scale::of(own.iter().flat_map(|own| [own.before.median, own.after.median]).flatten(), unit);
    let rows: Vec<Row> = own.iter().map(|own| forest_row(own)).collect();
    let linear = own.iter().all(|own| own.ratio.is_none());
    let axis = forest::axis(&rows, !linear);
    let tick = |value: f64| if linear { scale.text(value) } else { ratio(value) };
    let figure = |row: &Row| axis.as_ref().map_or(String::new(), |axis| forest::row(row, axis, TICKS));
    TableView {
        response: response.to_owned(),
        unit: scale.heading.clone(),
        axis: axis.as_ref().map(|axis| forest::scale(axis, &tick)),
        rows: own.into_iter().zip(&rows).map(|(own, drawn)| row(own, &scale, figure(drawn))).collect(),
    }
}

fn class(way: Way) -> &'static str {
    match way {
        Way::Better => "better",
        Way::Worse => "worse",
        Way::NotShown => "inconclusive",
        Way::NotComparable => "not-comparable",
    }
}

fn forest_row(own: &Moved) -> Row {
    Row {
        told: format!("{} {}: {}", own.cell, own.response, own.way.word()),
        estimate: own.ratio.or(own.difference),
        interval: own.interval.map(|i| (i.low, i.high)),
        neutral: if own.ratio.is_some() { 1.0 } else { 0.0 },
        class: class(own.way).to_owned(),
        ..Row::default()
    }
}

fn row(own: &Moved, scale: &Scale, figure: String) -> RowView {
    let level = |level: &Level| {
        level.median.map_or("–".to_owned(), |median| format!("{} (n {})", scale.text(median), level.n))
    };
    let dash = || "–".to_owned();
    let in_unit = own.ratio.is_none();
    let ends = |low, high| if in_unit { scale.between(low, high) } else { between(low, high) };
    RowView {
        cell: own.cell.clone(),
        before: level(&own.before),
        after: level(&own.after),
        effect: own.ratio.map(ratio).or(own.difference.map(|d| scale.with_unit(d))).unwrap_or_else(dash),
        interval: own.interval.map_or_else(dash, |i| ends(i.low, i.high)),
        confidence: own.interval.map_or_else(dash, |i| confidence(i.confidence)),
        p: own.p_adjusted.or(own.p).map_or_else(dash, p_text),
        word: own.way.word(),
        class: class(own.way),
        figure,
    }
}
