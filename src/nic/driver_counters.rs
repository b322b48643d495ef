//! Counters that a driver offers beyond the kernel's own, by the names that it gives them.

use std::collections::BTreeMap;
use std::io;

use super::card::{COUNTER_NAMES, Card};

/// One driver's counters, with their names.
#[derive(Debug)]
pub struct DriverCounters {
    card: Card,
    names: Vec<String>,
}

impl DriverCounters {
    /// # Errors
    /// The driver has no counters of its own (EOPNOTSUPP), or the interface is gone.
    pub fn open(interface: &str) -> io::Result<Self> {
        let card = Card::open(interface)?;
        let names = card.names(COUNTER_NAMES)?;
        Ok(Self { card, names })
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
        self.card.statistics(self.names.len())
    }
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
