//! Findings as a page and as tables.

pub mod again;
pub mod asked;
pub mod beside;
pub mod cells;
pub mod dead_ends;
pub mod ledger;
pub mod number;
pub mod origin;
pub mod page;
pub mod strip;
pub mod table;
#[cfg(test)]
mod tests;
pub mod view;

pub use page::{PageError, page};
pub use table::table;
