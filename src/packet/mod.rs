//! Deterministic frames, their ledger, and their senders and receivers.

pub mod batch;
pub mod bound;
pub mod buckets;
pub mod cpu;
pub mod datagrams;
pub mod digest;
pub mod drops;
pub mod egress;
pub mod foreign;
pub mod frame;
pub mod gate;
pub mod histogram;
pub mod ingress;
pub mod intake;
pub mod lane;
pub mod ledger;
pub mod pace;
pub mod queue_watch;
pub mod receiver;
pub mod ring;
pub mod schedule;
pub mod sender;
pub mod socket;
pub mod tally;
pub mod watch;
pub mod window;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_receiver;
