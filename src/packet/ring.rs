//! A TPACKET_V3 receive ring: the kernel writes frames into shared blocks, which we walk and give back.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::drops::Statistics;
use super::ingress::{Arrived, Ingress, StampSource, Stamps};
use super::socket::{
    PACKET_RX_RING, PACKET_TIMESTAMP, PACKET_VERSION, SocketError, bind_receiver, kernel, open_receiver, set,
};
use crate::nic::interface::Interface;

/// Size of a block; ring sizes are multiples of it.
pub const BLOCK_BYTES: usize = 1 << 20;
/// A ring smaller than this loses frames whenever another process takes the CPU.
const FEWEST_BLOCKS: usize = 4;
/// A block that is not full is handed to us after this long.
pub const RETIRE_MS: u32 = 8;

// linux/if_packet.h: struct tpacket_block_desc and struct tpacket3_hdr, offsets in bytes.
const TPACKET_V3: libc::c_int = 2;
const BLOCK_STATUS: usize = 8;
const BLOCK_PACKETS: usize = 12;
const BLOCK_FIRST: usize = 16;
const STATUS_KERNEL: u32 = 0;
const STATUS_USER: u32 = 1;
const PACKET_NEXT: usize = 0;
const PACKET_SECONDS: usize = 4;
const PACKET_NANOSECONDS: usize = 8;
const PACKET_CAPTURED: usize = 12;
const PACKET_STATUS: usize = 20;
const PACKET_MAC: usize = 24;
const PACKET_HEADER: usize = 48;
/// TP_STATUS_TS_RAW_HARDWARE: this frame's stamp is the card's.
const STAMPED_BY_CARD: u32 = 1 << 31;

/// struct tpacket_req3.
#[repr(C)]
struct RingRequest {
    block_bytes: u32,
    blocks: u32,
    frame_bytes: u32,
    frames: u32,
    retire_ms: u32,
    private_bytes: u32,
    features: u32,
}

/// A socket of its own on one interface, with the memory that it shares with the kernel. It hears all
/// queues.
#[derive(Debug)]
pub struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    blocks: usize,
    next: usize,
    statistics: Statistics,
    stamps: Stamps,
}

// SAFETY: the mapping belongs to this ring alone and is not tied to the thread that made it.
unsafe impl Send for Ring {}

impl Ring {
    /// Binds a socket with a ring of `bytes`, or of half that, a quarter… where the kernel has not so
    /// much memory; `bytes()` tells what came of it. Frames that arrive from now on are kept.
    ///
    /// # Errors
    /// CAP_NET_RAW is missing, no memory for the smallest ring, or the kernel has no TPACKET_V3.
    pub fn open(interface: &Interface, bytes: usize, stamps: Stamps) -> Result<Self, SocketError> {
        let socket = open_receiver()?;
        set(&socket, libc::SOL_PACKET, PACKET_VERSION, &TPACKET_V3)
            .map_err(|e| kernel("use a TPACKET_V3 ring", e))?;
        if stamps == Stamps::Hardware {
            set(&socket, libc::SOL_PACKET, PACKET_TIMESTAMP, &(libc::SOF_TIMESTAMPING_RAW_HARDWARE as i32))
                .map_err(|e| kernel("ask the ring for hardware stamps", e))?;
        }
        let blocks = reserve(&socket, bytes)?;
        let ring = Self::map(socket, blocks, stamps)?;
        bind_receiver(&ring.socket, interface)?;
        Ok(ring)
    }

    fn map(socket: OwnedFd, blocks: usize, stamps: Stamps) -> Result<Self, SocketError> {
        // SAFETY: a new shared mapping at an address of the kernel's choice; the kernel checks the length
        // against the ring, and keeps the memory alive as long as it is mapped.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                blocks * BLOCK_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(address.cast()) {
            Some(memory) if address != libc::MAP_FAILED => {
                Ok(Self { socket, memory, blocks, next: 0, statistics: Statistics::default(), stamps })
            }
            _ => Err(kernel("map the receive ring", io::Error::last_os_error())),
        }
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        self.blocks * BLOCK_BYTES
    }

    /// What the kernel counted, as totals.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn statistics(&mut self) -> io::Result<Statistics> {
        self.statistics.read(&self.socket)?;
        Ok(self.statistics)
    }
}

/// A batch is a block: full, or as the kernel hands it over after `RETIRE_MS`.
impl Ingress for Ring {
    fn take(&mut self, see: &mut dyn FnMut(Arrived<'_>)) -> io::Result<Option<usize>> {
        let start = self.next * BLOCK_BYTES;
        // SAFETY: the status word lies inside the mapping and is aligned; the kernel changes it, hence atomic.
        let status = unsafe { AtomicU32::from_ptr(self.memory.as_ptr().add(start + BLOCK_STATUS).cast()) };
        if status.load(Ordering::Acquire) & STATUS_USER == 0 {
            return Ok(None);
        }
        // SAFETY: the block lies inside the mapping, and the kernel leaves it alone until its status is set back.
        let block = unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(start), BLOCK_BYTES) };
        let seen = walk(block, self.stamps, see);
        status.store(STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        Ok(Some(seen))
    }

    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn drops(&mut self) -> io::Result<u64> {
        self.statistics().map(|statistics| statistics.drops)
    }

