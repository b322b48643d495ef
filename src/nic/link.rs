//! Links of the embedded lab: made, brought up, and kept quiet.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};

use super::clock::{monotonic_ns, sleep_until_ns};
use super::interface::{Interface, InterfaceError};
use super::route::Route;

/// Locally administered addresses of the two ends (bit 1 of the first byte is set).
pub const NEAR_MAC: [u8; 6] = [0x02, 0x00, 0x00, 0x00, 0x00, 0x0a];
pub const FAR_MAC: [u8; 6] = [0x02, 0x00, 0x00, 0x00, 0x00, 0x0b];
/// Between two looks at a link that is not up yet.
const LOOK_EVERY_NS: u64 = 2_000_000;

#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    #[error("cannot {what}: {source}. {next}")]
    Refused { what: String, source: io::Error, next: &'static str },
    #[error(
        "{interface} did not come up within {limit:?}: {seen}. Is the other end up, the cable in, the module seated?"
    )]
    NotUp { interface: String, limit: Duration, seen: &'static str },
}

/// Makes a veth pair: `near` here, `far` in the network namespace of the process `peer_pid`.
///
/// # Errors
/// CAP_NET_ADMIN is missing in one of the two namespaces, a name is taken, the kernel has no veth,
/// or there is no such process.
pub fn make_veth(near: &str, far: &str, peer_pid: u32) -> Result<(), LinkError> {
    make_veth_with_queues(near, far, peer_pid, 1)
}

/// The same with so many queues each way at both ends.
///
/// # Errors
/// As for `make_veth`, or the kernel takes no veth pair with so many queues.
pub fn make_veth_with_queues(near: &str, far: &str, peer_pid: u32, queues: u32) -> Result<(), LinkError> {
    let end = |name: &str, mac: [u8; 6]| {
        let mut end = LinkMessage::default();
        end.attributes.push(LinkAttribute::IfName(name.to_owned()));
        end.attributes.push(LinkAttribute::Address(mac.to_vec()));
        end.attributes.push(LinkAttribute::NumTxQueues(queues));
        end.attributes.push(LinkAttribute::NumRxQueues(queues));
        end
    };
    let (mut link, mut peer) = (end(near, NEAR_MAC), end(far, FAR_MAC));
    peer.attributes.push(LinkAttribute::NetNsPid(peer_pid));
    link.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
    ]));
    change(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL).map_err(|e| {
        refused(format!("make the veth pair {near} and {far} (the latter for process {peer_pid})"), e)
    })
}

/// Brings an interface up and stops IPv6 from sending frames of its own on it.
///
/// # Errors
/// No such interface, or CAP_NET_ADMIN is missing in this network namespace.
pub fn bring_up(interface: &str) -> Result<(), LinkError> {
    let index = Interface::find(interface)?.index;
    silence_ipv6(interface)?;
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    change(RouteNetlinkMessage::SetLink(link), 0).map_err(|e| refused(format!("bring {interface} up"), e))
}

/// Brings `lo` of this network namespace up.
///
/// # Errors
/// CAP_NET_ADMIN is missing in this network namespace.
pub fn bring_loopback_up() -> Result<(), LinkError> {
    bring_up("lo")
}

/// Waits until an interface is up, has carrier and may pass traffic.
///
/// # Errors
/// No such interface, or it is not ready within `limit`; the text says what is missing.
pub fn wait_until_running(interface: &str, limit: Duration) -> Result<Interface, LinkError> {
    let deadline = monotonic_ns().saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
    loop {
        let seen = Interface::find(interface)?;
        if seen.running {
            return Ok(seen);
        }
        if monotonic_ns() >= deadline {
            let seen =
                if seen.up { "it is up but has no carrier" } else { "it is down (`ip link set … up`)" };
            return Err(LinkError::NotUp { interface: interface.to_owned(), limit, seen });
        }
        sleep_until_ns(monotonic_ns() + LOOK_EVERY_NS);
    }
}

