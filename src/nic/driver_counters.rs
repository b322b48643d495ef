//! Counters that a driver offers beyond the kernel's own, by the names that it gives them.

use std::collections::BTreeMap;
use std::io;

use super::ethtool::Ethtool;

// linux/ethtool.h: the commands, and the set of strings that names the statistics.
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
const GSSET_INFO: u32 = 0x37;
const SS_STATS: u32 = 1;
/// `ETH_GSTRING_LEN`.
const NAME_BYTES: usize = 32;
/// More than any driver has: the largest cards name a few per queue, and have a few hundred queues.
const MOST_COUNTERS: u32 = 65_536;

/// An open door to one driver's counters, with their names.
#[derive(Debug)]
pub struct DriverCounters {
    door: Ethtool,
    names: Vec<String>,
}

impl DriverCounters {
    /// # Errors
    /// The driver has no counters of its own (EOPNOTSUPP), or the interface is gone.
    pub fn open(interface: &str) -> io::Result<Self> {
        let door = Ethtool::open(interface)?;
        let count = count(&door)?;
        if count == 0 {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let names = names(&door, count)?;
        Ok(Self { door, names })
    }

    /// The driver's own names, in its order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Values in the order of the names.
    ///
    /// # Errors
    /// The interface is gone, or the driver has another number of counters than before.
    pub fn read(&self) -> io::Result<Vec<u64>> {
        // struct ethtool_stats: command, count, then the numbers.
        let mut structure = vec![0; 8 + 8 * self.names.len()];
        structure[..4].copy_from_slice(&GSTATS.to_ne_bytes());
        structure[4..8].copy_from_slice(&(self.names.len() as u32).to_ne_bytes());
        // The kernel writes as many as the driver has, whatever was asked for.
        if count(&self.door)? as usize != self.names.len() {
            return Err(io::Error::other("the driver changed the number of its counters"));
        }
        self.door.call(&mut structure)?;
        Ok(structure[8..].as_chunks::<8>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect())
    }
}

fn count(door: &Ethtool) -> io::Result<u32> {
    // struct ethtool_sset_info: command, reserved, mask of sets, then one count per set in the mask.
    let mut structure = [0; 20];
    structure[..4].copy_from_slice(&GSSET_INFO.to_ne_bytes());
    structure[8..16].copy_from_slice(&(1u64 << SS_STATS).to_ne_bytes());
    door.call(&mut structure)?;
    let mask = u64::from_ne_bytes(structure[8..16].try_into().unwrap_or_default());
    let count = u32::from_ne_bytes(structure[16..20].try_into().unwrap_or_default());
    // A driver without such a set takes its bit out of the mask.
    let count = if mask == 0 { 0 } else { count };
    if count > MOST_COUNTERS {
        return Err(io::Error::other(format!("the driver claims to have {count} counters")));
    }
    Ok(count)
}

fn names(door: &Ethtool, count: u32) -> io::Result<Vec<String>> {
    // struct ethtool_gstrings: command, set, count, then the names.
    let mut structure = vec![0; 12 + NAME_BYTES * count as usize];
    structure[..4].copy_from_slice(&GSTRINGS.to_ne_bytes());
    structure[4..8].copy_from_slice(&SS_STATS.to_ne_bytes());
    structure[8..12].copy_from_slice(&count.to_ne_bytes());
    door.call(&mut structure)?;
    let name = |bytes: &[u8]| {
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).trim().to_owned()
    };
    Ok(structure[12..].chunks(NAME_BYTES).map(name).collect())
}

/// A counter of one queue, told apart by the name that its driver gave it: `rx_queue_0_packets` of
/// virtual drivers, `rx-0.packets` and `tx_queue_3_bytes` of Intel's, `rx0_packets` of Mellanox's.
#[must_use]
pub fn queue_of(name: &str) -> Option<(String, &str)> {
    let (way, rest) = ["rx", "tx"].iter().find_map(|way| Some((*way, name.strip_prefix(way)?)))?;
    let rest = rest.trim_start_matches(['_', '-']);
    let rest = rest.strip_prefix("queue").map_or(rest, |rest| rest.trim_start_matches(['_', '-']));
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let what = rest[digits..].strip_prefix(['_', '-', '.'])?;
    let number: u32 = rest[..digits].parse().ok()?;
    (!what.is_empty()).then(|| (format!("{way} {number}"), what))
}

/// Per-queue counters among these, queue by queue.
#[must_use]
pub fn by_queue<'a>(
    counters: impl IntoIterator<Item = (&'a str, u64)>,
) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut queues: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for (name, value) in counters {
        if let Some((queue, what)) = queue_of(name) {
            queues.entry(queue).or_default().insert(what.to_owned(), value);
        }
    }
    queues
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::link::{bring_up, make_veth};
    use crate::nic::namespace::inside;

    #[test]
    fn names_of_queues_are_read_as_drivers_write_them() {
        let cases = [
            ("rx_queue_0_xdp_packets", Some(("rx 0", "xdp_packets"))),
            ("tx_queue_13_bytes", Some(("tx 13", "bytes"))),
            ("rx-7.packets", Some(("rx 7", "packets"))),
            ("tx3_csum_none", Some(("tx 3", "csum_none"))),
            ("rx_packets", None),
            ("rx_64_bytes_frames", Some(("rx 64", "bytes_frames"))),
            ("peer_ifindex", None),
            ("rx_queue_1", None),
        ];
        for (name, expected) in cases {
            let got = queue_of(name);
            assert_eq!(got.as_ref().map(|(queue, what)| (queue.as_str(), *what)), expected, "{name}");
        }
    }

    #[test]
    fn a_veth_tells_its_own_counters_and_loopback_has_none() {
        inside("nic::driver_counters::tests::a_veth_tells_its_own_counters_and_loopback_has_none", || {
            make_veth("ft0", "ft1", std::process::id()).expect("veth");
            bring_up("ft0").expect("up");
            let counters = DriverCounters::open("ft0").expect("a driver with counters");
            assert!(counters.names().iter().any(|name| name == "peer_ifindex"), "{:?}", counters.names());
            assert_eq!(counters.read().expect("values").len(), counters.names().len());
            let queues = by_queue(counters.names().iter().map(|name| (name.as_str(), 0)));
            assert!(queues.contains_key("rx 0"), "{queues:?}");
            assert!(DriverCounters::open("lo").is_err_and(|e| e.raw_os_error() == Some(libc::EOPNOTSUPP)));
        });
    }
}
