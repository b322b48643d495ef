//! Pause frames, which stop the sender and so hide loss.

use super::State;
use super::numbers::{Numbers, all, number};
use crate::nic::card::request::{GPAUSEPARAM, SPAUSEPARAM};

/// Whether they are negotiated stays as it is: drivers tie that to the link's own negotiation.
pub(super) fn setting(interface: &str) -> Numbers {
    Numbers {
        name: "pause",
        interface: interface.to_owned(),
        get: GPAUSEPARAM,
        set: SPAUSEPARAM,
        words: 4,
        fields: &[("autoneg", 1), ("rx", 2), ("tx", 3)],
        has: all,
        value: |value, _| {
            let on = |own: &str| u32::from(value == "on" || value == own);
            Ok(vec![("rx", on("rx")), ("tx", on("tx"))])
        },
        shown,
        disturbs: &[],
    }
}

fn shown(state: &State) -> String {
    match (number(state, "rx"), number(state, "tx")) {
        (0, 0) => "off",
        (_, 0) => "rx",
        (0, _) => "tx",
        _ => "on",
    }
    .to_owned()
}
