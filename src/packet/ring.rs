//! A TPACKET_V3 receive ring: the kernel writes frames into shared blocks, which we walk and give back.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::socket::{PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION, SocketError, kernel, set};

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
const PACKET_MAC: usize = 24;
/// sll_pkttype of the sockaddr_ll that follows the header, which is aligned to 16.
const PACKET_KIND: usize = 48 + 10;
const PACKET_HEADER: usize = 48 + 20;
const KIND_OUTGOING: u8 = 4;

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

/// The kernel's count of frames, kept as a total. `packets` includes `drops`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    pub packets: u64,
    /// Frames for which the ring had no room.
    pub drops: u64,
}

impl Statistics {
    /// Adds one read, since reading sets the kernel's counts back to zero.
    pub fn add(&mut self, packets: u32, drops: u32) {
        self.packets += u64::from(packets);
        self.drops += u64::from(drops);
    }
}

/// A received frame, valid until its block is given back.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    pub bytes: &'a [u8],
    /// Software stamp of the kernel: nanoseconds of CLOCK_REALTIME.
    pub at_ns: u64,
}

/// The shared memory of one socket's ring.
#[derive(Debug)]
pub struct Ring {
    memory: NonNull<u8>,
    blocks: usize,
    next: usize,
    statistics: Statistics,
}

impl Ring {
    /// Sets up a ring of `bytes` on a socket that is not bound yet, or of half that, a quarter… where
    /// the kernel has not so much memory; `bytes()` tells what came of it.
    ///
    /// # Errors
    /// No memory for the smallest ring, or the kernel has no TPACKET_V3.
    pub fn set_up(socket: &OwnedFd, bytes: usize) -> Result<Self, SocketError> {
        set(socket, libc::SOL_PACKET, PACKET_VERSION, &TPACKET_V3)
            .map_err(|e| kernel("use a TPACKET_V3 ring", e))?;
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
                Ok(()) => return Self::map(socket, blocks),
                Err(e) if e.raw_os_error() == Some(libc::ENOMEM) && blocks / 2 >= FEWEST_BLOCKS => {
                    blocks /= 2
                }
                Err(e) => return Err(kernel("set up the receive ring", e)),
            }
        }
    }

    fn map(socket: &OwnedFd, blocks: usize) -> Result<Self, SocketError> {
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
                Ok(Self { memory, blocks, next: 0, statistics: Statistics::default() })
            }
            _ => Err(kernel("map the receive ring", io::Error::last_os_error())),
        }
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        self.blocks * BLOCK_BYTES
    }

    /// Walks the next block if the kernel has handed one over, gives it back, and returns the frames
    /// seen; None when there is none. Frames that we sent ourselves are passed over.
    pub fn walk_block(&mut self, mut see: impl FnMut(Received<'_>)) -> Option<u64> {
        let start = self.next * BLOCK_BYTES;
        // SAFETY: the status word lies inside the mapping and is aligned; the kernel changes it, hence atomic.
        let status = unsafe { AtomicU32::from_ptr(self.memory.as_ptr().add(start + BLOCK_STATUS).cast()) };
        if status.load(Ordering::Acquire) & STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the block lies inside the mapping, and the kernel leaves it alone until its status is set back.
        let block = unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(start), BLOCK_BYTES) };
        let seen = walk(block, &mut see);
        status.store(STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        Some(seen)
    }

    /// Reads the kernel's counts and returns the totals. To be called at least once in 2^32 frames.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn statistics(&mut self, socket: &OwnedFd) -> Result<Statistics, SocketError> {
        // struct tpacket_stats_v3: packets, drops, freezes.
        let mut counts = [0u32; 3];
        let mut length = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the descriptor is open, and pointer and length describe `counts`.
        let code = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                PACKET_STATISTICS,
                counts.as_mut_ptr().cast(),
                &mut length,
            )
        };
        if code != 0 {
            return Err(kernel("read the packet socket's statistics", io::Error::last_os_error()));
        }
        self.statistics.add(counts[0], counts[1]);
        Ok(self.statistics)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`, which nothing borrows any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes()) };
    }
}

/// Walks the packets of one block; offsets that leave the block end the walk.
fn walk(block: &[u8], see: &mut impl FnMut(Received<'_>)) -> u64 {
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
        if header[PACKET_KIND] != KIND_OUTGOING {
            let at_ns = u64::from(word(PACKET_SECONDS)) * 1_000_000_000 + u64::from(word(PACKET_NANOSECONDS));
            see(Received { bytes, at_ns });
            seen += 1;
        }
        at += word(PACKET_NEXT) as usize;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p01_every_read_of_the_statistics_is_added() {
        let mut total = Statistics::default();
        for (packets, drops) in [(1000, 980), (0, 0), (5, 0)] {
            total.add(packets, drops);
        }
        assert_eq!(total, Statistics { packets: 1005, drops: 980 });
    }

    #[test]
    fn p02_the_kernels_packets_include_its_drops() {
        let mut total = Statistics::default();
        total.add(1000, 980);
        assert_eq!(total.packets - total.drops, 20, "the frames that were read");
    }

    fn block(packets: &[(&[u8], u8)], count: u32) -> Vec<u8> {
        let mut block = vec![0; 64];
        block[BLOCK_PACKETS..BLOCK_PACKETS + 4].copy_from_slice(&count.to_ne_bytes());
        block[BLOCK_FIRST..BLOCK_FIRST + 4].copy_from_slice(&48u32.to_ne_bytes());
        block.truncate(48);
        for (seconds, (bytes, kind)) in (1u32..).zip(packets) {
            let mut packet = vec![0; 80];
            packet[PACKET_SECONDS..PACKET_SECONDS + 4].copy_from_slice(&seconds.to_ne_bytes());
            packet[PACKET_NANOSECONDS..PACKET_NANOSECONDS + 4].copy_from_slice(&7u32.to_ne_bytes());
            packet[PACKET_CAPTURED..PACKET_CAPTURED + 4].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
            packet[PACKET_MAC..PACKET_MAC + 2].copy_from_slice(&80u16.to_ne_bytes());
            packet[PACKET_KIND] = *kind;
            packet.extend(*bytes);
            let next = packet.len() as u32;
            packet[PACKET_NEXT..PACKET_NEXT + 4].copy_from_slice(&next.to_ne_bytes());
            block.extend(packet);
        }
        block
    }

    fn frames(block: &[u8]) -> Vec<(Vec<u8>, u64)> {
        let mut all = Vec::new();
        walk(block, &mut |frame| all.push((frame.bytes.to_vec(), frame.at_ns)));
        all
    }

    #[test]
    fn packets_of_a_block_are_walked_with_their_stamps_and_without_our_own() {
        let block = block(&[(b"first", 0), (b"sent by us", KIND_OUTGOING), (b"third", 3)], 3);
        assert_eq!(frames(&block), [(b"first".to_vec(), 1_000_000_007), (b"third".to_vec(), 3_000_000_007)]);
    }

    #[test]
    fn a_block_that_promises_more_than_it_holds_ends_without_a_panic() {
        let whole = block(&[(b"first", 0), (b"second", 0)], u32::MAX);
        assert_eq!(frames(&whole).len(), 2);
        for length in 0..whole.len() {
            assert!(frames(&whole[..length]).len() <= 2);
        }
    }
}
