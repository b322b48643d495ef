//! Grid points with the figures, numbers and commands of their cells.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Serialize;

use super::figures::{self, Drawn, FigureView};
use super::number::{Scale, exact, plural};
use super::origin::{CommandView, commands};
use super::trail::{Trail, controls};
use super::view::{anchor, levels, word};
use crate::analysis::findings::{CellSummary, Effect, Findings, ResponseSummary};
use crate::analysis::verdict::{confidence, percent, ratio};
use crate::model::cell::CellId;
use crate::model::response::Response;

/// One grid point.
#[derive(Debug, Serialize)]
pub struct PointView {
    pub place: String,
    pub distribution: Option<FigureView>,
    pub cells: Vec<CardView>,
}

/// One cell with all that is known of it.
#[derive(Debug, Serialize)]
pub struct CardView {
    pub anchor: String,
    pub cell: String,
    pub kind: String,
    pub fate: String,
    /// The cell's own effect, where it has one.
    pub class: String,
    pub verdict: Option<String>,
    pub sentence: Option<String>,
    /// Why it never ran, line by line.
    pub against: Vec<String>,
    /// Name and text; a number that does not exist says why.
    pub numbers: Vec<(String, String)>,
    pub figures: Vec<FigureView>,
    pub unit: String,
    pub response: String,
    pub runs: Vec<CardRun>,
    pub commands: Option<CommandView>,
}

/// A run that counts, beside its control in the same block.
#[derive(Debug, Serialize)]
pub struct CardRun {
    pub block: u32,
    /// Row of `runs.csv`.
    pub row: usize,
    pub href: Option<String>,
    pub value: String,
    pub exact: String,
    pub control: String,
    pub ratio: String,
    pub outcome: String,
    pub class: String,
}

/// All grid points that have cells with figures, of one response.
pub fn points(trail: &Trail, findings: &Findings, response: &Response, scale: &Scale) -> Vec<PointView> {
    let units = crate::evidence::rows::metrics(trail.evidence);
    let unit_of = |name: &str| units.iter().find(|(n, _)| n == name).map(|(_, unit)| unit.clone());
    let drawn = Drawn { trail, response: &response.name, better: response.better, scale };
    let controls = controls(findings);
    let mut of_cell: BTreeMap<String, CommandView> = commands(trail.evidence, |cell| trail.is_full(cell))
        .into_iter()
        .map(|c| (c.cell.clone(), c))
        .collect();
    let effects: BTreeMap<&CellId, &Effect> = findings
        .effects
        .iter()
        .filter(|e| e.response == response.name)
        .filter_map(|e| Some((e.cell.as_ref()?, e)))
        .collect();
    let places = by_place(findings.cells.iter().filter(|c| trail.is_full(&c.cell)));
    let mut card = |cell: &CellSummary, control: Option<&CellId>| {
        let effect = effects.get(&cell.cell).copied();
        let note = trail.evidence.cells.get(&cell.cell);
        let summary = cell.responses.iter().find(|r| r.response == response.name);
        let against = note.filter(|n| n.stage.is_some()).map_or(vec![], |n| {
            n.reason
                .iter()
                .flat_map(|r| r.lines())
                .map(str::to_owned)
                .chain(n.evidence.iter().cloned())
                .collect()
        });
        let order = figures::in_order(&drawn, cell, control);
        CardView {
            anchor: anchor(&cell.cell),
            cell: cell.cell.0.clone(),
            kind: word(cell.kind),
            fate: cell.fate.name().to_owned(),
            class: effect.map_or(String::new(), |e| e.verdict.word().replace(' ', "-")),
            verdict: effect.map(|e| e.verdict.word().to_owned()),
            sentence: effect.map(|e| e.sentence.clone()),
            against,
            numbers: numbers(cell, summary, scale),
            figures: order.into_iter().chain(figures::inside(&drawn, cell, &unit_of)).collect(),
            unit: scale.heading.clone(),
            response: response.name.clone(),
            runs: runs(&drawn, cell, control),
            commands: of_cell.remove(&cell.cell.0),
        }
    };
    let view = |(place, cells): (String, Vec<&CellSummary>)| {
        let control = controls.get(&place).copied();
        PointView {
            distribution: figures::distribution(&drawn, &cells),
            cells: cells.into_iter().map(|cell| card(cell, control)).collect(),
            place,
        }
    };
    places.into_iter().map(view).collect()
}

