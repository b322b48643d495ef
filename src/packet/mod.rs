//! Deterministic frames, their ledger, and AF_PACKET senders and receivers.

pub mod batch;
pub mod buckets;
pub mod digest;
pub mod egress;
pub mod frame;
pub mod ingress;
pub mod ledger;
pub mod pace;
pub mod queue_watch;
pub mod receiver;
pub mod ring;
pub mod sender;
pub mod socket;
pub mod watch;
pub mod window;

#[cfg(test)]
mod tests;
