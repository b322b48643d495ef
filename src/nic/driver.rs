//! What the driver of an interface says of itself: its name, its queues, its stamps.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

// linux/sockios.h and linux/ethtool.h; the libc crate has no names for these.
const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;
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
    // struct ethtool_drvinfo: 196 bytes, of which the name is 32 after the command.
    let mut info = [0u32; 49];
    info[0] = ETHTOOL_GDRVINFO;
    if ask(interface, &mut info).is_err() {
        return "unknown".to_owned();
    }
    let bytes: Vec<u8> = info[1..9].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

/// # Errors
/// The driver does not say (EOPNOTSUPP), or there is no such interface.
pub fn queues(interface: &str) -> io::Result<Queues> {
    // struct ethtool_channels: command, four maxima, then rx, tx, other and combined counts.
    let mut channels = [0u32; 9];
    channels[0] = ETHTOOL_GCHANNELS;
    ask(interface, &mut channels)?;
    let [.., rx, tx, _, combined] = channels;
    Ok(Queues { rx: rx + combined, tx: tx + combined })
}

/// Whether the card can stamp every received frame: None means yes, else what it lacks.
///
/// # Errors
/// There is no such interface, or its driver knows nothing of stamps.
pub fn lacks_stamps(interface: &str) -> io::Result<Option<&'static str>> {
    // struct ethtool_ts_info: command, SO_TIMESTAMPING flags, clock, TX types, 3 words, RX filters, 3 words.
    let mut info = [0u32; 11];
    info[0] = ETHTOOL_GET_TS_INFO;
    ask(interface, &mut info)?;
    let lack = match (info[1] & STAMPS_RECEIVED != 0, info[7] & FILTER_ALL != 0) {
        (false, _) => Some("it cannot stamp received frames (`ethtool -T` shows no hardware-receive)"),
        (true, false) => Some("it cannot stamp all frames (`ethtool -T` shows no receive filter `all`)"),
        (true, true) => None,
    };
    Ok(lack)
}

/// One SIOCETHTOOL request; `words` begins with the command and receives the answer.
fn ask(interface: &str, words: &mut [u32]) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: all-zero bytes are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: `request` points at `words`, which hold the whole structure of each command asked here.
    let code = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
