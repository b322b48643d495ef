//! How long a port waits before it interrupts, in microseconds.

use super::State;
use super::numbers::{Numbers, number};
use crate::nic::card::request::{GCOALESCE, SCOALESCE};

// Words of `struct ethtool_coalesce`.
const RX_USECS: usize = 1;
const TX_USECS: usize = 5;
const ADAPTIVE_RX: usize = 10;
const ADAPTIVE_TX: usize = 11;

pub(super) fn setting(interface: &str) -> Numbers {
    Numbers {
        name: "coalesce",
        interface: interface.to_owned(),
        get: GCOALESCE,
        set: SCOALESCE,
        words: 23,
        fields: &[
            ("rx_usecs", RX_USECS),
            ("tx_usecs", TX_USECS),
            ("adaptive_rx", ADAPTIVE_RX),
            ("adaptive_tx", ADAPTIVE_TX),
        ],
        // A delay that the driver itself moves is nothing to keep.
        has: |words, at| match at {
            RX_USECS => words[ADAPTIVE_RX] == 0,
            TX_USECS => words[ADAPTIVE_TX] == 0,
            _ => true,
        },
        value: |value, _| match value.parse() {
            Ok(usecs) => {
                Ok(vec![("adaptive_rx", 0), ("adaptive_tx", 0), ("rx_usecs", usecs), ("tx_usecs", usecs)])
            }
            Err(_) => Ok(vec![("adaptive_rx", 1), ("adaptive_tx", 1)]),
        },
        shown,
        disturbs: &[],
    }
}

fn shown(state: &State) -> String {
    match (number(state, "adaptive_rx"), number(state, "adaptive_tx")) {
        (1, 1) => "adaptive".into(),
        (0, 0) if number(state, "rx_usecs") == number(state, "tx_usecs") => {
            number(state, "rx_usecs").to_string()
        }
        _ => super::shared(state),
    }
}
