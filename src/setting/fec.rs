//! Forward error correction of the link.

use super::State;
use super::numbers::{Numbers, all, number};
use crate::nic::card::request::{GFECPARAM, SFECPARAM};

/// `ETHTOOL_FEC_…` of linux/ethtool.h. `none` means that the link has no such thing.
const MODES: [(&str, u32); 6] =
    [("none", 1), ("auto", 2), ("off", 4), ("rs", 8), ("baser", 16), ("llrs", 32)];

/// What is configured, not what the link agreed on.
pub(super) fn setting(interface: &str) -> Numbers {
    Numbers {
        name: "fec",
        interface: interface.to_owned(),
        get: GFECPARAM,
        set: SFECPARAM,
        words: 4,
        fields: &[("configured", 2)],
        has: all,
        value: |value, _| {
            let mode = MODES.iter().find(|(name, _)| *name == value).map(|(_, bit)| *bit);
            Ok(vec![("configured", mode.ok_or("no such correction")?)])
        },
        shown,
        disturbs: &[],
    }
}

fn shown(state: &State) -> String {
    let bits = number(state, "configured");
    let names: Vec<&str> = MODES.iter().filter(|(_, bit)| bits & bit != 0).map(|(name, _)| *name).collect();
    names.join("+")
}
