//! How much of a run's declared work was completed, and what became of the rest.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Units of work of one run by what became of them. [`WorkCounts::adds_up`] must hold, or nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WorkCounts {
    /// What the campaign declared.
    pub declared: u64,
    /// Completed, with the right answer.
    pub success: u64,
    /// Given up at their deadline.
    pub timeout: u64,
    /// Broken by what carries them: refused, reset, closed early.
    pub transport_error: u64,
    /// Completed, with another answer than the right one.
    pub wrong_answer: u64,
}

impl WorkCounts {
    /// Every declared unit has exactly one fate.
    pub fn adds_up(&self) -> bool {
        let parts = [self.success, self.timeout, self.transport_error, self.wrong_answer];
        parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(*part)) == Some(self.declared)
    }

    /// Both together, which are the units of several runs.
    pub fn plus(&self, other: &WorkCounts) -> WorkCounts {
        WorkCounts {
            declared: self.declared.saturating_add(other.declared),
            success: self.success.saturating_add(other.success),
            timeout: self.timeout.saturating_add(other.timeout),
            transport_error: self.transport_error.saturating_add(other.transport_error),
            wrong_answer: self.wrong_answer.saturating_add(other.wrong_answer),
        }
    }

    /// Which of two completed the smaller part of its declared work, without rounding.
    pub fn by_completed(&self, other: &WorkCounts) -> Ordering {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        product(self.success, other.declared).cmp(&product(other.success, self.declared))
    }

    /// `30 of 240 units done, 210 timed out, 0 transport errors, 0 wrong answers`.
    pub fn words(&self) -> String {
        format!(
            "{} of {} units done, {} timed out, {} transport errors, {} wrong answers",
            self.success, self.declared, self.timeout, self.transport_error, self.wrong_answer
        )
    }

    /// Completed part of the declared work; None where none was declared.
    pub fn completed(&self) -> Option<f64> {
        (self.declared > 0).then(|| self.success as f64 / self.declared as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_without_a_fate_and_one_with_two_are_noticed() {
        let seed = WorkCounts { declared: 40, success: 5, timeout: 35, ..WorkCounts::default() };
        assert!(seed.adds_up());
        assert_eq!(seed.completed(), Some(0.125));
        assert!(!WorkCounts { success: 6, ..seed }.adds_up());
        assert!(!WorkCounts { timeout: 34, ..seed }.adds_up());
        assert!(!WorkCounts { success: u64::MAX, ..seed }.adds_up());
        assert_eq!(WorkCounts::default().completed(), None);
    }
}
