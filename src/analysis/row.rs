//! One row of a table as a run: its outcome, and what it says about each response.

use super::question::{Deadline, Question};
use super::table::{Entry, Table};
use super::trial::Reading;
use crate::model::outcome::RunOutcome;
use crate::model::response::Better;

/// A row with the outcome that its status column says, where there is one.
pub struct Row<'a> {
    pub table: &'a Table,
    pub question: &'a Question,
    pub at: usize,
    pub outcome: Option<RunOutcome>,
}

/// An outcome by the words that people have for it.
pub fn outcome_named(word: &str) -> Option<RunOutcome> {
    let word = word.trim().to_ascii_lowercase().replace([' ', '-'], "_");
    Some(match word.as_str() {
        "measured" | "ok" | "completed" | "complete" | "done" | "success" | "ended" => RunOutcome::Measured,
        "timed_out" | "timeout" | "timedout" | "censored" => RunOutcome::TimedOut,
        "rejected" | "invalid" => RunOutcome::Rejected,
        "failed" | "failure" | "error" => RunOutcome::Failed,
        "interrupted" | "cancelled" => RunOutcome::Interrupted,
        _ => return None,
    })
}

/// Deadline of the row for its first response, where one is known.
pub fn deadline_of(row: &Row) -> Option<f64> {
    match &row.question.deadline {
        Some(Deadline::At(at)) => Some(*at),
        Some(Deadline::Column(column)) => match row.table.numbers[column][row.at] {
            Entry::Number(at) => Some(at),
            _ => None,
        },
        None => match entry(row, 0) {
            Entry::Above(at) if row.question.better == Better::Lower => Some(*at),
            Entry::Below(at) if row.question.better == Better::Higher => Some(*at),
            _ => None,
        },
    }
}

fn entry<'a>(row: &Row<'a>, response: usize) -> &'a Entry {
    &row.table.numbers[&row.question.responses[response]][row.at]
}

/// What the row says about a response. A value at or beyond its deadline is the deadline and no
/// result, whatever the status says.
pub fn reading_of(row: &Row, response: usize) -> Reading {
    let lower = row.question.better == Better::Lower;
    let bound = |at: f64| if lower { Reading::AtLeast(at) } else { Reading::AtMost(at) };
    let deadline = deadline_of(row).filter(|_| response == 0);
    let entry = entry(row, response);
    match row.outcome {
        None | Some(RunOutcome::Measured) => match entry {
            Entry::Number(value) => match deadline {
                Some(at) if lower && *value >= at => bound(at),
                Some(at) if !lower && *value <= at => bound(at),
                _ => Reading::Value(*value),
            },
            Entry::Above(value) => Reading::AtLeast(*value),
            Entry::Below(value) => Reading::AtMost(*value),
            Entry::Nothing(text) if text.is_empty() => Reading::Absent("the field is empty".into()),
            Entry::Nothing(text) => Reading::Absent(format!("`{text}` is no number").into()),
        },
        Some(RunOutcome::TimedOut) => match (deadline, entry) {
            (Some(at), _) => bound(at),
            (None, Entry::Number(at) | Entry::Above(at) | Entry::Below(at)) => bound(*at),
            // Without any bound it ranks behind all that were measured.
            (None, Entry::Nothing(_)) => bound(if lower { f64::NEG_INFINITY } else { f64::INFINITY }),
        },
        Some(outcome) => Reading::Absent(format!("the run {}", super::pairs::said(outcome)).into()),
    }
}

/// The outcome of a row. Without a status column a run that gave no value has failed.
pub fn outcome_of(row: &Row, readings: &[Reading]) -> RunOutcome {
    match (row.outcome, &readings[0]) {
        (None | Some(RunOutcome::Measured), Reading::AtLeast(_) | Reading::AtMost(_)) => RunOutcome::TimedOut,
        (Some(outcome), _) => outcome,
        (None, Reading::Absent(_)) => RunOutcome::Failed,
        (None, Reading::Value(_)) => RunOutcome::Measured,
    }
}
