//! The one file of a campaign that holds what is official: levels, floors, who, when and why.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::floor::{self, FEWEST, level};
use super::key::Key;
use super::measured::Measured;
use crate::model::arm::ArmKind;
use crate::model::cell::CellId;
use crate::model::response::Better;

/// Version of the file's shape; a reader refuses a newer one.
pub const VERSION: u32 = 1;

/// Everything that was ever published; entries are added and never taken out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Book {
    pub version: u32,
    pub campaign: String,
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    Published(Published),
    Unpublished(Unpublished),
}

/// A record that was made official.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    pub record: String,
    pub record_sha256: String,
    /// When the record was begun.
    pub record_at: String,
    pub at: String,
    pub by: String,
    pub why: String,
    /// What spoke against it, and the reason for publishing it all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced: Option<Forced>,
    /// Why floors were lowered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowered: Option<String>,
    pub tool_version: String,
    pub cells: Vec<Baseline>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forced {
    pub reason: String,
    pub against: Vec<String>,
}

/// A publication that is no longer in force; the one before it is again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unpublished {
    pub record: String,
    pub at: String,
    pub by: String,
    pub why: String,
}

/// The official level of one response of one cell, and its floor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    pub cell: CellId,
    pub kind: ArmKind,
    pub levels: IndexMap<String, String>,
    pub response: String,
    pub unit: String,
    pub better: Better,
    pub replicates: Vec<f64>,
    pub median: f64,
    /// What the floor is taken from.
    pub base: f64,
    pub tolerance: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// The worst value that passes; a ceiling where lower is better.
    pub floor: f64,
    pub key: Key,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub programs: BTreeSet<String>,
}

impl Book {
    pub fn new(campaign: &str) -> Book {
        Book { version: VERSION, campaign: campaign.to_owned(), entries: vec![] }
    }

    /// The publication in force: the last that was not taken back.
    pub fn active(&self) -> Option<&Published> {
        let mut standing: Vec<&Published> = vec![];
        for entry in &self.entries {
            match entry {
                Entry::Published(published) => standing.push(published),
                Entry::Unpublished(back) => {
                    if let Some(at) = standing.iter().rposition(|own| own.record == back.record) {
                        standing.remove(at);
                    }
                }
            }
        }
        standing.pop()
    }

    /// Every publication, taken back or not, oldest first.
    pub fn published(&self) -> impl Iterator<Item = &Published> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Published(published) => Some(published),
            Entry::Unpublished(_) => None,
        })
    }

    /// The strictest floor that ever was, so that many small steps down show as one large one.
    pub fn strictest_floor(&self, cell: &CellId, response: &str) -> Option<f64> {
        let floors = self.published().filter_map(|published| published.of(cell, response));
        floors.map(|own| (own.better, own.floor)).fold(None, |strictest, (better, floor)| match strictest {
            Some(strictest) if !floor::worse(better, strictest, floor) => Some(strictest),
            _ => Some(floor),
        })
    }
}

impl Published {
    pub fn of(&self, cell: &CellId, response: &str) -> Option<&Baseline> {
        self.cells.iter().find(|own| own.cell == *cell && own.response == response)
    }
}

/// The baselines that a record would give; cells and responses with fewer than three replicates give none.
pub fn baselines(measured: &Measured) -> Vec<Baseline> {
    let one = |cell: &super::measured::MeasuredCell| {
        measured
            .responses
            .iter()
            .filter_map(|(response, band)| {
                let replicates = cell.values.get(&response.name)?.numbers();
                let level = level(response.better, &replicates).filter(|level| level.n >= FEWEST)?;
                Some(Baseline {
                    cell: cell.cell.clone(),
                    kind: cell.kind,
                    levels: cell.levels.clone(),
                    response: response.name.clone(),
                    unit: response.unit.clone(),
                    better: response.better,
                    replicates,
                    median: level.median,
                    base: level.base,
                    tolerance: band.tolerance,
                    limit: band.limit,
                    floor: floor::floor(response.better, level.base, *band),
                    key: cell.key.clone(),
                    programs: cell.programs.clone(),
                })
            })
            .collect::<Vec<_>>()
    };
    // A second control only shows the noise.
    measured.cells.iter().filter(|cell| cell.kind != ArmKind::Twin).flat_map(one).collect()
}
