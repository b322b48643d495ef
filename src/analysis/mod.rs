//! Evidence judged: summaries, effects and verdicts.

pub mod accurate;
pub mod analyse;
pub mod anova;
pub mod balanced;
pub mod basis;
pub mod caution;
pub mod completion;
pub mod effect;
pub mod estimate;
pub mod factor;
pub mod factorial;
pub mod findings;
pub mod holm;
pub mod hyperfine;
pub mod judge;
pub mod method;
pub mod moments;
pub mod of_record;
pub mod of_table;
pub mod order_statistic;
pub mod pairs;
pub mod permutation;
pub mod proportion;
pub mod quantile;
pub mod question;
pub mod rank_sum;
pub mod rerun;
pub mod row;
pub mod samples;
pub mod setup;
pub mod signed_rank;
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
mod tests_data;
#[cfg(test)]
mod tests_properties;
pub mod timed;
pub mod trial;
pub mod unbalanced;
pub mod verdict;
pub mod welch;
