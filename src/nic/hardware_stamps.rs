//! The card told to stamp every frame that it receives, and told back to what it did before.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

// linux/sockios.h and linux/net_tstamp.h.
const SIOCSHWTSTAMP: libc::Ioctl = 0x89b0;
const SIOCGHWTSTAMP: libc::Ioctl = 0x89b1;
/// HWTSTAMP_FILTER_ALL.
pub const RX_FILTER_ALL: libc::c_int = 1;

/// struct hwtstamp_config: what a card stamps.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StampConfig {
    flags: libc::c_int,
    tx_type: libc::c_int,
    pub rx_filter: libc::c_int,
}

/// struct ifreq with a pointer in its union.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    config: *mut StampConfig,
    rest: [u8; 16],
}

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
    interface: String,
    /// None where the card stamped all frames already.
    original: Option<StampConfig>,
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
        let original = get(interface).map_err(refused("tell the stamp setting"))?;
        let mut held = Self { interface: interface.to_owned(), original: None };
        if original.rx_filter != RX_FILTER_ALL {
            let all = StampConfig { rx_filter: RX_FILTER_ALL, ..original };
            set(interface, all).map_err(refused("stamp all received frames"))?;
            held.original = Some(original);
        }
        let found = get(interface).map_err(refused("tell the stamp setting"))?.rx_filter;
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
            let _ = set(&self.interface, original);
        }
    }
}

/// What the card stamps now.
///
/// # Errors
/// EOPNOTSUPP where the driver stamps nothing; ENODEV where there is no such interface.
pub fn get(interface: &str) -> io::Result<StampConfig> {
    let mut config = StampConfig::default();
    ask(interface, SIOCGHWTSTAMP, &mut config)?;
    Ok(config)
}

/// Tells the card what to stamp.
///
/// # Errors
/// EPERM without CAP_NET_ADMIN, ERANGE where the driver has no such filter, and those of `get`.
pub fn set(interface: &str, mut config: StampConfig) -> io::Result<()> {
    ask(interface, SIOCSHWTSTAMP, &mut config)
}

fn ask(interface: &str, call: libc::Ioctl, config: &mut StampConfig) -> io::Result<()> {
    // Any socket will do, and this kind needs no right.
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut request = Request { name: [0; libc::IFNAMSIZ], config, rest: [0; 16] };
    let bytes = interface.as_bytes();
    if bytes.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    request.name[..bytes.len()].copy_from_slice(bytes);
    // SAFETY: the kernel reads and writes a whole ifreq at `request`, and a hwtstamp_config at its
    // pointer, which outlives the call.
    let code = unsafe { libc::ioctl(socket.as_raw_fd(), call, &raw mut request) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
            assert_eq!(get(name).expect_err("missing").raw_os_error(), Some(libc::ENODEV), "{name}");
        }
    }

    #[test]
    fn the_request_has_the_kernels_sizes() {
        assert_eq!((size_of::<StampConfig>(), size_of::<Request>()), (12, 40), "linux/if.h on 64 bits");
    }
}
