//! What is judged, of whatever origin: cells with their runs, one reading of each run for each response.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::model::arm::ArmKind;
use crate::model::cell::CellId;
use crate::model::outcome::{Fate, RunOutcome};
use crate::model::response::Response;
use crate::model::work_counts::WorkCounts;

/// A set of runs that are judged together.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub responses: Vec<Response>,
    /// Deadline of each response in its own unit, by its place among the responses; only of times.
    pub deadlines: Vec<Option<f64>>,
    pub pilot: bool,
    /// Variables, or `arm`, that were set once for a group of runs.
    pub hard_to_change: Vec<String>,
    /// The control is among them where there is one.
    pub arms: Vec<Arm>,
    /// As they are to be shown: level by level, at each grid point arm by arm.
    pub cells: Vec<Cell>,
    /// Runs name their block by its place in this list.
    pub blocks: Vec<Block>,
    /// What differs between two sessions, only where something does.
    pub differences: BTreeMap<(u32, u32), Vec<String>>,
}

/// An arm by its name and kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    pub name: String,
    pub kind: ArmKind,
}

/// A block by the name that people know it by.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub label: String,
    /// None for a block of the plan; the cell that a rerun was asked for.
    pub rerun_of: Option<CellId>,
    /// The day (in UTC) that its first run ended on, where it is known.
    pub day: Option<String>,
}

impl Block {
    /// A block of which nothing is known but its name.
    pub fn named(label: &str) -> Block {
        Block { label: label.to_owned(), rerun_of: None, day: None }
    }
}

/// A cell with the last attempt of each of its runs, ordered by block.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub id: CellId,
    pub arm: String,
    pub kind: ArmKind,
    pub levels: IndexMap<String, String>,
    /// Names of the hosts that its runs used; empty where nobody said.
    pub hosts: String,
    pub fate: Fate,
    /// Why it is not live.
    pub reason: Option<String>,
    /// Deadlines that its runs had, ascending and without repetition.
    pub deadlines: Vec<f64>,
    pub runs: Vec<Run>,
}

impl Cell {
    /// The runs of one block; several where a block holds the cell more than once.
    pub fn in_block(&self, block: u32) -> &[Run] {
        let first = self.runs.partition_point(|r| r.block < block);
        let end = first + self.runs[first..].partition_point(|r| r.block == block);
        &self.runs[first..end]
    }

    /// Gives timeouts that nothing bounds the worst place: no better than the worst run of this cell
    /// that was measured. With none measured they stay without a bound.
    pub fn rank_worst(&mut self) {
        for response in 0..self.runs.first().map_or(0, |r| r.readings.len()) {
            let measured = self.runs.iter().filter_map(|r| match r.readings[response] {
                Reading::Value(value) => Some(value),
                _ => None,
            });
            let (least, most) = measured
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (least.min(v), most.max(v)));
            for run in &mut self.runs {
                match &mut run.readings[response] {
                    Reading::AtLeast(bound) if *bound == f64::NEG_INFINITY => *bound = most,
                    Reading::AtMost(bound) if *bound == f64::INFINITY => *bound = least,
                    _ => {}
                }
            }
        }
    }

    /// Units of work of the measured runs over some blocks.
    pub fn work(&self, blocks: &[u32]) -> Option<WorkCounts> {
        let runs = blocks.iter().flat_map(|b| self.in_block(*b));
        let counted = runs.filter(|run| run.outcome == RunOutcome::Measured).filter_map(|run| run.work);
        counted.reduce(|sum, work| sum.plus(&work))
    }

    /// Runs by outcome over some blocks; every outcome has its count.
    pub fn outcomes(&self, blocks: &[u32]) -> BTreeMap<String, u64> {
        let mut counts = [0u64; RunOutcome::ALL.len()];
        for run in blocks.iter().flat_map(|b| self.in_block(*b)) {
            counts[run.outcome as usize] += 1;
        }
        RunOutcome::ALL.iter().zip(counts).map(|(o, n)| (o.name().to_owned(), n)).collect()
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub block: u32,
    pub session: u32,
    pub outcome: RunOutcome,
    pub reason: Option<Box<str>>,
    /// The setting that it shared with other runs, where the data name it.
    pub group: Option<Box<str>>,
    /// Place in time among all runs, in any unit; None where nobody said.
    pub order: Option<f64>,
    /// One for each response.
    pub readings: Vec<Reading>,
    /// What became of its declared units of work; None where nothing is declared or known.
    pub work: Option<WorkCounts>,
}

/// What a run says about one response.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    Value(f64),
    /// Not finished at its deadline, and at least this: times, memory and bytes.
    AtLeast(f64),
    /// Not finished at its deadline, and at most this: rates.
    AtMost(f64),
    /// No value, for this reason.
    Absent(Box<str>),
}

impl Trial {
    /// Places of the blocks that the plan had, in order.
    pub fn planned_blocks(&self) -> Vec<u32> {
        self.blocks_where(|b| b.rerun_of.is_none())
    }

    /// Places of the blocks that reruns of this cell added, in order.
    pub fn rerun_blocks(&self, cell: &CellId) -> Vec<u32> {
        self.blocks_where(|b| b.rerun_of.as_ref() == Some(cell))
    }

    fn blocks_where(&self, is: impl Fn(&Block) -> bool) -> Vec<u32> {
        self.blocks.iter().enumerate().filter(|(_, b)| is(b)).map(|(i, _)| i as u32).collect()
    }

    /// What differs between two sessions; empty for the same set-up.
    pub fn differences(&self, a: u32, b: u32) -> &[String] {
        self.differences.get(&(a.min(b), a.max(b))).map_or(&[], |found| found)
    }
}