    fn stamps(&self) -> StampSource {
        if self.stamps == Stamps::Hardware { StampSource::Hardware } else { StampSource::Kernel }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`, which nothing borrows any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes()) };
    }
}

/// Asks for a ring and returns how many blocks it got.
fn reserve(socket: &OwnedFd, bytes: usize) -> Result<usize, SocketError> {
    let mut blocks = (bytes / BLOCK_BYTES).max(FEWEST_BLOCKS);
    loop {
        let request = RingRequest {
            block_bytes: BLOCK_BYTES as u32,
            blocks: blocks as u32,
            // Only bounds the number of frames in V3, where they are packed; the smallest that divides.
            frame_bytes: 2048,
            frames: (blocks * (BLOCK_BYTES / 2048)) as u32,
            retire_ms: RETIRE_MS,
            private_bytes: 0,
            features: 0,
        };
        match set(socket, libc::SOL_PACKET, PACKET_RX_RING, &request) {
            Ok(()) => return Ok(blocks),
            Err(e) if e.raw_os_error() == Some(libc::ENOMEM) && blocks / 2 >= FEWEST_BLOCKS => blocks /= 2,
            Err(e) => return Err(kernel("set up the receive ring", e)),
        }
    }
}

/// Walks the packets of one block; offsets that leave the block end the walk.
fn walk(block: &[u8], stamps: Stamps, see: &mut dyn FnMut(Arrived<'_>)) -> usize {
    let u32_at =
        |at: usize| block.get(at..at + 4).map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
    let (mut at, mut seen) = (u32_at(BLOCK_FIRST) as usize, 0);
    for _ in 0..u32_at(BLOCK_PACKETS) {
        let Some(header) = block.get(at..at + PACKET_HEADER) else { break };
        let word = |field: usize| {
            u32::from_ne_bytes([header[field], header[field + 1], header[field + 2], header[field + 3]])
        };
        let mac = usize::from(u16::from_ne_bytes([header[PACKET_MAC], header[PACKET_MAC + 1]]));
        let Some(bytes) = block.get(at + mac..at + mac + word(PACKET_CAPTURED) as usize) else { break };
        let stamped = match stamps {
            Stamps::None => false,
            Stamps::Software => true,
            // Where the card gave none the kernel puts its own in that place.
            Stamps::Hardware => word(PACKET_STATUS) & STAMPED_BY_CARD != 0,
        };
        let at_ns = u64::from(word(PACKET_SECONDS)) * 1_000_000_000 + u64::from(word(PACKET_NANOSECONDS));
        see(Arrived { bytes, at_ns: stamped.then_some(at_ns) });
        seen += 1;
        at += word(PACKET_NEXT) as usize;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(packets: &[(&[u8], u32)], count: u32) -> Vec<u8> {
        let mut block = vec![0; 64];
        block[BLOCK_PACKETS..BLOCK_PACKETS + 4].copy_from_slice(&count.to_ne_bytes());
        block[BLOCK_FIRST..BLOCK_FIRST + 4].copy_from_slice(&48u32.to_ne_bytes());
        block.truncate(48);
        for (seconds, (bytes, status)) in (1u32..).zip(packets) {
            let mut packet = vec![0; 80];
            packet[PACKET_SECONDS..PACKET_SECONDS + 4].copy_from_slice(&seconds.to_ne_bytes());
            packet[PACKET_NANOSECONDS..PACKET_NANOSECONDS + 4].copy_from_slice(&7u32.to_ne_bytes());
            packet[PACKET_CAPTURED..PACKET_CAPTURED + 4].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
            packet[PACKET_MAC..PACKET_MAC + 2].copy_from_slice(&80u16.to_ne_bytes());
            packet[PACKET_STATUS..PACKET_STATUS + 4].copy_from_slice(&status.to_ne_bytes());
            packet.extend(*bytes);
            let next = packet.len() as u32;
            packet[PACKET_NEXT..PACKET_NEXT + 4].copy_from_slice(&next.to_ne_bytes());
            block.extend(packet);
        }
        block
    }

    fn frames(block: &[u8], stamps: Stamps) -> Vec<(Vec<u8>, Option<u64>)> {
        let mut all = Vec::new();
        let seen = walk(block, stamps, &mut |frame| all.push((frame.bytes.to_vec(), frame.at_ns)));
        assert_eq!(seen, all.len());
        all
    }

    #[test]
    fn packets_of_a_block_are_walked_with_their_stamps() {
        let block = block(&[(b"first", 1), (b"second", 1)], 2);
        let expected = |ns: [Option<u64>; 2]| [(b"first".to_vec(), ns[0]), (b"second".to_vec(), ns[1])];
        assert_eq!(frames(&block, Stamps::Software), expected([Some(1_000_000_007), Some(2_000_000_007)]));
        assert_eq!(frames(&block, Stamps::None), expected([None, None]));
    }

    #[test]
    fn the_kernels_own_stamp_is_never_taken_for_the_cards() {
        let block = block(&[(b"by the kernel", 1 | 1 << 29), (b"by the card", 1 | STAMPED_BY_CARD)], 2);
        let stamps: Vec<_> = frames(&block, Stamps::Hardware).into_iter().map(|frame| frame.1).collect();
        assert_eq!(stamps, [None, Some(2_000_000_007)]);
    }

    #[test]
    fn a_block_that_promises_more_than_it_holds_ends_without_a_panic() {
        let whole = block(&[(b"first", 0), (b"second", 0)], u32::MAX);
        assert_eq!(frames(&whole, Stamps::None).len(), 2);
        for length in 0..whole.len() {
            assert!(frames(&whole[..length], Stamps::None).len() <= 2);
        }
    }
}
