//! The descriptors of a port's receive and transmit rings.

use super::numbers::{Numbers, count};
use super::shared;
use crate::nic::card::request::{GRINGPARAM, SRINGPARAM};

// Words of `struct ethtool_ringparam`.
const RX_MAX: usize = 1;
const TX_MAX: usize = 4;

pub(super) fn setting(interface: &str) -> Numbers {
    Numbers {
        name: "rings",
        interface: interface.to_owned(),
        get: GRINGPARAM,
        set: SRINGPARAM,
        words: 9,
        fields: &[("rx", 5), ("tx", 8)],
        // A driver without rings of a kind tells a largest size of 0.
        has: |words, at| words[at - 4] > 0,
        value: |value, words| {
            let rings = count(value, words[RX_MAX].min(words[TX_MAX]))?;
            Ok(vec![("rx", rings), ("tx", rings)])
        },
        shown: shared,
        disturbs: &[],
    }
}
