//! YAML to Hosts: the inventory, or everything that is wrong with it.

mod discovered;
mod host;
mod links;
mod parse;
mod shape;
#[cfg(test)]
mod tests;

pub use discovered::discovered;
pub use parse::{Parsed, parse};
pub use shape::schema;
