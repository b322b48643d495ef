//! The doorway to the kernel's network interfaces: links, drivers, counters and clocks.

pub mod accumulator;
pub mod card;
pub mod clock;
pub mod clock_identity;
pub mod counters;
pub mod driver;
pub mod driver_counters;
pub mod ethtool;
pub mod features;
pub mod hardware_stamps;
pub mod interface;
pub mod kernel_log;
pub mod link;
#[cfg(test)]
pub mod namespace;
pub mod route;
pub mod sampler;
