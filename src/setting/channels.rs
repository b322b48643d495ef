//! The channels of a port: how many receive and transmit queues it has.

use super::State;
use super::numbers::{Numbers, Parts, all, count, number};
use crate::nic::card::request::{GCHANNELS, SCHANNELS};

// Words of `struct ethtool_channels`.
const MAX_RX: usize = 1;
const MAX_TX: usize = 2;
const MAX_COMBINED: usize = 4;

pub(super) fn setting(interface: &str) -> Numbers {
    Numbers {
        name: "queues",
        interface: interface.to_owned(),
        get: GCHANNELS,
        set: SCHANNELS,
        words: 9,
        fields: &[("rx", 5), ("tx", 6), ("other", 7), ("combined", 8)],
        has: all,
        value,
        shown,
        // Queues that go take their processors with them, and those that come have the driver's own.
        disturbs: &["irq_affinity", "rps", "xps", "stream_queues"],
    }
}

fn value(value: &str, words: &[u32]) -> Result<Parts, String> {
    if words[MAX_COMBINED] > 0 {
        let combined = count(value, words[MAX_COMBINED])?;
        return Ok(vec![("combined", combined), ("rx", 0), ("tx", 0)]);
    }
    let queues = count(value, words[MAX_RX].min(words[MAX_TX]))?;
    Ok(vec![("rx", queues), ("tx", queues)])
}

fn shown(state: &State) -> String {
    let (rx, tx, combined) = (number(state, "rx"), number(state, "tx"), number(state, "combined"));
    match (rx, tx, combined) {
        (0, 0, both) => both.to_string(),
        (rx, tx, 0) if rx == tx => rx.to_string(),
        _ => format!("rx={rx} tx={tx} combined={combined}"),
    }
}
