//! The one door to YAML: limits, a located tree, and complaints with carets.

mod complaint;
mod cursor;
pub mod quantity;
mod render;
pub mod shape;
mod source;
#[cfg(test)]
mod tests;
mod tree;

pub use complaint::{Complaint, Severity, has_errors};
pub use cursor::{Fields, nearest, unknown};
pub use render::{render, to_json};
pub use source::{Loc, Source, Span};
#[cfg(test)]
pub(crate) use tree::plain;
pub use tree::{Entry, Kind, Node, read};
