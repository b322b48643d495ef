//! Evidence judged: summaries, effects and verdicts.

pub mod accurate;
pub mod anova;
pub mod balanced;
pub mod basis;
pub mod caution;
pub mod change_point;
pub mod contrast;
pub mod drift;
pub mod effect;
pub mod every_pair;
pub mod factor;
pub mod findings;
pub mod first_place;
pub mod history;
pub mod holm;
pub mod interaction;
pub mod judge;
pub mod kendall;
pub mod ladder;
pub mod lenth;
pub mod noise_floor;
pub mod order_statistic;
pub mod pairs;
pub mod power;
pub mod rerun;
pub mod reversal;
pub mod setup;
pub mod shuffle;
pub mod signed_rank;
pub mod split_plot;
pub mod stopping;
pub mod summary;
pub mod sums;
pub mod tail;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_anova;
#[cfg(test)]
mod tests_change_point;
#[cfg(test)]
mod tests_effects;
#[cfg(test)]
mod tests_environment;
pub mod two_level;
pub mod unbalanced;
pub mod verdict;
