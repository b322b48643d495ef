//! A table as the trial that is judged.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;

use super::findings::TableFinding;
use super::question::{Deadline, Question};
use super::row::{Row, deadline_of, outcome_of, reading_of};
use super::samples;
use super::table::{Complaint, Labels, Table};
use super::trial::{Arm, Block, Cell, Reading, Run, Trial};
use crate::model::arm::ArmKind;
use crate::model::cell::CellId;
use crate::model::outcome::{Fate, RunOutcome};
use crate::model::response::{Better, Response};

/// Sorts rows into cells, and counts those that are of no use.
///
/// # Errors
/// Everything in the table that does not fit the question.
pub fn trial(
    table: &Table,
    question: &Question,
    name: &str,
) -> Result<(Trial, TableFinding), Vec<Complaint>> {
    let mut complaints = vec![];
    let outcomes = outcomes(table, question, &mut complaints);
    let grid = Grid::of(table, question, &mut complaints);
    complaints.extend(question.complaints());
    if !complaints.is_empty() {
        return Err(complaints);
    }
    let mut not_used: BTreeMap<String, u64> = BTreeMap::new();
    let mut cells: HashMap<u128, Cell> = HashMap::new();
    let block = question.block.as_ref().map(|b| &table.labels[b]);
    let group = question.group.as_ref().map(|g| &table.labels[g]);
    let order = question.order.as_ref().map(|o| places(&table.labels[o]));
    for row in 0..table.rows {
        let row = Row { table, question, at: row, outcome: outcomes.as_ref().map(|o| o[row]) };
        let readings: Vec<Reading> = (0..question.responses.len()).map(|r| reading_of(&row, r)).collect();
        let outcome = outcome_of(&row, &readings);
        if let Reading::Absent(why) = &readings[0] {
            *not_used.entry(why.to_string()).or_default() += 1;
        }
        let cell = cells.entry(grid.key(row.at)).or_insert_with(|| grid.cell(row.at));
        cell.deadlines.extend(deadline_of(&row));
        cell.runs.push(Run {
            block: block.map_or(0, |b| b.codes[row.at]),
            session: 0,
            outcome,
            reason: None,
            group: group.map(|labels| labels.names[labels.codes[row.at] as usize].as_str().into()),
            order: order.as_ref().map(|o| o[row.at]),
            readings,
            work: None,
        });
    }
    let mut cells: Vec<(u128, Cell)> = cells.into_iter().collect();
    cells.sort_unstable_by_key(|(key, _)| *key);
    let mut cells: Vec<Cell> = cells.into_iter().map(|(_, cell)| cell).collect();
    for cell in &mut cells {
        settle(cell, question);
    }
    let lost: u64 = not_used.values().sum();
    let rows = table.rows as u64;
    let finding = TableFinding {
        name: name.to_owned(),
        format: "csv".to_owned(),
        rows,
        used: rows - lost,
        words: words(rows, &not_used),
        not_used,
        columns_not_used: table.unused.clone(),
    };
    Ok((
        Trial {
            deadlines: deadlines(question, &cells),
            responses: responses(question),
            pilot: false,
            hard_to_change: question.hard_to_change(),
            arms: grid.arms(),
            cells,
            blocks: match block {
                Some(labels) => labels.names.iter().map(|l| Block::named(l)).collect(),
                None => vec![Block::named("")],
            },
            differences: BTreeMap::new(),
        },
        finding,
    ))
}

/// Puts the runs of a cell in an order that the rows do not decide.
fn settle(cell: &mut Cell, question: &Question) {
    cell.deadlines.sort_by(f64::total_cmp);
    cell.deadlines.dedup();
    cell.rank_worst();
    let value = |run: &Run| match run.readings[0] {
        Reading::Value(v) | Reading::AtLeast(v) | Reading::AtMost(v) => v,
        Reading::Absent(_) => f64::INFINITY,
    };
    cell.runs.sort_by(|a, b| {
        let by_order = a.order.unwrap_or(0.0).total_cmp(&b.order.unwrap_or(0.0));
        a.block.cmp(&b.block).then(by_order).then_with(|| value(a).total_cmp(&value(b)))
    });
    if let Some(reduction) = question.samples {
        samples::reduce(&mut cell.runs, reduction);
    }
}

fn words(rows: u64, not_used: &BTreeMap<String, u64>) -> String {
    let lost: u64 = not_used.values().sum();
    let reasons: Vec<String> = not_used.iter().map(|(why, n)| format!("{n} because {why}")).collect();
    let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
    format!("{rows} rows = {} used + {lost} not used{why}: holds", rows - lost)
}

fn responses(question: &Question) -> Vec<Response> {
    let response = |(at, name): (usize, &String)| Response {
        name: name.clone(),
        unit: question.unit.clone(),
        better: question.better,
        scale: question.scale,
        margin: question.margin,
        primary: at == 0,
    };
    question.responses.iter().enumerate().map(response).collect()
}

