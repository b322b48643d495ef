//! Deterministic frames, their ledger, and their senders and receivers.

pub mod batch;
pub mod bound;
pub mod buckets;
pub mod cpu;
pub mod digest;
pub mod egress;
pub mod frame;
pub mod gate;
pub mod ingress;
pub mod lane;
pub mod ledger;
pub mod pace;
pub mod receiver;
pub mod ring;
pub mod schedule;
pub mod sender;
pub mod socket;
pub mod watch;
pub mod window;

#[cfg(test)]
mod tests;
