//! Proofs → Verified: equal work and right answers first, then time.

mod difference;
mod known;
mod prove;

pub use difference::Difference;
pub use known::Known;
pub use prove::{Verified, confirm, prove, unchanged};
