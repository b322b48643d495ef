//! On which receive queue each frame of ours came in.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::frame::{ETHERTYPE_BASE, MOST_STREAMS};
use super::socket::{self, SocketError, bind_receiver, open_receiver};
use crate::nic::interface::Interface;

/// Bytes up to the end of the ethertype.
const HEADER: usize = 14;
const ETHERTYPE: usize = 12;
/// SKF_AD_OFF + SKF_AD_QUEUE of linux/filter.h: the kernel's note of a frame's queue.
const QUEUE_NOTE: u32 = (-0x1000i32 + 24) as u32;

/// A frame counts with the memory that it came in, however short it is cut: the default holds 93.
const BUFFER_BYTES: libc::c_int = 16 << 20;

/// A packet socket that is told of each frame of ours no more than its header and its queue: a filter
/// cuts the frame to 14 bytes and as many more as the kernel's note of the queue says. A frame too
/// short for that is passed over; the smallest ones tell queues below 45.
#[derive(Debug)]
pub struct QueueWatch {
    socket: OwnedFd,
    /// What the note of queue 0 is.
    first: usize,
}

/// One frame: its stream, and its queue, or None where the driver has noted none.
pub type Arrival = (u16, Option<u32>);

impl QueueWatch {
    /// # Errors
    /// CAP_NET_RAW is missing, or the kernel refuses.
    pub fn open(interface: &Interface, driver: &str) -> Result<Self, SocketError> {
        let socket = open_receiver()?;
        filter(&socket).map_err(|source| SocketError::Kernel { what: "filter by queue", source })?;
        let forced = socket::set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &BUFFER_BYTES);
        if forced.is_err() {
            // Without CAP_NET_ADMIN in the first user namespace only up to net.core.rmem_max.
            socket::set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &BUFFER_BYTES)
                .map_err(|source| SocketError::Kernel { what: "enlarge the receive buffer", source })?;
        }
        bind_receiver(&socket, interface)?;
        // A card's driver notes one more than the queue, and 0 is no note. veth hands the sender's
        // choice of a transmit queue through as it is.
        Ok(Self { socket, first: usize::from(driver != "veth") })
    }

    /// The next frame; None when none waits.
    ///
    /// # Errors
    /// The interface went down or away.
    pub fn take(&mut self) -> io::Result<Option<Arrival>> {
        let mut frame = [0u8; 2048];
        // SAFETY: pointer and length describe `frame`.
        let length = unsafe {
            libc::recv(self.socket.as_raw_fd(), frame.as_mut_ptr().cast(), frame.len(), libc::MSG_DONTWAIT)
        };
        let Ok(length) = usize::try_from(length) else {
            return match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
                error => Err(error),
            };
        };
        let ethertype = u16::from_be_bytes([frame[ETHERTYPE], frame[ETHERTYPE + 1]]);
        let queue = length.checked_sub(HEADER + self.first).map(|queue| queue as u32);
        Ok(Some((ethertype.wrapping_sub(ETHERTYPE_BASE), queue)))
    }
}

impl AsFd for QueueWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn filter(socket: &OwnedFd) -> io::Result<()> {
    let end = u32::from(ETHERTYPE_BASE + MOST_STREAMS);
    let instruction = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let (load, jump, alu) = (libc::BPF_LD, libc::BPF_JMP, libc::BPF_ALU);
    let mut program = [
        instruction(load | libc::BPF_H | libc::BPF_ABS, 0, 0, ETHERTYPE as u32),
        instruction(jump | libc::BPF_JGE | libc::BPF_K, 0, 8, ETHERTYPE_BASE.into()),
        instruction(jump | libc::BPF_JGE | libc::BPF_K, 7, 0, end),
        instruction(load | libc::BPF_W | libc::BPF_LEN, 0, 0, 0),
        instruction(alu | libc::BPF_SUB | libc::BPF_K, 0, 0, HEADER as u32),
        instruction(libc::BPF_MISC | libc::BPF_TAX, 0, 0, 0),
        instruction(load | libc::BPF_W | libc::BPF_ABS, 0, 0, QUEUE_NOTE),
        instruction(jump | libc::BPF_JGT | libc::BPF_X, 2, 0, 0),
        instruction(alu | libc::BPF_ADD | libc::BPF_K, 0, 0, HEADER as u32),
        instruction(libc::BPF_RET | libc::BPF_A, 0, 0, 0),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    socket::set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}