/// The deadline of the first response where all runs had the same.
fn deadlines(question: &Question, cells: &[Cell]) -> Vec<Option<f64>> {
    let mut all: Vec<f64> = cells.iter().flat_map(|c| &c.deadlines).copied().collect();
    if let (Some(Deadline::At(at)), true) = (&question.deadline, all.is_empty()) {
        all.push(*at);
    }
    all.sort_by(f64::total_cmp);
    all.dedup();
    let first =
        if let ([one], Better::Lower) = (all.as_slice(), question.better) { Some(*one) } else { None };
    (0..question.responses.len()).map(|at| first.filter(|_| at == 0)).collect()
}

/// Names as places in time: by value where all are numbers, else by their order.
fn places(labels: &Labels) -> Vec<f64> {
    let numbers: Option<Vec<f64>> = labels.names.iter().map(|n| n.parse().ok()).collect();
    let place = |code: &u32| numbers.as_ref().map_or(f64::from(*code), |n| n[*code as usize]);
    labels.codes.iter().map(place).collect()
}

fn outcomes(table: &Table, question: &Question, complaints: &mut Vec<Complaint>) -> Option<Vec<RunOutcome>> {
    let labels = &table.labels[question.status.as_ref()?];
    let known: Vec<Option<RunOutcome>> = labels.names.iter().map(|n| super::row::outcome_named(n)).collect();
    for (name, _) in labels.names.iter().zip(&known).filter(|(_, outcome)| outcome.is_none()) {
        complaints.push(Complaint::whole(
            format!("expected an outcome in the status column, found `{name}`"),
            "outcomes are measured (or ok), timed_out (or timeout), rejected, failed and interrupted",
        ));
    }
    Some(labels.codes.iter().map(|c| known[*c as usize].unwrap_or(RunOutcome::Failed)).collect())
}

/// Which cell a row belongs to.
struct Grid<'a> {
    /// Factors by name, without the column of the arms.
    factors: Vec<(&'a String, &'a Labels)>,
    arm: Option<(&'a Labels, u32)>,
}

impl<'a> Grid<'a> {
    fn of(table: &'a Table, question: &'a Question, complaints: &mut Vec<Complaint>) -> Grid<'a> {
        let is_arm = |name: &String| question.control.as_ref().is_some_and(|(column, _)| column == name);
        let mut factors: Vec<(&String, &Labels)> = vec![];
        for name in question.factors.iter().filter(|name| !is_arm(name)) {
            if factors.iter().all(|(known, _)| *known != name) {
                factors.push((name, &table.labels[name]));
            }
        }
        let cells = factors.iter().map(|(_, l)| l.names.len() as u128);
        if cells.fold(1u128, u128::saturating_mul) > u128::from(u64::MAX) {
            complaints
                .push(Complaint::whole("the factors have too many levels together".into(), "name fewer"));
        }
        let arm = question.control.as_ref().and_then(|(column, control)| {
            let labels = &table.labels[column];
            let code = labels.names.iter().position(|n| n == control);
            if code.is_none() {
                complaints.push(Complaint::whole(
                    format!(
                        "expected the control `{control}` in column {column}, found {}",
                        some(&labels.names)
                    ),
                    "name one of them: --control COLUMN=LEVEL",
                ));
            }
            Some((labels, code? as u32))
        });
        Grid { factors, arm }
    }

    /// Grows level by level as the table orders them, the control before other arms.
    fn key(&self, row: usize) -> u128 {
        let grid = self
            .factors
            .iter()
            .fold(0u128, |key, (_, labels)| key * labels.names.len() as u128 + u128::from(labels.codes[row]));
        let arm = self.arm.map_or(0, |(labels, control)| match labels.codes[row] {
            code if code == control => 0,
            code => u128::from(code) + 1,
        });
        grid * (u128::from(u32::MAX) + 2) + arm
    }

    fn cell(&self, row: usize) -> Cell {
        let levels: IndexMap<String, String> = self
            .factors
            .iter()
            .map(|(name, labels)| ((*name).clone(), labels.names[labels.codes[row] as usize].clone()))
            .collect();
        let arm =
            self.arm.map_or(String::new(), |(labels, _)| labels.names[labels.codes[row] as usize].clone());
        let own = self.arm.is_none_or(|(labels, control)| labels.codes[row] == control);
        let place: Vec<String> = levels.iter().map(|(name, level)| format!("{name}={level}")).collect();
        let id = match (place.is_empty(), arm.is_empty()) {
            (true, true) => "all".to_owned(),
            (false, true) => place.join(","),
            (_, false) => format!("{}/{arm}", place.join(",")),
        };
        Cell {
            id: CellId(id),
            arm,
            kind: if own { ArmKind::Control } else { ArmKind::Treatment },
            levels,
            hosts: String::new(),
            fate: Fate::Live,
            reason: None,
            deadlines: vec![],
            runs: vec![],
        }
    }

    fn arms(&self) -> Vec<Arm> {
        let Some((labels, control)) = self.arm else { return vec![] };
        let arm = |(code, name): (usize, &String)| Arm {
            name: name.clone(),
            kind: if code as u32 == control { ArmKind::Control } else { ArmKind::Treatment },
        };
        labels.names.iter().enumerate().map(arm).collect()
    }
}

/// The first few of many names.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}
