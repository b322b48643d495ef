//! What was published against what was measured: levels, floors, verdicts and refusals.

mod anchor;
pub mod floor;
pub mod history;
pub mod judge;
pub mod key;
pub mod measured;
pub mod publication;
pub mod refusal;
pub mod verdict;