/// Router solicitations and neighbour discovery would stand among the counted frames.
fn silence_ipv6(interface: &str) -> Result<(), LinkError> {
    // `find` has accepted the name, and the kernel lets no interface hold a slash.
    let path = format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6");
    if interface == "lo" || !Path::new(&path).exists() {
        return Ok(());
    }
    fs::write(&path, "1").map_err(|e| refused(format!("write 1 into {path}"), e))
}

fn change(message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    Route::open()?.change(message, flags)
}

fn refused(what: String, source: io::Error) -> LinkError {
    let next = match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "The capability CAP_NET_ADMIN lacks in this network namespace: run as root, or inside `unshare -Urn`"
        }
        Some(libc::EEXIST) => "The name is taken: `ip link` shows by what",
        Some(libc::EOPNOTSUPP) => "The kernel has no veth driver: `modprobe veth`, or CONFIG_VETH",
        Some(libc::ESRCH) => "There is no such process in this PID namespace",
        _ => "`ip link` shows the interfaces as they are now",
    };
    LinkError::Refused { what, source, next }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::nic::counters::CounterSource;
    use crate::nic::namespace::inside;

    /// Something that ends with the test, whatever comes of it.
    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn netns(pid: u32) -> std::path::PathBuf {
        fs::read_link(format!("/proc/{pid}/ns/net")).expect("namespace of a live process")
    }

    #[test]
    fn a_veth_pair_reaches_into_another_namespace_and_stays_silent() {
        inside("nic::link::tests::a_veth_pair_reaches_into_another_namespace_and_stays_silent", || {
            let mut sleep = Command::new("unshare");
            sleep.args(["-n", "sleep", "30"]).stdin(Stdio::null());
            let peer = Killed(sleep.spawn().expect("unshare"));
            let own = netns(std::process::id());
            let limit = monotonic_ns() + 5_000_000_000;
            while netns(peer.0.id()) == own {
                assert!(monotonic_ns() < limit, "unshare -n took no effect");
                sleep_until_ns(monotonic_ns() + 1_000_000);
            }
            make_veth("ft0", "ft1", peer.0.id()).expect("veth");
            assert_eq!(Interface::find("ft0").expect("near end").mac, Some(NEAR_MAC));
            assert!(Interface::find("ft1").is_err(), "the far end is elsewhere");
            bring_up("ft0").expect("up");
            let down = wait_until_running("ft0", Duration::from_millis(20)).expect_err("far end is down");
            assert!(down.to_string().contains("no carrier"), "{down}");
            let taken = make_veth("ft0", "ft2", peer.0.id()).expect_err("name taken").to_string();
            assert!(taken.contains("taken"), "{taken}");
        });
    }

    #[test]
    fn both_ends_come_up_and_nothing_is_sent_by_itself() {
        inside("nic::link::tests::both_ends_come_up_and_nothing_is_sent_by_itself", || {
            make_veth("ft0", "ft1", std::process::id()).expect("veth");
            for end in ["ft0", "ft1"] {
                bring_up(end).expect("up");
            }
            bring_loopback_up().expect("lo");
            for end in ["ft0", "ft1", "lo"] {
                let seen = wait_until_running(end, Duration::from_secs(5)).expect("running");
                assert!(seen.up && seen.running && seen.mtu >= 1500);
            }
            // IPv6 would announce itself within the first hundred milliseconds.
            sleep_until_ns(monotonic_ns() + 300_000_000);
            let sent = CounterSource::open("ft0").expect("open").read().expect("read");
            assert_eq!(sent.counters().tx_packets, 0);
        });
    }

    #[test]
    fn refusals_say_what_is_missing_and_what_to_do() {
        let text = |code| refused("bring x up".into(), io::Error::from_raw_os_error(code)).to_string();
        assert!(text(libc::EPERM).contains("CAP_NET_ADMIN"));
        assert!(text(libc::EOPNOTSUPP).contains("veth driver"));
    }
}
