//! What the driver of an interface says of itself: its name, its queues, its stamps.

use std::io;

use super::card::{Card, request};

/// SOF_TIMESTAMPING_RX_HARDWARE.
const STAMPS_RECEIVED: u32 = 1 << 2;
/// HWTSTAMP_FILTER_ALL, as a bit of rx_filters.
const FILTER_ALL: u32 = 1 << 1;

/// Queues in use now, each way; a combined queue counts both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queues {
    pub rx: u32,
    pub tx: u32,
}

/// Name of the driver, e.g. `ice` or `veth`; `unknown` where it does not say.
#[must_use]
pub fn driver_name(interface: &str) -> String {
    Card::open(interface).and_then(|card| card.driver()).unwrap_or_else(|_| "unknown".to_owned())
}

/// # Errors
/// The driver does not say (EOPNOTSUPP), or there is no such interface.
pub fn queues(interface: &str) -> io::Result<Queues> {
    // struct ethtool_channels: command, four maxima, then rx, tx, other and combined counts.
    let channels = Card::open(interface)?.get(request::GCHANNELS, 9)?;
    let (rx, tx, combined) = (channels[5], channels[6], channels[8]);
    Ok(Queues { rx: rx + combined, tx: tx + combined })
}

/// Whether the card can stamp every received frame: None means yes, else what it lacks.
///
/// # Errors
/// There is no such interface, or its driver knows nothing of stamps.
pub fn lacks_stamps(interface: &str) -> io::Result<Option<&'static str>> {
    // struct ethtool_ts_info: command, SO_TIMESTAMPING flags, clock, TX types, 3 words, RX filters, 3 words.
    let info = Card::open(interface)?.get(request::GET_TS_INFO, 11)?;
    let lack = match (info[1] & STAMPS_RECEIVED != 0, info[7] & FILTER_ALL != 0) {
        (false, _) => Some("it cannot stamp received frames (`ethtool -T` shows no hardware-receive)"),
        (true, false) => Some("it cannot stamp all frames (`ethtool -T` shows no receive filter `all`)"),
        (true, true) => None,
    };
    Ok(lack)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::link::make_veth_with_queues;
    use crate::nic::namespace::inside;

    #[test]
    fn a_veth_pair_has_the_queues_it_was_made_with_and_no_stamps() {
        inside("nic::driver::tests::a_veth_pair_has_the_queues_it_was_made_with_and_no_stamps", || {
            make_veth_with_queues("ft0", "ft1", std::process::id(), 3).expect("veth");
            for end in ["ft0", "ft1"] {
                assert_eq!(driver_name(end), "veth");
                assert_eq!(queues(end).expect("queues"), Queues { rx: 3, tx: 3 });
                assert!(
                    lacks_stamps(end).expect("answer").is_some_and(|why| why.contains("hardware-receive"))
                );
            }
            assert_eq!(driver_name("nosuch0"), "unknown");
            assert_eq!(queues("nosuch0").expect_err("absent").raw_os_error(), Some(libc::ENODEV));
        });
    }
}
