//! The two directions of a link, with the names that roles and metrics have in each.

use crate::model::hosts::PortRef;
use crate::model::metric::REVERSE;
use crate::model::workload::PacketWork;

/// Which way frames go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// As declared.
    Forward,
    /// From the receiving port back to the sending one.
    Reverse,
}

/// So that a frame of one direction is never taken for one of the other ("reverse!" in ASCII).
const REVERSE_SEED: u64 = 0x7265_7665_7273_6521;

impl Direction {
    /// Those of a cell, the declared one first.
    pub fn of(work: &PacketWork) -> &'static [Direction] {
        match work.both_ways {
            true => &[Direction::Forward, Direction::Reverse],
            false => &[Direction::Forward],
        }
    }

    pub fn sender(self) -> &'static str {
        match self {
            Direction::Forward => "send",
            Direction::Reverse => "send-reverse",
        }
    }

    pub fn receiver(self) -> &'static str {
        match self {
            Direction::Forward => "receive",
            Direction::Reverse => "receive-reverse",
        }
    }

    /// Who watches on which queues its frames arrive.
    pub fn watcher(self) -> &'static str {
        match self {
            Direction::Forward => "watch-queues",
            Direction::Reverse => "watch-queues-reverse",
        }
    }

    /// A name of the declared direction as this one has it: `tx_rate`, `tx_rate_reverse`.
    pub fn metric(self, name: &str) -> String {
        match self {
            Direction::Forward => name.to_owned(),
            Direction::Reverse => format!("{name}{REVERSE}"),
        }
    }

    /// `stream 0`, `reverse stream 0`.
    pub fn stream(self, name: &str) -> String {
        match self {
            Direction::Forward => format!("stream {name}"),
            Direction::Reverse => format!("reverse stream {name}"),
        }
    }

    /// Where frames start from: port and interface.
    pub fn from(self, work: &PacketWork) -> (&PortRef, &str) {
        match self {
            Direction::Forward => (&work.tx, &work.tx_interface),
            Direction::Reverse => (&work.rx, &work.rx_interface),
        }
    }

    /// Where they go to.
    pub fn to(self, work: &PacketWork) -> (&PortRef, &str) {
        match self {
            Direction::Forward => Direction::Reverse.from(work),
            Direction::Reverse => Direction::Forward.from(work),
        }
    }

    pub fn seed(self, work: &PacketWork) -> u64 {
        match self {
            Direction::Forward => work.seed,
            Direction::Reverse => work.seed ^ REVERSE_SEED,
        }
    }
}
