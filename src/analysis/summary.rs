//! One cell's runs summarised, response by response.

use std::collections::BTreeMap;

use super::effect::ALPHA;
use super::findings::{CellSummary, ResponseSummary};
use super::order_statistic::{median_interval, median_of_sorted};
use super::pairs::{Pairing, value};
use crate::evidence::event::CellNote;
use crate::model::response::Response;

/// Summarises the last attempts of one cell in the planned blocks.
pub fn summarise(pairing: &Pairing, note: &CellNote, responses: &[Response], blocks: &[u32]) -> CellSummary {
    let outcomes = pairing.outcomes(&note.cell, blocks);
    let runs: u64 = outcomes.values().sum();
    let summary = |r: &Response| summarise_response(pairing, note, r, blocks, runs);
    CellSummary {
        cell: note.cell.clone(),
        arm: note.arm.clone(),
        kind: note.kind,
        levels: note.levels.clone(),
        fate: note.fate,
        responses: if runs == 0 { vec![] } else { responses.iter().map(summary).collect() },
        outcomes,
    }
}

fn summarise_response(
    pairing: &Pairing,
    note: &CellNote,
    response: &Response,
    blocks: &[u32],
    runs: u64,
) -> ResponseSummary {
    let read = |block: &u32| value(&note.cell, pairing.run(&note.cell, *block), &response.name).ok();
    let mut values: Vec<f64> = blocks.iter().filter_map(read).collect();
    values.sort_by(f64::total_cmp);
    let n = values.len() as u64;
    let interval = median_interval(&values, 1.0 - ALPHA);
    let mut absent = BTreeMap::new();
    if values.is_empty() {
        for name in ["median", "min", "max"] {
            absent.insert(name.to_owned(), "no run of this cell yielded a value".to_owned());
        }
    }
    if interval.is_none() {
        let why =
            if values.is_empty() { "no run of this cell yielded a value" } else { "one value has no spread" };
        absent.insert("interval".to_owned(), why.to_owned());
    }
    ResponseSummary {
        response: response.name.clone(),
        unit: response.unit.clone(),
        n,
        median: median_of_sorted(&values),
        min: values.first().copied(),
        max: values.last().copied(),
        interval,
        caution: (n < runs).then(|| {
            format!("of the {n} measured runs only; {} of {runs} runs have no value here", runs - n)
        }),
        absent,
    }
}
