//! Why an AF_XDP socket or its program could not be had.

use std::io;

/// Each refusal names the interface, the kernel's reason and what to do next.
#[derive(Debug, thiserror::Error)]
pub enum XdpError {
    #[error("may not {what}: {missing} in {place}. {next}")]
    Forbidden { what: &'static str, missing: String, place: &'static str, next: &'static str },
    #[error(
        "{interface} is {seen}: AF_XDP needs a link that is up. `ip link set {interface} up`, and is the other end up?"
    )]
    LinkDown { interface: String, seen: &'static str },
    #[error(
        "{interface} has no queue {queue}: expected {expected} ({source}). `ethtool -l {interface}` shows the queues"
    )]
    NoQueue { interface: String, queue: u32, expected: String, source: io::Error },
    #[error(
        "queue {queue} of {interface} is taken by another AF_XDP socket ({source}). \
         Close the program that holds it; `ss --xdp -p` names it"
    )]
    QueueTaken { interface: String, queue: u32, source: io::Error },
    #[error(
        "the driver of {interface} ({driver}) has no zero-copy for AF_XDP ({source}). Ask for copy or auto"
    )]
    NoZeroCopy { interface: String, driver: String, source: io::Error },
    #[error("the driver of {interface} ({driver}) runs no XDP programs ({source}). Ask for generic or auto")]
    NoNative { interface: String, driver: String, source: io::Error },
    #[error(
        "the driver of {interface} ({driver}) takes no XDP program at this MTU ({source}): a frame and its \
         headroom have to fit one page. {interface} has MTU {mtu}; of a veth pair, the other end's counts. \
         `ip link set {interface} mtu 1500`, or ask for generic"
    )]
    MtuTooLarge { interface: String, driver: String, mtu: u32, source: io::Error },
    #[error(
        "{interface} has MTU {mtu}, but frames of {frame_bytes} bytes with FCS need {needed}. \
         `ip link set {interface} mtu {needed}` at both ends, or smaller frames"
    )]
    MtuTooSmall { interface: String, mtu: u32, frame_bytes: u32, needed: u32 },
    #[error(
        "another XDP program is attached to {interface}: {occupant} ({source}). \
         Stop the program that holds it (`bpftool link` shows which), or `ip link set dev {interface} xdp off`"
    )]
    Occupied { interface: String, occupant: String, source: io::Error },
    #[error("no hardware stamps on {interface} (driver {driver}): {why}. Ask for software stamps")]
    NoStamps { interface: String, driver: String, why: String },
    #[error(
        "the kernel locks no {wanted_kib} KiB for the rings of {interface} ({source}); the limit is {limit}. \
         Raise it (`ulimit -l`), take a smaller ring, or run as root"
    )]
    Memory { interface: String, wanted_kib: u64, limit: String, source: io::Error },
    #[error(
        "{interface} (driver {driver}) takes no frames from XDP programs now: its feature ndo-xmit is off. \
         Of a veth pair, the other end needs an XDP program or GRO: start the AF_XDP receiver first, or \
         `ethtool -K PEER gro on`"
    )]
    NoFramesOfPrograms { interface: String, driver: String },
    #[error("{interface}: {wanted}")]
    Unsuited { interface: String, wanted: String },
    #[error("cannot {what} on {interface}: {source}. {next}")]
    Kernel { what: &'static str, interface: String, source: io::Error, next: &'static str },
    #[error(
        "the kernel's verifier refuses {what}: {source}. This is a fault of fieldtrial or of the kernel; it said: {said}"
    )]
    Verifier { what: &'static str, source: io::Error, said: String },
}
