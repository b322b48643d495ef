//! One AF_XDP socket with its memory and its four rings, bound to a queue.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::error::XdpError;
use super::memory::Memory;
use super::options::{Copying, LARGEST_RING, SMALLEST_RING, XdpOptions, XdpStatistics};
use super::rights::no_socket;
use super::ring::{Descriptor, Emptied, Filled, Layout};
use crate::nic::clock::{monotonic_ns, sleep_until_ns};
use crate::nic::driver::{driver_name, queues};
use crate::nic::interface::Interface;

/// Memory of one frame: the largest frame, and 256 bytes that the kernel keeps before a received one.
pub const CHUNK: u32 = 2048;
/// The kernel gives a queue and locked memory back some time after their socket was closed: up to
/// 19 ms were measured for a queue.
const RELEASE_LIMIT_NS: u64 = 1_500_000_000;
const RELEASE_STEP_NS: u64 = 2_000_000;
/// Below this a ring that was not asked for is no longer made smaller.
const FEWEST_SLOTS: u32 = 512;
/// Slots of the rings of the other direction, which have to be there.
const IDLE_RING: u32 = SMALLEST_RING;
/// Frames that one send call takes (setsockopt of Linux 6.17 and later; 32 before that).
const TX_BUDGET: libc::c_int = 256;
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// Which way frames go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Send,
    Receive,
}

/// A bound socket.
#[derive(Debug)]
pub struct Socket {
    pub fd: OwnedFd,
    pub frames: Memory,
    /// Memory for frames to come, by its offset.
    pub fill: Filled<u64>,
    /// Memory of frames that have been sent.
    pub completion: Emptied<u64>,
    pub zero_copy: bool,
    /// Slots of each ring of the direction it is for.
    pub slots: u32,
}

/// The ring of one direction.
#[derive(Debug)]
pub enum Way {
    Send(Filled<Descriptor>),
    Receive(Emptied<Descriptor>),
}

impl Socket {
    /// Opens a socket on a queue of an interface whose link is up.
    ///
    /// # Errors
    /// Each refusal of the kernel that has a known reason, by that reason.
    pub fn open(
        interface: &Interface,
        queue: u32,
        direction: Direction,
        default_slots: u32,
        options: &XdpOptions,
    ) -> Result<(Self, Way), XdpError> {
        let mut slots = rounded(interface, options.ring.unwrap_or(default_slots))?;
        if !interface.running {
            let seen = if interface.up { "up but has no carrier" } else { "down" };
            return Err(XdpError::LinkDown { interface: interface.name.clone(), seen });
        }
        raise_memory_limit();
        let fd = socket()?;
        let frames = loop {
            match register(&fd, slots) {
                Ok(frames) => break frames,
                Err(e) if no_memory(&e) && options.ring.is_none() && slots > FEWEST_SLOTS => slots /= 2,
                Err(e) if no_memory(&e) => return Err(memory_refused(interface, slots, e)),
                Err(e) => return Err(refused(interface, "register memory for frames", e)),
            }
        };
        let (fill, completion) = match direction {
            Direction::Send => (IDLE_RING, slots),
            Direction::Receive => (slots, IDLE_RING),
        };
        let ring = |e| refused(interface, "set up a ring", e);
        set(&fd, libc::XDP_UMEM_FILL_RING, &fill).map_err(ring)?;
        set(&fd, libc::XDP_UMEM_COMPLETION_RING, &completion).map_err(ring)?;
        let own = match direction {
            Direction::Send => libc::XDP_TX_RING,
            Direction::Receive => libc::XDP_RX_RING,
        };
        set(&fd, own, &slots).map_err(ring)?;
        let at = offsets(&fd).map_err(ring)?;
        let map = |bytes, page: i64| Memory::of_socket(fd.as_fd(), bytes, page).map_err(ring);
        let (fr, cr) = (layout(&at.fr), layout(&at.cr));
        let mut fill =
            Filled::new(map(fr.bytes::<u64>(fill), libc::XDP_UMEM_PGOFF_FILL_RING as i64)?, fr, fill);
        let page = libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64;
        let completion = Emptied::new(map(cr.bytes::<u64>(completion), page)?, cr, completion);
        let way = match direction {
            Direction::Send => {
                // Refused before Linux 6.17.
                let _ = set(&fd, XDP_MAX_TX_SKB_BUDGET, &TX_BUDGET.min(slots as libc::c_int));
                let tx = layout(&at.tx);
                Way::Send(Filled::new(
                    map(tx.bytes::<Descriptor>(slots), libc::XDP_PGOFF_TX_RING)?,
                    tx,
                    slots,
                ))
            }
            Direction::Receive => {
                let rx = layout(&at.rx);
                let memory = map(rx.bytes::<Descriptor>(slots), libc::XDP_PGOFF_RX_RING)?;
                // Before binding, where a card that writes into our memory takes its first part.
                (0..u64::from(slots)).for_each(|slot| fill.put(slot * u64::from(CHUNK)));
                fill.publish();
                Way::Receive(Emptied::new(memory, rx, slots))
            }
        };
        bind(&fd, interface, queue, options.copying)?;
        let mut got: u32 = 0;
        get(&fd, libc::XDP_OPTIONS, &mut got).map_err(|e| refused(interface, "read the mode", e))?;
        let zero_copy = got & libc::XDP_OPTIONS_ZEROCOPY != 0;
        Ok((Self { fd, frames, fill, completion, zero_copy, slots }, way))
    }

