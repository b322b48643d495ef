//! The doorway to the kernel's network interfaces: links, counters, flow rules and clocks.

pub mod accumulator;
pub mod card;
pub mod clock;
pub mod counters;
pub mod flow_apply;
pub mod flow_bytes;
pub mod flow_error;
pub mod flow_plan;
pub mod flow_port;
pub mod flow_refusal;
pub mod interface;
pub mod link;
pub mod management;
#[cfg(test)]
pub mod namespace;
pub mod route;
pub mod rxnfc;
