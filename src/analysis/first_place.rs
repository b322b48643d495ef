//! Whether the first run of a block pays a penalty, from the residuals of all cells.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::findings::Interval;
use super::kendall::p_in_words;
use super::signed_rank::{self, FEWEST_PAIRS};

/// One run with its place in its block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlacedRun {
    pub cell: usize,
    pub block: usize,
    /// 1 is first.
    pub place: usize,
    /// On the log scale.
    pub value: f64,
}

/// What the first run of a block differs by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstPlace {
    /// Blocks whose first cell was elsewhere in another block.
    pub blocks: u64,
    /// First run relative to the same cell elsewhere, less 1.
    pub change: Option<f64>,
    pub interval: Option<Interval>,
    pub p: Option<f64>,
    pub found: bool,
    pub sentence: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// One number a block: its first run against the mean of the same cell's other runs, both freed of
/// their blocks. Judged by the signed-rank test.
pub fn penalty(runs: &[PlacedRun], alpha: f64) -> FirstPlace {
    let mut of_block: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    // The first run itself must not move the mean of its block.
    for run in runs.iter().filter(|run| run.place > 1) {
        of_block.entry(run.block).or_default().push(run.value);
    }
    let mut of_cell: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.place > 1) {
        let (sum, n) = of_cell.entry(run.cell).or_default();
        *sum += run.value;
        *n += 1;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let excess = |first: &PlacedRun| {
        let others = of_block.get(&first.block)?;
        // What the cells of this block's other runs are worth elsewhere, so that the block is judged by its own cells.
        let expected: Vec<f64> = runs
            .iter()
            .filter(|run| run.block == first.block && run.place > 1)
            .map(|run| of_cell.get(&run.cell).map(|(sum, n)| sum / *n as f64))
            .collect::<Option<_>>()?;
        let (sum, n) = of_cell.get(&first.cell)?;
        Some((first.value - sum / *n as f64) - (mean(others) - mean(&expected)))
    };
    let firsts: Vec<&PlacedRun> = runs.iter().filter(|run| run.place == 1).collect();
    let found: Vec<f64> = firsts.iter().filter_map(|first| excess(first)).filter(|d| d.is_finite()).collect();
    let mut answer = FirstPlace {
        blocks: found.len() as u64,
        change: None,
        interval: None,
        p: None,
        found: false,
        sentence: String::new(),
        absent: BTreeMap::new(),
    };
    let why = if found.len() >= FEWEST_PAIRS {
        None
    } else if found.is_empty() && !firsts.is_empty() {
        Some("the first cell of each block was never anywhere else, so a penalty of the first place would look like an effect of that cell".to_owned())
    } else {
        Some(format!("{} blocks can tell, {FEWEST_PAIRS} are needed", found.len()))
    };
    match (why, signed_rank::estimate(&found, alpha)) {
        (None, Some(estimate)) => {
            answer.change = Some(estimate.pseudo_median.exp_m1());
            answer.interval = estimate.interval.map(|i| Interval {
                low: i.low.exp_m1(),
                high: i.high.exp_m1(),
                confidence: i.confidence,
            });
            answer.p = estimate.p;
            answer.found = estimate.p.is_some_and(|p| p <= alpha);
            let (change, p) =
                (100.0 * estimate.pseudo_median.exp_m1(), p_in_words(estimate.p.unwrap_or(1.0)));
            answer.sentence = match answer.found {
                true => format!(
                    "The first run of a block differs by {change:+.1} % from the same cell elsewhere ({p})."
                ),
                false => format!(
                    "The first place of a block makes no difference that shows ({change:+.1} %, {p})."
                ),
            };
        }
        (why, _) => {
            let why = why.unwrap_or_else(|| "there are too many blocks for the exact test".to_owned());
            for name in ["change", "interval", "p"] {
                answer.absent.insert(name.to_owned(), why.clone());
            }
            answer.sentence = format!("A penalty of the first place was not tested: {why}.");
        }
    }
    answer
}
