//! The doorway to the kernel's network interfaces: links, drivers, counters and clocks.

pub mod accumulator;
pub mod clock;
pub mod clock_identity;
pub mod counters;
pub mod driver;
pub mod features;
pub mod hardware_stamps;
pub mod interface;
pub mod link;
#[cfg(test)]
pub mod namespace;
pub mod route;
#[cfg(test)]
#[path = "../../tests/it/skip.rs"]
pub mod skip;
