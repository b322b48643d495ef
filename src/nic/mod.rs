//! The doorway to the kernel: links and counters.

pub mod link;
