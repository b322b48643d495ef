//! Facts of one network interface, read in the namespace that the agent lives in.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::facts::text;

/// What is known of `interface`; `present` is false when this host has none of that name.
pub fn facts(interface: &str) -> Value {
    let mut port = Map::new();
    port.insert("interface".into(), interface.into());
    let Some(card) = Card::open(interface) else { return port.into() };
    let present = card.index().is_some();
    port.insert("present".into(), present.into());
    if !present {
        return port.into();
    }
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            port.insert(name.to_owned(), value);
        }
    };
    put("mac", card.mac().map(Value::from));
    put("mtu", card.mtu().map(Value::from));
    put("carrier", card.running().map(Value::from));
    if let Some(info) = card.driver() {
        let known =
            |bytes: &[libc::c_char]| (!bytes_text(bytes).is_empty()).then(|| Value::from(bytes_text(bytes)));
        put("driver", known(&info.driver));
        put("driver_version", known(&info.version));
        put("firmware", known(&info.fw_version).filter(|v| v != "N/A"));
        put("bus", known(&info.bus_info));
    }
    put("speed_mbps", card.speed_mbps().map(Value::from));
    if let Some(dir) = card.sysfs() {
        put("rx_queues", count(&dir.join("queues"), "rx-").map(Value::from));
        put("tx_queues", count(&dir.join("queues"), "tx-").map(Value::from));
        put(
            "numa_node",
            text(dir.join("device/numa_node"))
                .and_then(|t| t.parse::<i64>().ok())
                .filter(|n| *n >= 0)
                .map(Value::from),
        );
    }
    port.into()
}

/// `struct ethtool_drvinfo` of linux/ethtool.h.
#[repr(C)]
struct DriverInfo {
    cmd: u32,
    driver: [libc::c_char; 32],
    version: [libc::c_char; 32],
    fw_version: [libc::c_char; 32],
    bus_info: [libc::c_char; 32],
    erom_version: [libc::c_char; 32],
    reserved2: [libc::c_char; 12],
    n_priv_flags: u32,
    n_stats: u32,
    testinfo_len: u32,
    eedump_len: u32,
    regdump_len: u32,
}
const _: () = assert!(size_of::<DriverInfo>() == 196);

/// `struct ethtool_cmd`, the older request that every driver still answers.
#[repr(C)]
struct LinkSettings {
    cmd: u32,
    supported: u32,
    advertising: u32,
    speed: u16,
    duplex: u8,
    port: u8,
    phy_address: u8,
    transceiver: u8,
    autoneg: u8,
    mdio_support: u8,
    maxtxpkt: u32,
    maxrxpkt: u32,
    speed_hi: u16,
    eth_tp_mdix: u8,
    eth_tp_mdix_ctrl: u8,
    lp_advertising: u32,
    reserved: [u32; 2],
}
const _: () = assert!(size_of::<LinkSettings>() == 44);

const ETHTOOL_GSET: u32 = 0x1;
const ETHTOOL_GDRVINFO: u32 = 0x3;

struct Card {
    socket: OwnedFd,
    name: String,
    request: libc::ifreq,
}

impl Card {
    /// None for a name that no interface can have, or without sockets.
    fn open(name: &str) -> Option<Card> {
        if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.bytes().any(|b| b == 0 || b == b'/') {
            return None;
        }
        // SAFETY: the descriptor is ours; an all-zero request is valid.
        unsafe {
            let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            if fd < 0 {
                return None;
            }
            let mut request: libc::ifreq = std::mem::zeroed();
            for (slot, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
                *slot = byte as libc::c_char;
            }
            Some(Card { socket: OwnedFd::from_raw_fd(fd), name: name.to_owned(), request })
        }
    }

    fn ask(&self, what: libc::c_ulong) -> Option<libc::ifreq> {
        let mut request = self.request;
        // SAFETY: the request is a whole ifreq with a name that ends in NUL.
        (unsafe { libc::ioctl(self.socket.as_raw_fd(), what as libc::Ioctl, &mut request) } == 0)
            .then_some(request)
    }

