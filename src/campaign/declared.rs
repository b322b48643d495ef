//! A campaign as declared, with every default filled in.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::steer::Steer;
use crate::model::arm::Arm;
use crate::model::gate::GateRule;
use crate::model::level::Level;
use crate::model::quiet::Quiet;
use crate::model::response::Response;
use crate::model::retention::Retention;
use crate::model::until::Until;
use crate::model::workload::Workload;
use crate::rule::Rule;
use crate::yaml::Span;

/// A campaign whose file had no errors.
#[derive(Debug, Clone)]
pub struct Campaign {
    pub name: String,
    pub question: String,
    pub hypothesis: Option<String>,
    /// May run with too few blocks for a verdict; everything printed says so.
    pub pilot: bool,
    /// Path of the hosts file as typed, relative to the campaign file; None is this machine alone, as the host
    /// [`HERE`](super::HERE).
    pub hosts: Option<String>,
    /// Path of the dead-ends file as typed, relative to the campaign file.
    pub dead_ends: Option<String>,
    /// Dead end to the reason why it is tried again.
    pub reattempt: IndexMap<String, String>,
    /// Variable to levels, in the order of the file; no list is empty.
    pub variables: IndexMap<String, Vec<Level>>,
    /// Variables that are set once for a group of runs.
    pub hard_to_change: Vec<String>,
    /// The control first, then treatments, combinations (`a+b`), anchors and the twin; names are unique.
    pub arms: Vec<Arm>,
    /// Setting or host fact to the template of its text, on every host that a cell uses.
    pub hold: IndexMap<String, String>,
    /// What `run --as quiet` does on the hosts first.
    pub quiet: Option<Quiet>,
    /// What `prune` keeps of its records where it is not told.
    pub retention: Retention,
    pub steer: Option<Steer>,
    pub workload: Workload,
    /// The untouched control must lose nothing on a link, both ways, before anything on it counts.
    pub baseline: bool,
    pub accept: Vec<Accept>,
    pub exclude: Vec<Exclusion>,
    pub blocks: Blocks,
    /// A run is killed when it takes longer.
    pub timeout_ms: u64,
    /// Exactly one is primary.
    pub responses: Vec<Response>,
    pub gate: GateRule,
    /// The grid may have no more cells than this, and has no more.
    pub max_cells: u64,
    pub expect: Expected,
    pub places: Places,
}

/// A rule that a run must meet to count as measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    /// Every frame that was sent has been received.
    ZeroLoss,
}

/// Cells that are not run.
#[derive(Debug, Clone)]
pub struct Exclusion {
    pub rule: Rule,
    pub because: Option<String>,
    pub span: Span,
}

/// How often every cell is measured, and in which order.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocks {
    /// All blocks, or those before the first look where the answer's precision decides.
    pub count: u32,
    pub until: Option<Until>,
    pub order: Order,
    /// Decides the shuffling.
    pub seed: u64,
}

impl Blocks {
    /// Blocks that a trial has at most.
    pub fn most(&self) -> u32 {
        self.until.as_ref().map_or(self.count, |until| until.most)
    }

    /// The next number of blocks, from `blocks` on, after which the trial may end.
    pub fn end_from(&self, blocks: u32) -> u32 {
        self.until.as_ref().map_or(self.count, |until| until.look_from(self.count, blocks))
    }

    /// `10 blocks`, or `10 to 30 blocks`.
    pub fn words(&self) -> String {
        match (self.most(), self.count) {
            (1, _) => "1 block".to_owned(),
            (most, count) if most > count => format!("{count} to {most} blocks"),
            (most, _) => format!("{most} blocks"),
        }
    }
}

/// The order of the cells within the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As declared, in every block.
    Forward,
    /// Shuffled anew for each pair of blocks, the second of which runs backwards.
    Mirrored,
    /// Shuffled anew for each block.
    Shuffled,
}

impl Order {
    /// As it is written in the file.
    pub fn name(self) -> &'static str {
        match self {
            Order::Forward => "forward",
            Order::Mirrored => "mirrored",
            Order::Shuffled => "shuffled",
        }
    }
}

/// Patterns of cell ids (`*` stands for anything) whose outcome is no failure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expected {
    pub refused: Vec<String>,
    pub rejected: Vec<String>,
    pub timed_out: Vec<String>,
    pub failed: Vec<String>,
}

/// Where each part of the file stands: `blocks.count`, `variables.streams.0`, `exclude.1.when`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places(BTreeMap<String, Span>);

impl Places {
    pub(super) fn note(&mut self, path: impl Into<String>, span: Span) {
        self.0.insert(path.into(), span);
    }

    /// The place of a key path that is in the file.
    pub(super) fn given(&self, path: &str) -> Option<Span> {
        self.0.get(path).copied()
    }

    /// The place of the first of these key paths that is in the file.
    pub(super) fn first_of(&self, paths: &[&str]) -> Span {
        paths.iter().find_map(|path| self.given(path)).unwrap_or_else(|| self.of("campaign"))
    }

    /// The place of a key path, or of the nearest part around it that is in the file.
    pub fn of(&self, path: &str) -> Span {
        let mut path = path;
        loop {
            if let Some(span) = self.0.get(path) {
                return *span;
            }
            match path.rsplit_once('.') {
                Some((outer, _)) => path = outer,
                None => return self.0.get("campaign").copied().unwrap_or_default(),
            }
        }
    }
}
