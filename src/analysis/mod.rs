//! Evidence judged: summaries, effects and verdicts.

pub mod accurate;
pub mod along;
pub mod analyse;
pub mod annotations;
pub mod anova;
pub mod balanced;
pub mod basis;
pub mod caution;
pub mod change_point;
pub mod completion;
pub mod contrast;
pub mod drift;
pub mod effect;
pub mod environment;
pub mod estimate;
pub mod every_pair;
pub mod factor;
pub mod factorial;
pub mod findings;
pub mod first_place;
pub mod foresight;
pub mod history;
pub mod holm;
pub mod hyperfine;
pub mod interaction;
pub mod judge;
pub mod kendall;
pub mod ladder;
pub mod lenth;
pub mod method;
pub mod moments;
pub mod noise_floor;
pub mod of_record;
pub mod of_table;
pub mod order_statistic;
pub mod paired;
pub mod pairs;
pub mod permutation;
pub mod power;
pub mod proportion;
pub mod quantile;
pub mod question;
pub mod rank_sum;
pub mod rerun;
pub mod reversal;
mod rise;
pub mod row;
pub mod rungs;
pub mod samples;
pub mod segmentation;
pub mod setup;
pub mod shuffle;
pub mod signed_rank;
pub mod split_plot;
pub mod stopping;
pub mod summary;
pub mod sums;
pub mod survival;
pub mod table;
pub mod tail;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_anova;
#[cfg(test)]
mod tests_change_point;
#[cfg(test)]
mod tests_combined;
#[cfg(test)]
mod tests_data;
#[cfg(test)]
mod tests_effects;
#[cfg(test)]
mod tests_environment;
#[cfg(test)]
mod tests_properties;
pub mod timed;
pub mod trial;
pub mod two_level;
pub mod unbalanced;
pub mod verdict;
pub mod welch;
pub mod whole_plot;