    fn index(&self) -> Option<i32> {
        // SAFETY: the kernel has filled this member.
        self.ask(libc::SIOCGIFINDEX as libc::c_ulong).map(|r| unsafe { r.ifr_ifru.ifru_ifindex })
    }

    fn mac(&self) -> Option<String> {
        // SAFETY: the kernel has filled this member.
        let address =
            self.ask(libc::SIOCGIFHWADDR as libc::c_ulong).map(|r| unsafe { r.ifr_ifru.ifru_hwaddr })?;
        let bytes: Vec<String> =
            address.sa_data.iter().take(6).map(|b| format!("{:02x}", *b as u8)).collect();
        Some(bytes.join(":"))
    }

    fn mtu(&self) -> Option<i32> {
        // SAFETY: the kernel has filled this member.
        self.ask(libc::SIOCGIFMTU as libc::c_ulong).map(|r| unsafe { r.ifr_ifru.ifru_mtu })
    }

    fn running(&self) -> Option<bool> {
        // SAFETY: the kernel has filled this member.
        let flags =
            self.ask(libc::SIOCGIFFLAGS as libc::c_ulong).map(|r| unsafe { r.ifr_ifru.ifru_flags })?;
        Some(libc::c_int::from(flags) & libc::IFF_RUNNING != 0)
    }

    fn ethtool<T>(&self, mut data: T) -> Option<T> {
        let mut request = self.request;
        request.ifr_ifru.ifru_data = (&raw mut data).cast();
        // SAFETY: `data` is the whole structure of the command that it begins with, and outlives the call.
        let answer =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &mut request) };
        (answer == 0).then_some(data)
    }

    fn driver(&self) -> Option<DriverInfo> {
        // SAFETY: all zero is a valid request.
        let zero: DriverInfo = unsafe { std::mem::zeroed() };
        self.ethtool(DriverInfo { cmd: ETHTOOL_GDRVINFO, ..zero })
    }

    /// None when the link has no speed, as while it is down.
    fn speed_mbps(&self) -> Option<u32> {
        // SAFETY: all zero is a valid request.
        let zero: LinkSettings = unsafe { std::mem::zeroed() };
        let settings = self.ethtool(LinkSettings { cmd: ETHTOOL_GSET, ..zero })?;
        let speed = u32::from(settings.speed_hi) << 16 | u32::from(settings.speed);
        (speed != 0 && speed != u32::MAX && speed != u32::from(u16::MAX)).then_some(speed)
    }

    /// The interface's folder, only when it is this very interface: a `/sys` mounted in another
    /// network namespace shows that one's.
    fn sysfs(&self) -> Option<PathBuf> {
        let dir = Path::new("/sys/class/net").join(&self.name);
        let same_index = text(dir.join("ifindex"))?.parse().ok() == self.index();
        let same_address = text(dir.join("address")) == self.mac();
        (same_index && same_address).then_some(dir)
    }
}

fn bytes_text(bytes: &[libc::c_char]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|b| *b as u8).collect();
    CStr::from_bytes_until_nul(&bytes).map(|t| t.to_string_lossy().trim().to_owned()).unwrap_or_default()
}

fn count(dir: &Path, prefix: &str) -> Option<usize> {
    let n = std::fs::read_dir(dir)
        .ok()?
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with(prefix))
        .count();
    (n > 0).then_some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_known_and_a_missing_interface_is_said_to_be_missing() {
        let lo = facts("lo");
        assert_eq!((&lo["present"], &lo["mac"]), (&Value::from(true), &Value::from("00:00:00:00:00:00")));
        assert_eq!(facts("nothere0")["present"], Value::from(false));
        assert_eq!(facts("a name/that cannot be").get("present"), None);
    }
}
