//! The lab in a box: namespaces, links and agents that we make ourselves.

pub mod open;
pub mod rights;

pub use open::{EmbeddedError, open};
