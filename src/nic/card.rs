//! An interface as the classic requests see it: one socket, and the ioctls of ethtool and its elders.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Requests of linux/ethtool.h that [`Card::ethtool`] knows, by their names there without `ETHTOOL_`.
pub mod request {
    pub const GDRVINFO: u32 = 0x03;
    pub const GCOALESCE: u32 = 0x0e;
    pub const SCOALESCE: u32 = 0x0f;
    pub const GRINGPARAM: u32 = 0x10;
    pub const SRINGPARAM: u32 = 0x11;
    pub const GPAUSEPARAM: u32 = 0x12;
    pub const SPAUSEPARAM: u32 = 0x13;
    pub const GSTRINGS: u32 = 0x1b;
    pub const GSTATS: u32 = 0x1d;
    pub const GPFLAGS: u32 = 0x27;
    pub const SPFLAGS: u32 = 0x28;
    pub const GSSET_INFO: u32 = 0x37;
    pub const GFEATURES: u32 = 0x3a;
    pub const SFEATURES: u32 = 0x3b;
    pub const GCHANNELS: u32 = 0x3c;
    pub const SCHANNELS: u32 = 0x3d;
    pub const GET_TS_INFO: u32 = 0x41;
    pub const GLINKSETTINGS: u32 = 0x4c;
    pub const SLINKSETTINGS: u32 = 0x4d;
    pub const GFECPARAM: u32 = 0x50;
    pub const SFECPARAM: u32 = 0x51;
}

/// Words of `struct ethtool_link_settings` before its three masks.
pub const LINK_HEADER: usize = 12;
/// Bytes of one name in a string set (`ETH_GSTRING_LEN`).
const NAME_BYTES: usize = 32;
/// More names than any driver has in a set: the largest cards name a few counters for each queue, and have
/// a few hundred queues.
const MOST_NAMES: u32 = 65_536;
/// The set that names the driver's counters (`ETH_SS_STATS`).
pub const COUNTER_NAMES: u32 = 1;

/// An interface of the network namespace that it was opened in.
#[derive(Debug)]
pub struct Card {
    socket: OwnedFd,
    name: String,
}

