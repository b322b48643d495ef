//! AF_PACKET sockets: opened, set up and bound to one interface.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::nic::interface::Interface;

// linux/if_packet.h; the libc crate has no names for these.
pub const PACKET_RX_RING: libc::c_int = 5;
pub const PACKET_STATISTICS: libc::c_int = 6;
pub const PACKET_VERSION: libc::c_int = 10;
pub const PACKET_TIMESTAMP: libc::c_int = 17;
const PACKET_ADD_MEMBERSHIP: libc::c_int = 1;
const PACKET_QDISC_BYPASS: libc::c_int = 20;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
const PACKET_MR_PROMISC: u16 = 1;
/// A small default buffer would stop a sender after some 270 small frames that the card still holds.
const SEND_BUFFER_BYTES: libc::c_int = 16 << 20;

#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error(
        "may not open a packet socket: the capability CAP_NET_RAW lacks in this network namespace. \
         Run as root, inside `unshare -Urn`, or give it by `setcap cap_net_raw+ep`"
    )]
    Forbidden,
    #[error("cannot {what}: {source}")]
    Kernel { what: &'static str, source: io::Error },
}

/// A socket that sends whole frames on one interface and receives none.
///
/// # Errors
/// CAP_NET_RAW is missing, or the kernel refuses.
pub fn open_sender(interface: &Interface) -> Result<OwnedFd, SocketError> {
    let socket = open()?;
    // Straight to the driver: the queueing discipline of the interface would hold and drop frames.
    set(&socket, libc::SOL_PACKET, PACKET_QDISC_BYPASS, &1i32)
        .map_err(|e| kernel("bypass the queueing discipline", e))?;
    let forced = set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER_BYTES);
    if forced.is_err() {
        // Without CAP_NET_ADMIN in the first user namespace only up to net.core.wmem_max.
        set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BUFFER_BYTES)
            .map_err(|e| kernel("enlarge the send buffer", e))?;
    }
    bind(&socket, interface, 0)?;
    Ok(socket)
}

/// A socket that is not bound yet, so that a ring can be set up before the first frame comes.
///
/// # Errors
/// CAP_NET_RAW is missing, or the kernel refuses.
pub fn open_receiver() -> Result<OwnedFd, SocketError> {
    open()
}

/// Lets frames of all protocols come in, also those addressed to nobody here.
///
/// All protocols, because a damaged ethertype is to be seen too, and because frames that no socket
/// listens for count as `rx_dropped` of the interface.
///
/// # Errors
/// The kernel refuses.
pub fn bind_receiver(socket: &OwnedFd, interface: &Interface) -> Result<(), SocketError> {
    set(socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1i32)
        .map_err(|e| kernel("pass over frames that leave here (PACKET_IGNORE_OUTGOING, Linux 4.20)", e))?;
    bind(socket, interface, libc::ETH_P_ALL as u16)?;
    be_promiscuous(socket, interface)
}

/// Lets the card pass on frames that are addressed to nobody here, as long as the socket is open.
///
/// # Errors
/// The kernel refuses.
pub fn be_promiscuous(socket: &OwnedFd, interface: &Interface) -> Result<(), SocketError> {
    let member = PacketMembership {
        index: interface.index as libc::c_int,
        kind: PACKET_MR_PROMISC,
        ..Default::default()
    };
    // The kernel takes it back when the socket closes, however the process ends.
    set(socket, libc::SOL_PACKET, PACKET_ADD_MEMBERSHIP, &member)
        .map_err(|e| kernel("listen promiscuously", e))
}

/// struct packet_mreq.
#[repr(C)]
#[derive(Default)]
struct PacketMembership {
    index: libc::c_int,
    kind: u16,
    address_bytes: u16,
    address: [u8; 8],
}

/// Sets one socket option to a plain value.
///
/// # Errors
/// The kernel refuses.
pub fn set<T>(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the descriptor is open, and pointer and length describe `value`, which is only read.
    let code = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const *value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads and clears the socket's pending error; true if there was one.
pub fn take_error(socket: &impl AsFd) -> bool {
    let mut error: libc::c_int = 0;
    let mut length = size_of_val(&error) as libc::socklen_t;
    // SAFETY: the descriptor is open, and pointer and length describe `error`.
    let code = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut error).cast(),
            &mut length,
        )
    };
    code != 0 || error != 0
}

pub(super) fn kernel(what: &'static str, source: io::Error) -> SocketError {
    SocketError::Kernel { what, source }
}

fn open() -> Result<OwnedFd, SocketError> {
    // Protocol 0: nothing is received before it is bound.
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd >= 0 {
        // SAFETY: the descriptor was just made and belongs to nobody else.
        return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Err(SocketError::Forbidden),
        _ => Err(kernel("open a packet socket", error)),
    }
}

fn bind(socket: &OwnedFd, interface: &Interface, protocol: u16) -> Result<(), SocketError> {
    // SAFETY: all-zero bytes are a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface.index as libc::c_int;
    // SAFETY: the descriptor is open, and pointer and length describe `address`.
    let code = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if code == 0 { Ok(()) } else { Err(kernel("bind the packet socket", io::Error::last_os_error())) }
}
