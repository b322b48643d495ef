//! The events and rows of a record, as types and text.

pub mod counters;
pub mod event;
#[cfg(test)]
pub mod example;
pub mod fold;
pub mod line;
pub mod rows;
pub mod runs;
pub mod sheet;
