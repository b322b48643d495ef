//! The doorway to the kernel's network interfaces: links, counters and clocks.

pub mod accumulator;
pub mod card;
pub mod clock;
pub mod counters;
pub mod interface;
pub mod link;
#[cfg(test)]
pub mod namespace;
pub mod route;
