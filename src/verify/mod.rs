//! Outputs and proofs → Verified: equal work and right answers first, then time.

mod answer;
mod any_order;
mod completed;
mod count;
mod difference;
mod effect;
mod exact;
mod extract;
mod fields;
mod first_lines;
mod json;
mod known;
mod lines;
mod output;
mod pointer;
mod prove;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Text, answer};
pub use completed::counts;
pub use difference::{Difference, Texts};
pub use effect::broken;
pub use extract::{count as units, value};
pub use known::Known;
pub use output::{MOST, Output, Piece};
pub use prove::{Verified, confirm, prove, unchanged};
