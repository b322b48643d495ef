//! Evidence judged: summaries, effects and verdicts.

pub mod accurate;
pub mod anova;
pub mod balanced;
pub mod basis;
pub mod caution;
pub mod effect;
pub mod factor;
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
pub mod tail;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_anova;
pub mod unbalanced;
pub mod verdict;
