//! Campaign → Plan: the grid, what rules exclude, the run order and the audit.

pub mod audit;
pub mod estimate;
pub mod exclusion;
pub mod grid;
pub mod order;
pub mod plan;
pub mod repeat;
