//! Change points of a table: along the rows of a history, or along the releases of a ladder.

use super::accurate::sum;
use super::change_point::{ChangePoints, Search};
use super::findings::ChangePointFinding;
use super::question::{Along, Question};
use super::row::outcome_named;
use super::table::{Entry, Labels, Table};
use super::{history, ladder};
use crate::model::outcome::RunOutcome;

/// Searches every response. Names stand in the order of `--order`, else in that in which they first
/// come in the table.
pub fn change_points(table: &Table, question: &Question) -> Vec<ChangePointFinding> {
    let Some(along) = &question.along else { return vec![] };
    let names = &table.labels[along.column()];
    let rows = in_order(table, question);
    let one = |response: &String| {
        let used: Vec<(usize, f64)> = rows
            .iter()
            .filter(|row| counts(table, question, **row))
            .filter_map(|row| match table.numbers[response][*row] {
                Entry::Number(value) if value > 0.0 && value.is_finite() => Some((*row, value)),
                _ => None,
            })
            .collect();
        let (of, found) = match along {
            Along::History(_) => ("history", of_history(names, &used)),
            Along::Ladder(_) => ("ladder", of_ladder(table, question, names, &rows, &used)),
        };
        ChangePointFinding {
            response: response.clone(),
            of: of.to_owned(),
            along: along.column().clone(),
            not_used: (table.rows - used.len()) as u64,
            found,
        }
    };
    question.responses.iter().map(one).collect()
}

fn counts(table: &Table, question: &Question, row: usize) -> bool {
    question.status.as_ref().is_none_or(|column| {
        let labels = &table.labels[column];
        outcome_named(&labels.names[labels.codes[row] as usize]) == Some(RunOutcome::Measured)
    })
}

/// Places of rows, by the column of order where there is one. Its names are sorted already.
fn in_order(table: &Table, question: &Question) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..table.rows).collect();
    if let Some(column) = &question.order {
        rows.sort_by_key(|row| table.labels[column].codes[*row]);
    }
    rows
}

fn of_history(names: &Labels, used: &[(usize, f64)]) -> ChangePoints {
    let name = |row: usize| names.names[names.codes[row] as usize].clone();
    let points: Vec<(String, f64)> = used.iter().map(|(row, value)| (name(*row), *value)).collect();
    history::change_points(&points, &Search::default())
}

/// Rows of one release in one block become their geometric mean.
fn of_ladder(
    table: &Table,
    question: &Question,
    names: &Labels,
    rows: &[usize],
    used: &[(usize, f64)],
) -> ChangePoints {
    let mut releases: Vec<u32> = vec![];
    let mut place: Vec<Option<usize>> = vec![None; names.names.len()];
    for code in rows.iter().map(|row| names.codes[*row]) {
        if place[code as usize].is_none() {
            place[code as usize] = Some(releases.len());
            releases.push(code);
        }
    }
    let blocks = question.block.as_ref().map(|column| &table.labels[column]);
    let count = blocks.map_or(1, |labels| labels.names.len());
    let mut logs: Vec<Vec<Vec<f64>>> = vec![vec![vec![]; releases.len()]; count];
    for (row, value) in used {
        let block = blocks.map_or(0, |labels| labels.codes[*row] as usize);
        if let Some(release) = place[names.codes[*row] as usize] {
            logs[block][release].push(value.ln());
        }
    }
    let mean =
        |logs: &Vec<f64>| (!logs.is_empty()).then(|| (sum(logs.iter().copied()) / logs.len() as f64).exp());
    let blocks: Vec<Vec<Option<f64>>> = logs.iter().map(|block| block.iter().map(mean).collect()).collect();
    let releases: Vec<String> = releases.into_iter().map(|code| names.names[code as usize].clone()).collect();
    ladder::change_points(&releases, &blocks, &Search::default())
}
