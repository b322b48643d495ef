//! Cells and the keys of runs.

use serde::{Deserialize, Serialize};

/// Readable, stable id of a cell, e.g. `frame_size=64,streams=4/xdp-rx`; `/control` alone when the
/// grid has no variables.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellId(pub String);

impl CellId {
    /// Whether the whole id fits a pattern, in which each `*` stands for anything.
    pub fn fits(&self, pattern: &str) -> bool {
        fits(pattern, &self.0)
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| fits(tail, &rest[at..]))
        }),
    }
}

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

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_anything_and_nothing_else_does() {
        assert!(fits("*", "a=1/control") && fits("a=*/slow", "a=1,b=2/slow") && fits("a", "a"));
        assert!(!fits("a=*/slow", "a=1/fast") && !fits("a", "ab") && !fits("", "a"));
    }
}