    /// # Errors
    /// The kernel refuses.
    pub fn statistics(&self) -> io::Result<XdpStatistics> {
        let mut counts = [0u64; 6];
        get(&self.fd, libc::XDP_STATISTICS, &mut counts)?;
        let [rx_dropped, rx_invalid_descs, tx_invalid_descs, rx_ring_full, fill_empty, tx_ring_empty] =
            counts;
        Ok(XdpStatistics {
            rx_dropped,
            rx_invalid_descs,
            tx_invalid_descs,
            rx_ring_full,
            rx_fill_ring_empty: fill_empty,
            tx_ring_empty,
        })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn rounded(interface: &Interface, slots: u32) -> Result<u32, XdpError> {
    match slots.checked_next_power_of_two() {
        Some(rounded) if (SMALLEST_RING..=LARGEST_RING).contains(&rounded) => Ok(rounded),
        _ => Err(XdpError::Unsuited {
            interface: interface.name.clone(),
            wanted: format!(
                "a ring of {slots} slots is out of range: expected {SMALLEST_RING} to {LARGEST_RING}"
            ),
        }),
    }
}

fn socket() -> Result<OwnedFd, XdpError> {
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd >= 0 {
        // SAFETY: the descriptor was just made and belongs to nobody else.
        return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    let source = io::Error::last_os_error();
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Err(no_socket()),
        _ => Err(XdpError::Kernel {
            what: "open an AF_XDP socket",
            interface: "any interface".into(),
            source,
            next: "The kernel needs CONFIG_XDP_SOCKETS (Linux 5.4 or newer)",
        }),
    }
}

/// Memory for one frame a slot. What a socket just closed had locked counts a moment longer.
fn register(fd: &OwnedFd, slots: u32) -> io::Result<Memory> {
    let memory = Memory::anonymous(slots as usize * CHUNK as usize)?;
    // struct xdp_umem_reg: address, length, chunk size, headroom, flags, length of TX metadata.
    let request = libc::xdp_umem_reg {
        addr: memory.address(),
        len: memory.len() as u64,
        chunk_size: CHUNK,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    let deadline = monotonic_ns() + RELEASE_LIMIT_NS / 10;
    loop {
        match set(fd, libc::XDP_UMEM_REG, &request) {
            Err(e) if no_memory(&e) && monotonic_ns() < deadline => {
                sleep_until_ns(monotonic_ns() + RELEASE_STEP_NS);
            }
            result => return result.map(|()| memory),
        }
    }
}

fn no_memory(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::ENOMEM))
}

/// Binds, and waits for a socket that was closed a moment ago to let go of the queue.
fn bind(fd: &OwnedFd, interface: &Interface, queue: u32, copying: Copying) -> Result<(), XdpError> {
    let mode = match copying {
        Copying::Auto => 0,
        Copying::Copy => libc::XDP_COPY,
        Copying::ZeroCopy => libc::XDP_ZEROCOPY,
    };
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: mode | libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: interface.index,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    let deadline = monotonic_ns() + RELEASE_LIMIT_NS;
    loop {
        // SAFETY: the descriptor is open, and pointer and length describe `address`.
        let code = unsafe {
            libc::bind(fd.as_raw_fd(), (&raw const address).cast(), size_of_val(&address) as libc::socklen_t)
        };
        if code == 0 {
            return Ok(());
        }
        let source = io::Error::last_os_error();
        if source.raw_os_error() == Some(libc::EBUSY) && monotonic_ns() < deadline {
            sleep_until_ns(monotonic_ns() + RELEASE_STEP_NS);
            continue;
        }
        return Err(bind_refused(interface, queue, copying, source));
    }
}

fn bind_refused(interface: &Interface, queue: u32, copying: Copying, source: io::Error) -> XdpError {
    let name = interface.name.clone();
    let there = queues(&name).map(|queues| queues.rx.max(queues.tx));
    match source.raw_os_error() {
        Some(libc::EINVAL) if there.as_ref().is_ok_and(|there| queue >= *there) => {
            let expected = match there.unwrap_or_default() {
                1 => "0, the only one".to_owned(),
                count => format!("0 to {}", count - 1),
            };
            XdpError::NoQueue { interface: name, queue, expected, source }
        }
        Some(libc::EOPNOTSUPP) if copying == Copying::ZeroCopy => {
            let driver = driver_name(&name);
            XdpError::NoZeroCopy { interface: name, driver, source }
        }
        Some(libc::EBUSY) => XdpError::QueueTaken { interface: name, queue, source },
        Some(libc::ENETDOWN) => XdpError::LinkDown { interface: name, seen: "down" },
        _ => refused(interface, "bind an AF_XDP socket", source),
    }
}

fn refused(interface: &Interface, what: &'static str, source: io::Error) -> XdpError {
    let next = match source.raw_os_error() {
        Some(libc::ENODEV) => "The interface is gone: `ip link` shows those that are there",
        Some(libc::ENOPROTOOPT | libc::EINVAL) => "AF_XDP needs Linux 5.4 or newer",
        _ => "`dmesg` may say more",
    };
    XdpError::Kernel { what, interface: interface.name.clone(), source, next }
}

fn memory_refused(interface: &Interface, slots: u32, source: io::Error) -> XdpError {
    let limit = match memory_limit().rlim_cur {
        libc::RLIM_INFINITY => "none, so memory itself is short".to_owned(),
        bytes => format!("{} KiB of locked memory", bytes >> 10),
    };
    let wanted_kib = u64::from(slots) * u64::from(CHUNK / 1024);
    XdpError::Memory { interface: interface.name.clone(), wanted_kib, limit, source }
}

fn memory_limit() -> libc::rlimit {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid rlimit to write to.
    unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    limit
}

/// As far as the hard limit goes.
fn raise_memory_limit() {
    let limit = memory_limit();
    let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: `raised` is a valid rlimit. A refusal shows where the memory is asked for.
    unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raised) };
}

fn set<T>(fd: &OwnedFd, name: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and pointer and length describe `value`, which is only read.
    let code =
        unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_XDP, name, (&raw const *value).cast(), length) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn get<T>(fd: &OwnedFd, name: libc::c_int, value: &mut T) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and pointer and length describe `value`, which is integers only.
    let code = unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::SOL_XDP, name, (&raw mut *value).cast(), &mut length)
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn offsets(fd: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: all-zero bytes are a valid xdp_mmap_offsets, which is integers only.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    get(fd, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
    Ok(offsets)
}

fn layout(at: &libc::xdp_ring_offset) -> Layout {
    Layout {
        producer: at.producer as usize,
        consumer: at.consumer as usize,
        entries: at.desc as usize,
        flags: at.flags as usize,
    }
}
