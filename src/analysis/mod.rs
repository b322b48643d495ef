//! Evidence judged: summaries, effects and verdicts.

pub mod caution;
pub mod effect;
pub mod findings;
pub mod holm;
pub mod judge;
pub mod order_statistic;
pub mod pairs;
pub mod rerun;
pub mod setup;
pub mod signed_rank;
pub mod summary;
pub mod sums;
#[cfg(test)]
mod tests;
pub mod verdict;
