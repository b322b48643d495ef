//! Deterministic frames, their ledger, and AF_PACKET senders and receivers.

pub mod batch;
pub mod buckets;
pub mod datagrams;
pub mod digest;
pub mod drops;
pub mod egress;
pub mod foreign;
pub mod frame;
pub mod histogram;
pub mod ingress;
pub mod lane;
pub mod ledger;
pub mod pace;
pub mod receiver;
pub mod ring;
pub mod sender;
pub mod size;
pub mod socket;
pub mod tally;
pub mod watch;
pub mod window;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_receiver;
