//! The doorway to the kernel's network interfaces: links, drivers, counters and clocks.

pub mod accumulator;
pub mod card;
pub mod clock;
pub mod clock_identity;
pub mod counters;
pub mod driver;
pub mod driver_counters;
pub mod features;
pub mod flow_apply;
pub mod flow_bytes;
pub mod flow_error;
pub mod flow_plan;
pub mod flow_port;
pub mod flow_refusal;
pub mod hardware_stamps;
pub mod interface;
pub mod kernel_log;
pub mod link;
pub mod management;
#[cfg(test)]
pub mod namespace;
pub mod route;
pub mod rxnfc;
pub mod sampler;
#[cfg(test)]
#[path = "../../tests/it/skip.rs"]
pub mod skip;
