//! The card told to stamp every frame that it receives, and told back to what it did before.

use std::io;

use super::card::Card;

/// HWTSTAMP_FILTER_ALL of linux/net_tstamp.h.
const RX_FILTER_ALL: libc::c_int = 1;

#[derive(Debug, thiserror::Error)]
pub enum StampError {
    #[error(
        "{interface} has no hardware receive stamps: its driver refuses to {what} ({source}). \
         `ethtool -T {interface}` shows what it offers; --stamps software uses the kernel's stamps, marked as such"
    )]
    Unsupported { interface: String, what: &'static str, source: io::Error },
    #[error(
        "may not set the hardware stamps of {interface}: the capability CAP_NET_ADMIN lacks in this network \
         namespace. Run as root, or use --stamps software"
    )]
    Forbidden { interface: String },
    #[error(
        "{interface} was told to stamp all received frames (rx_filter 1, ALL), and reads back rx_filter {found}: \
         not every frame would carry a stamp. Use --stamps software"
    )]
    NotAll { interface: String, found: libc::c_int },
    #[error("cannot {what} of {interface}: {source}")]
    Kernel { interface: String, what: &'static str, source: io::Error },
}

/// As long as this lives, the card stamps all frames that it receives. Dropping it puts the original
/// setting back; a process that is killed cannot, so a campaign holds the setting `rx_filter` instead.
#[derive(Debug)]
pub struct HardwareStamps {
    card: Card,
    /// None where the card stamped all frames already.
    original: Option<[libc::c_int; 3]>,
}

impl HardwareStamps {
    /// Sets `rx_filter=ALL` and reads it back.
    ///
    /// # Errors
    /// The driver has no receive stamps or not for all frames, or CAP_NET_ADMIN is missing.
    pub fn hold(interface: &str) -> Result<Self, StampError> {
        let refused = |what| {
            move |source: io::Error| {
                let interface = interface.to_owned();
                match source.raw_os_error() {
                    Some(libc::EPERM | libc::EACCES) => StampError::Forbidden { interface },
                    // A driver that knows the call but not this filter answers ERANGE.
                    Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::ERANGE) => {
                        StampError::Unsupported { interface, what, source }
                    }
                    _ => StampError::Kernel { interface, what, source },
                }
            }
        };
        let card = Card::open(interface).map_err(refused("tell the stamp setting"))?;
        let original = card.stamps().map_err(refused("tell the stamp setting"))?;
        let mut held = Self { card, original: None };
        let [flags, tx_type, rx_filter] = original;
        if rx_filter != RX_FILTER_ALL {
            let all = [flags, tx_type, RX_FILTER_ALL];
            held.card.set_stamps(all).map_err(refused("stamp all received frames"))?;
            held.original = Some(original);
        }
        let [_, _, found] = held.card.stamps().map_err(refused("tell the stamp setting"))?;
        if found != RX_FILTER_ALL {
            return Err(StampError::NotAll { interface: interface.to_owned(), found });
        }
        Ok(held)
    }
}

impl Drop for HardwareStamps {
    fn drop(&mut self) {
        if let Some(original) = self.original {
            // An interface that is gone has nothing to put back.
            let _ = self.card.set_stamps(original);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::link::make_veth;
    use crate::nic::namespace::inside;

    #[test]
    fn veth_has_no_hardware_stamps_and_is_refused_by_name() {
        inside("nic::hardware_stamps::tests::veth_has_no_hardware_stamps_and_is_refused_by_name", || {
            make_veth("ft0", "ft1", std::process::id()).expect("veth");
            let refused = HardwareStamps::hold("ft0").expect_err("veth stamps nothing");
            assert!(matches!(refused, StampError::Unsupported { .. }), "{refused}");
            let text = refused.to_string();
            for part in ["ft0", "ethtool -T ft0", "--stamps software", "not supported"] {
                assert!(text.contains(part), "{part} in {text}");
            }
        });
    }

    #[test]
    fn an_interface_that_is_not_there_is_no_card_without_stamps() {
        for name in ["nosuch0", "a-name-far-over-the-limit"] {
            let refused = HardwareStamps::hold(name).expect_err("missing");
            assert!(matches!(refused, StampError::Kernel { .. }), "{refused}");
        }
    }
}