/// Cells by their levels in words, in the order in which they first come.
pub fn by_place<'f>(
    cells: impl IntoIterator<Item = &'f CellSummary>,
) -> IndexMap<String, Vec<&'f CellSummary>> {
    let mut places: IndexMap<String, Vec<&CellSummary>> = IndexMap::new();
    for cell in cells {
        places.entry(levels(&cell.levels)).or_default().push(cell);
    }
    places
}

fn runs(drawn: &Drawn, cell: &CellSummary, control: Option<&CellId>) -> Vec<CardRun> {
    let trail = drawn.trail;
    let control = control.filter(|control| **control != cell.cell);
    let run = |place: &usize| {
        let note = &trail.row(*place).note;
        let value = trail.value(*place, drawn.response);
        let beside = control.and_then(|c| trail.value(trail.in_block(c, note.run.block)?, drawn.response));
        let share = value.zip(beside).filter(|(_, control)| *control != 0.0).map(|(v, c)| ratio(v / c));
        CardRun {
            block: note.run.block,
            row: place + 1,
            href: trail.href(*place),
            value: value.map_or("–".to_owned(), |v| drawn.scale.text(v)),
            exact: value.map_or(String::new(), exact),
            control: beside.map_or("–".to_owned(), |v| drawn.scale.text(v)),
            ratio: share.unwrap_or_else(|| "–".to_owned()),
            outcome: note.outcome.name().replace('_', " "),
            class: note.outcome.name().to_owned(),
        }
    };
    trail.counted(&cell.cell).iter().take(trail.most_dots()).map(run).collect()
}

fn numbers(cell: &CellSummary, summary: Option<&ResponseSummary>, scale: &Scale) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = vec![];
    let mut say = |name: &str, text: String| found.push((name.to_owned(), text));
    let all: u64 = cell.outcomes.values().sum();
    if all > 0 {
        let counts = super::cells::counts(&cell.outcomes);
        let several = counts.contains(", ");
        say("Runs", if several { format!("{all} = {}", counts.replace(", ", " + ")) } else { counts });
    }
    if let Some(r) = summary.filter(|r| r.n + r.timed_out > 0) {
        // What does not exist is told apart from zero.
        let or_why = |name: &str, value: Option<f64>| match value {
            Some(value) => scale.with_unit(value),
            None => format!("none: {}", r.absent.get(name).map_or("it cannot be told", String::as_str)),
        };
        let interval = r.interval.map_or(String::new(), |i| {
            format!(", {} at {} confidence", scale.between(i.low, i.high), confidence(i.confidence))
        });
        let median = format!("{} {}", super::cells::median(r, scale, "none"), scale.heading);
        say("Median", format!("{}{interval}", median.trim_end()));
        if let (Some(low), Some(high)) = (r.min, r.max) {
            say("Range", format!("{} to {}", scale.text(low), scale.with_unit(high)));
        }
        let cv = r.cv.map_or(String::new(), |cv| format!(" ({} of the mean)", percent(cv)));
        say("Standard deviation", or_why("sd", r.sd) + &cv);
        if let Some(time) = &r.time {
            say("Mean up to the deadline", or_why_time(time.restricted_mean, scale));
        }
        if let Some(caution) = &r.caution {
            say("Mind", caution.clone());
        }
    }
    if let Some(work) = cell.work {
        say(
            "Work",
            format!(
                "{} = {} success + {} timeout + {} transport error + {} wrong answer",
                plural(work.declared, "unit"),
                work.success,
                work.timeout,
                work.transport_error,
                work.wrong_answer
            ),
        );
    }
    found
}

fn or_why_time(mean: Option<f64>, scale: &Scale) -> String {
    mean.map_or("none".to_owned(), |mean| scale.with_unit(mean))
}
