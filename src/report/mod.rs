//! Findings as a page and as tables.

pub mod again;
pub mod along;
pub mod annotated;
pub mod asked;
pub mod beside;
pub mod campaign;
pub mod cells;
pub mod compared;
pub mod compared_page;
pub mod crossings;
pub mod dead_ends;
pub mod dots;
pub mod effects;
pub mod figures;
pub mod gate;
pub mod gate_files;
pub mod held;
pub mod identity;
pub mod intervals;
pub mod ladder;
pub mod ledger;
pub mod look;
pub mod number;
pub mod origin;
pub mod page;
pub mod points;
pub mod show;
pub mod strip;
pub mod sums;
pub mod table;
pub mod terminal;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_figures;
#[cfg(test)]
mod tests_hostile;
pub mod trail;
pub mod variance;
pub mod view;

pub use page::{PageError, page, page_of};
pub use table::table;
pub use terminal::terminal;
