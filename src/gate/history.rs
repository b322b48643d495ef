//! The committed history of a campaign: one line for every valid trial, published or not.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::floor::level;
use super::key;
use super::measured::Measured;
use crate::model::cell::CellId;
use crate::model::response::Better;

/// Version of a line's shape; a reader refuses a newer one.
pub const VERSION: u32 = 1;

/// What one trial reached. A fresh clone knows from these lines what level there was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub version: u32,
    pub record: String,
    /// Digest of its journal when the line was written.
    pub record_sha256: String,
    /// When it was begun, RFC 3339 in UTC.
    pub at: String,
    pub tool_version: String,
    pub cells: Vec<LineCell>,
}

/// What one response of one cell reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineCell {
    pub cell: CellId,
    pub response: String,
    pub unit: String,
    pub better: Better,
    pub n: u64,
    pub median: f64,
    pub worst: f64,
    pub best: f64,
    /// Name of the key: lines of another host, work, hold or tool are never compared.
    pub key: String,
    /// Digests of the products that ran.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub programs: BTreeSet<String>,
}

/// The line of a record; None where it has no value at all.
pub fn line(measured: &Measured, record_sha256: &str, tool_version: &str) -> Option<Line> {
    let cells: Vec<LineCell> = measured
        .cells
        .iter()
        .flat_map(|cell| {
            measured.responses.iter().filter_map(|(response, _)| {
                let level = level(response.better, &cell.values.get(&response.name)?.numbers())?;
                Some(LineCell {
                    cell: cell.cell.clone(),
                    response: response.name.clone(),
                    unit: response.unit.clone(),
                    better: response.better,
                    n: level.n as u64,
                    median: level.median,
                    worst: level.worst,
                    best: level.best,
                    key: key::name(&cell.key),
                    programs: cell.programs.clone(),
                })
            })
        })
        .collect();
    (!cells.is_empty()).then(|| Line {
        version: VERSION,
        record: measured.record.clone(),
        record_sha256: record_sha256.to_owned(),
        at: measured.at.clone(),
        tool_version: tool_version.to_owned(),
        cells,
    })
}

/// Lines of one cell and response under one key, oldest first.
pub fn of<'a>(
    history: &'a [Line],
    cell: &'a CellId,
    response: &'a str,
    key: &'a str,
) -> Vec<(&'a Line, &'a LineCell)> {
    let mut lines: Vec<(&Line, &LineCell)> = history
        .iter()
        .filter_map(|line| {
            let own = |own: &&LineCell| own.cell == *cell && own.response == response && own.key == key;
            Some((line, line.cells.iter().find(own)?))
        })
        .collect();
    lines.sort_by(|a, b| a.0.at.cmp(&b.0.at));
    lines
}
