//! Findings as a page and as tables.

pub mod again;
pub mod annotated;
pub mod asked;
pub mod beside;
pub mod campaign;
pub mod cells;
pub mod compared;
pub mod compared_page;
pub mod dead_ends;
pub mod dots;
pub mod gate;
pub mod gate_files;
pub mod intervals;
pub mod ledger;
pub mod look;
pub mod number;
pub mod origin;
pub mod page;
pub mod show;
pub mod strip;
pub mod table;
pub mod terminal;
#[cfg(test)]
mod tests;
pub mod trend;
pub mod view;

pub use page::{PageError, page};
pub use table::table;
pub use terminal::terminal;
