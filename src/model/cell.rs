//! Cells and the keys of runs.

use serde::{Deserialize, Serialize};

/// Readable, stable id of a cell, e.g. `frame_size=64,streams=4/xdp-rx`; `/control` alone when the
/// grid has no variables.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellId(pub String);

impl std::fmt::Display for CellId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

/// One cell, one block, one attempt. Blocks and attempts count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    pub cell: CellId,
    pub block: u32,
    pub attempt: u32,
}

impl std::fmt::Display for RunKey {
    /// `CELL#BLOCK.ATTEMPT`, the run's address in tables and commands.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}.{}", self.cell, self.block, self.attempt)
    }
}