impl Card {
    /// Opens the interface by name; whether there is one shows with the first request.
    ///
    /// # Errors
    /// `InvalidInput` for a name that no interface can have; no socket could be had.
    pub fn open(name: &str) -> io::Result<Card> {
        if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.bytes().any(|b| b == 0 || b == b'/') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} names no interface")));
        }
        // SAFETY: plain system call; the descriptor is ours when it is one.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else has it.
        Ok(Card { socket: unsafe { OwnedFd::from_raw_fd(fd) }, name: name.to_owned() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// # Errors
    /// `ENODEV`: there is no such interface here.
    pub fn index(&self) -> io::Result<i32> {
        let mut request = self.request();
        self.call(libc::SIOCGIFINDEX, &mut request)?;
        // SAFETY: the kernel has filled this member.
        Ok(unsafe { request.ifr_ifru.ifru_ifindex })
    }

    /// The hardware address as text.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn mac(&self) -> io::Result<String> {
        let mut request = self.request();
        self.call(libc::SIOCGIFHWADDR, &mut request)?;
        // SAFETY: the kernel has filled this member.
        let address = unsafe { request.ifr_ifru.ifru_hwaddr };
        let bytes: Vec<String> =
            address.sa_data.iter().take(6).map(|b| format!("{:02x}", *b as u8)).collect();
        Ok(bytes.join(":"))
    }

    /// Largest layer-3 packet in bytes.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn mtu(&self) -> io::Result<i32> {
        let mut request = self.request();
        self.call(libc::SIOCGIFMTU, &mut request)?;
        // SAFETY: the kernel has filled this member.
        Ok(unsafe { request.ifr_ifru.ifru_mtu })
    }

    /// # Errors
    /// What the kernel answered.
    pub fn set_mtu(&self, mtu: i32) -> io::Result<()> {
        let mut request = self.request();
        request.ifr_ifru.ifru_mtu = mtu;
        self.call(libc::SIOCSIFMTU, &mut request)
    }

    /// `IFF_…` flags as their administrator set them, with the running state.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn flags(&self) -> io::Result<i32> {
        let mut request = self.request();
        self.call(libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: the kernel has filled this member.
        Ok(i32::from(unsafe { request.ifr_ifru.ifru_flags }))
    }

    /// Sets or clears one flag and leaves the others.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn set_flag(&self, flag: i32, on: bool) -> io::Result<()> {
        let flags = self.flags()?;
        let mut request = self.request();
        // The low sixteen flags are all that this request carries.
        request.ifr_ifru.ifru_flags = (if on { flags | flag } else { flags & !flag }) as libc::c_short;
        self.call(libc::SIOCSIFFLAGS, &mut request)
    }

    /// Up and with carrier (`IFF_RUNNING`).
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn running(&self) -> io::Result<bool> {
        Ok(self.flags()? & libc::IFF_RUNNING != 0)
    }

    /// `struct hwtstamp_config` of linux/net_tstamp.h: flags, `tx_type`, `rx_filter`.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn stamps(&self) -> io::Result<[i32; 3]> {
        let mut config = [0; 3];
        self.with_data(SIOCGHWTSTAMP, &raw mut config)?;
        Ok(config)
    }

    /// # Errors
    /// What the kernel answered.
    pub fn set_stamps(&self, mut config: [i32; 3]) -> io::Result<()> {
        self.with_data(SIOCSHWTSTAMP, &raw mut config)
    }

    /// One request of ethtool as the words of its structure, the first of which is the request.
    ///
    /// # Errors
    /// `InvalidInput` for a request that is not known here or a structure that is too short, else what
    /// the kernel answered.
    pub fn ethtool(&self, words: &mut [u32]) -> io::Result<()> {
        match needed(words) {
            // SAFETY: the kernel writes no more words than `needed` computed from the same header.
            Some(least) if words.len() >= least => unsafe { self.ethtool_at(words.as_mut_ptr().cast()) },
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("request {:?} does not fit {} words", words.first(), words.len()),
            )),
        }
    }

    /// One request of ethtool in a structure of the caller's own.
    ///
    /// # Errors
    /// What the kernel answered.
    ///
    /// # Safety
    /// `data` points to the whole structure of the request that it begins with, as long as its own
    /// fields say, and is not used by others meanwhile.
    pub unsafe fn ethtool_at(&self, data: *mut libc::c_void) -> io::Result<()> {
        self.with_data(libc::SIOCETHTOOL, data)
    }

    /// A structure of `length` words that begins with `request`, as the kernel fills it.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn get(&self, request: u32, length: usize) -> io::Result<Vec<u32>> {
        let mut words = vec![0; length];
        words[0] = request;
        self.ethtool(&mut words)?;
        Ok(words)
    }

    /// The driver's name, e.g. `ice` or `veth`.
    ///
    /// # Errors
    /// There is no such interface, or it has no driver that says its name.
    pub fn driver(&self) -> io::Result<String> {
        // struct ethtool_drvinfo: 196 bytes, of which the name is 32 after the command.
        let info = self.get(request::GDRVINFO, 49)?;
        let bytes: Vec<u8> = info[1..9].iter().flat_map(|word| word.to_ne_bytes()).collect();
        Ok(text(&bytes))
    }

    /// How many names a string set has; never none.
    fn count(&self, set: u32) -> io::Result<u32> {
        let mut info = [request::GSSET_INFO, 0, 1 << set, 0, 0];
        self.ethtool(&mut info)?;
        // A driver without such a set takes its bit out of the mask.
        let count = if info[2] == 0 { 0 } else { info[4] };
        match count {
            0 => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
            count if count > MOST_NAMES => {
                Err(io::Error::other(format!("the driver claims to have {count} names in set {set}")))
            }
            count => Ok(count),
        }
    }

    /// The driver's counters in the order of [`COUNTER_NAMES`], which were `count`.
    ///
    /// # Errors
    /// The interface is gone, or the driver has another number of counters than before.
    pub fn statistics(&self, count: usize) -> io::Result<Vec<u64>> {
        // The kernel writes as many as the driver has, whatever was asked for.
        if self.count(COUNTER_NAMES)? as usize != count {
            return Err(io::Error::other("the driver changed the number of its counters"));
        }
        // struct ethtool_stats: command, count, then the numbers.
        let mut words = vec![0; 2 + 2 * count];
        words[..2].copy_from_slice(&[request::GSTATS, count as u32]);
        self.ethtool(&mut words)?;
        let bytes: Vec<u8> = words[2..].iter().flat_map(|word| word.to_ne_bytes()).collect();
        Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect())
    }

    /// The names of a string set (`ETH_SS_…`), in the order of their bits.
    ///
    /// # Errors
    /// What the kernel answered; `EOPNOTSUPP` where the driver has no such set.
    pub fn names(&self, set: u32) -> io::Result<Vec<String>> {
        let count = self.count(set)?;
        let mut words = vec![0; 3 + count as usize * NAME_BYTES / 4];
        words[..3].copy_from_slice(&[request::GSTRINGS, set, count]);
        self.ethtool(&mut words)?;
        let bytes: Vec<u8> = words[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
        Ok(bytes.chunks(NAME_BYTES).map(text).collect())
    }

    /// `struct ethtool_link_settings` with its masks: [`LINK_HEADER`] words, then supported, advertised
    /// and the partner's link modes in equal parts.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn link_settings(&self) -> io::Result<Vec<u32>> {
        let asked = self.get(request::GLINKSETTINGS, LINK_HEADER)?;
        // The kernel tells the length that it wants by a negative number.
        let length = -i32::from(mask_words(&asked));
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let mut words = vec![0; LINK_HEADER + 3 * length];
        words[0] = request::GLINKSETTINGS;
        set_byte(&mut words, 15, length as u8);
        self.ethtool(&mut words)?;
        Ok(words)
    }

    fn request(&self) -> libc::ifreq {
        // SAFETY: all zero is a valid request.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (slot, byte) in request.ifr_name.iter_mut().zip(self.name.bytes()) {
            *slot = byte as libc::c_char;
        }
        request
    }

    fn with_data<T>(&self, what: libc::c_ulong, data: *mut T) -> io::Result<()> {
        let mut request = self.request();
        request.ifr_ifru.ifru_data = data.cast();
        self.call(what, &mut request)
    }

    fn call(&self, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: the request is a whole ifreq with a name that ends in NUL; what it points to was
        // checked where it was set.
        match unsafe { libc::ioctl(self.socket.as_raw_fd(), what as libc::Ioctl, request) } {
            answer if answer < 0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

const SIOCSHWTSTAMP: libc::c_ulong = 0x89b0;
const SIOCGHWTSTAMP: libc::c_ulong = 0x89b1;

/// Words that the kernel may read or write of a structure with this header; None for a request that is
/// not known here.
fn needed(words: &[u32]) -> Option<usize> {
    use request::*;
    let at = |index: usize| words.get(index).copied();
    Some(match at(0)? {
        GDRVINFO => 49,
        GCOALESCE | SCOALESCE => 23,
        GRINGPARAM | SRINGPARAM | GCHANNELS | SCHANNELS => 9,
        GPAUSEPARAM | SPAUSEPARAM | GFECPARAM | SFECPARAM => 4,
        GPFLAGS | SPFLAGS => 2,
        GET_TS_INFO => 11,
        GSSET_INFO => 4 + (at(2)?.count_ones() + at(3)?.count_ones()) as usize,
        // Without a count of ours the kernel would write as many names as it has.
        GSTRINGS if at(2)? > 0 => 3 + at(2)? as usize * NAME_BYTES / 4,
        GSTATS if at(1)? > 0 => 2 + 2 * at(1)? as usize,
        GFEATURES => 2 + 4 * at(1)? as usize,
        SFEATURES => 2 + 2 * at(1)? as usize,
        GLINKSETTINGS | SLINKSETTINGS => {
            LINK_HEADER + 3 * usize::try_from(mask_words(words.get(..LINK_HEADER)?)).unwrap_or(0)
        }
        _ => return None,
    })
}

/// `link_mode_masks_nwords`, byte 15.
fn mask_words(words: &[u32]) -> i8 {
    byte(words, 15) as i8
}

/// One byte of a structure given as words.
pub fn byte(words: &[u32], at: usize) -> u8 {
    words[at / 4].to_ne_bytes()[at % 4]
}

/// Sets one byte of a structure given as words.
pub fn set_byte(words: &mut [u32], at: usize, value: u8) {
    let mut bytes = words[at / 4].to_ne_bytes();
    bytes[at % 4] = value;
    words[at / 4] = u32::from_ne_bytes(bytes);
}

/// Text up to the first NUL.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_answers_and_a_missing_interface_is_no_device() {
        let lo = Card::open("lo").unwrap();
        assert_eq!((lo.mac().unwrap().as_str(), lo.mtu().unwrap()), ("00:00:00:00:00:00", 65536));
        let features = lo.names(4).unwrap();
        assert!(features.contains(&"rx-gro".to_owned()), "{features:?}");
        let missing = Card::open("nothere0").unwrap().mtu().unwrap_err();
        assert_eq!(missing.raw_os_error(), Some(libc::ENODEV));
        for name in ["", "a-name-far-over-the-limit", "a/b", "a\0b"] {
            assert_eq!(Card::open(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
    }

    #[test]
    fn a_structure_that_is_too_short_never_reaches_the_kernel() {
        let lo = Card::open("lo").unwrap();
        let short: [&mut [u32]; 7] = [
            &mut [],
            &mut [0xffff],
            &mut [request::GRINGPARAM, 0, 0, 0, 0, 0, 0, 0],
            &mut [request::GSTRINGS, 4, 0, 0, 0],
            &mut [request::GSTATS, 1, 0],
            &mut [request::GFEATURES, 2, 0, 0, 0, 0, 0, 0, 0],
            &mut [request::GLINKSETTINGS, 0, 0],
        ];
        for words in short {
            let error = lo.ethtool(words).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{words:?}");
        }
    }
}
