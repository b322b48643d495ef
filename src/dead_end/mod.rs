//! YAML to dead ends: changes that were measured and lost, with what would have to differ to try again.

mod entry;
mod parse;
mod shape;
#[cfg(test)]
mod tests;

pub use entry::{DeadEnd, Repeat, Values};
pub use parse::{Parsed, parse};
pub use shape::schema;
