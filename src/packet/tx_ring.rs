//! A TPACKET_V2 transmit ring: frames are written into memory shared with the kernel, which sends from there.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::egress::Egress;
use super::frame::Frames;
use super::socket::{PACKET_TX_RING, PACKET_VERSION, SocketError, kernel, open_sender, set};
use crate::nic::interface::Interface;

// linux/if_packet.h: struct tpacket2_hdr; a frame begins TPACKET2_HDRLEN - sizeof(sockaddr_ll) after it.
const TPACKET_V2: libc::c_int = 1;
const STATUS: usize = 0;
const LENGTH: usize = 4;
const FRAME: usize = 32;
const AVAILABLE: u32 = 0;
const SEND_REQUEST: u32 = 1;
const WRONG_FORMAT: u32 = 4;

const SLOT_BYTES: usize = 2048;
const SLOTS: usize = 512;
const BLOCK_BYTES: usize = 64 * 1024;

/// struct tpacket_req.
#[repr(C)]
struct RingRequest {
    block_bytes: u32,
    blocks: u32,
    slot_bytes: u32,
    slots: u32,
}

/// The shared memory of one socket's transmit ring.
pub struct TxRing {
    socket: OwnedFd,
    memory: NonNull<u8>,
    /// Slots ever filled, and of those taken by the kernel.
    filled: usize,
    taken: usize,
}

// SAFETY: the mapping belongs to this ring alone and does not move with it.
unsafe impl Send for TxRing {}

impl TxRing {
    /// # Errors
    /// No memory for the ring, or the kernel refuses.
    pub fn set_up(socket: OwnedFd) -> Result<Self, SocketError> {
        set(&socket, libc::SOL_PACKET, PACKET_VERSION, &TPACKET_V2)
            .map_err(|e| kernel("use a TPACKET_V2 ring", e))?;
        let request = RingRequest {
            block_bytes: BLOCK_BYTES as u32,
            blocks: (SLOTS * SLOT_BYTES / BLOCK_BYTES) as u32,
            slot_bytes: SLOT_BYTES as u32,
            slots: SLOTS as u32,
        };
        set(&socket, libc::SOL_PACKET, PACKET_TX_RING, &request)
            .map_err(|e| kernel("set up the transmit ring", e))?;
        // SAFETY: a new shared mapping at an address of the kernel's choice; the kernel checks the length.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                SLOTS * SLOT_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(address.cast()) {
            Some(memory) if address != libc::MAP_FAILED => Ok(Self { socket, memory, filled: 0, taken: 0 }),
            _ => Err(kernel("map the transmit ring", io::Error::last_os_error())),
        }
    }

    fn slot(&self, number: usize) -> NonNull<u8> {
        // SAFETY: the remainder keeps the offset inside the mapping.
        unsafe { self.memory.add(number % SLOTS * SLOT_BYTES) }
    }

    fn status(&self, number: usize) -> &AtomicU32 {
        // SAFETY: the status word lies inside the mapping and is aligned; the kernel changes it, hence atomic.
        unsafe { AtomicU32::from_ptr(self.slot(number).add(STATUS).as_ptr().cast()) }
    }
}

impl Egress for TxRing {
    fn fill(&mut self, frames: &Frames, stream: u16, first: u64, count: usize) -> usize {
        let mut filled = 0;
        for sequence in (first..).take(count) {
            if self.waiting() == SLOTS || self.status(self.filled).load(Ordering::Acquire) != AVAILABLE {
                break;
            }
            let (slot, bytes) = (self.slot(self.filled), frames.bytes(sequence));
            // SAFETY: a slot holds a header and the largest frame, and is ours while it is available.
            unsafe {
                slot.add(LENGTH).cast::<u32>().write(bytes as u32);
                frames.write(
                    stream,
                    sequence,
                    std::slice::from_raw_parts_mut(slot.add(FRAME).as_ptr(), bytes),
                );
            }
            self.status(self.filled).store(SEND_REQUEST, Ordering::Release);
            self.filled += 1;
            filled += 1;
        }
        filled
    }

    fn waiting(&self) -> usize {
        self.filled - self.taken
    }

    fn hand_over(&mut self) -> io::Result<usize> {
        // SAFETY: no memory is passed; the kernel reads the ring.
        let code = unsafe { libc::send(self.socket.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        let error = (code < 0).then(io::Error::last_os_error);
        let before = self.taken;
        while self.taken < self.filled {
            match self.status(self.taken).load(Ordering::Acquire) {
                SEND_REQUEST => break,
                WRONG_FORMAT => return Err(io::Error::from_raw_os_error(libc::EMSGSIZE)),
                _ => self.taken += 1,
            }
        }
        match error {
            Some(error) if self.taken == before => Err(error),
            _ => Ok(self.taken - before),
        }
    }
}

impl Drop for TxRing {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `set_up`, which nothing borrows any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), SLOTS * SLOT_BYTES) };
    }
}

/// A ring on a socket of its own for each stream of `frames`.
///
/// # Errors
/// CAP_NET_RAW is missing, or the kernel refuses.
pub fn open_each(interface: &Interface, frames: &Frames) -> Result<Vec<Box<dyn Egress>>, SocketError> {
    let open = |_| -> Result<Box<dyn Egress>, SocketError> {
        Ok(Box::new(TxRing::set_up(open_sender(interface)?)?))
    };
    (0..frames.streams()).map(open).collect()
}
