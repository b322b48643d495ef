//! What became of a run's declared units, by what its output says.

use super::extract::count;
use super::output::Output;
use crate::model::work_counts::WorkCounts;
use crate::model::work_rule::WorkRule;

/// Counts of a run whose answer is proven. A fate that the rule does not read has no units.
///
/// # Errors
/// A sentence: a count cannot be read, or the four do not add up to the declared units.
pub fn counts(rule: &WorkRule, declared: u64, output: &Output) -> Result<WorkCounts, String> {
    let mut read = [0; 4];
    for ((name, extract), count_of) in rule.fates().into_iter().zip(&mut read) {
        if let Some(extract) = extract {
            *count_of = count(extract, output).map_err(|why| format!("no count of {name} from {why}"))?;
        }
    }
    let [success, timeout, transport_error, wrong_answer] = read;
    let success = if rule.success.is_some() { success } else { declared };
    let counts = WorkCounts { declared, success, timeout, transport_error, wrong_answer };
    if counts.adds_up() {
        return Ok(counts);
    }
    let sum: u128 = [success, timeout, transport_error, wrong_answer].iter().map(|n| u128::from(*n)).sum();
    Err(format!(
        "{success} done, {timeout} timed out, {transport_error} transport errors and {wrong_answer} wrong answers \
         are {sum} units of work, and {declared} were declared"
    ))
}
