//! Frames out of one queue by AF_XDP.

use std::io;
use std::os::fd::AsRawFd;

use super::error::XdpError;
use super::options::{SENDER_RING, XdpGot, XdpOptions, XdpStatistics};
use super::ring::{Descriptor, Filled};
use super::socket::{CHUNK, Direction, Socket, Way};
use crate::nic::interface::Interface;
use crate::packet::egress::Egress;
use crate::packet::frame::Frames;

/// Bytes of a frame before what the MTU counts: two addresses and the ethertype.
const ETHERNET: usize = 14;

/// A sender on one queue.
///
/// That the kernel took a frame does not mean that it left: a veth pair whose other end is full drops
/// it without a word, and only the interface's counters tell.
#[derive(Debug)]
pub struct XdpSender {
    socket: Socket,
    ring: Filled<Descriptor>,
    /// Offsets of memory that the kernel does not hold.
    free: Vec<u64>,
    waiting: usize,
    /// The kernel's position when it was last asked.
    taken: u32,
    mtu: usize,
    too_long: bool,
}

impl XdpSender {
    /// Opens a sender on a queue; needs CAP_NET_RAW in the network namespace and no program.
    ///
    /// # Errors
    /// The link is down, the queue is absent or taken, the driver has no zero-copy, rights or memory lack.
    pub fn open(interface: &Interface, queue: u32, options: &XdpOptions) -> Result<Self, XdpError> {
        let (socket, way) = Socket::open(interface, queue, Direction::Send, SENDER_RING, options)?;
        let Way::Send(ring) = way else { unreachable!("a socket opened to send has a ring to send") };
        let free = (0..u64::from(socket.slots)).rev().map(|slot| slot * u64::from(CHUNK)).collect();
        let taken = ring.taken();
        let mtu = interface.mtu as usize;
        Ok(Self { socket, ring, free, waiting: 0, taken, mtu, too_long: false })
    }

    /// What the kernel gave.
    #[must_use]
    pub fn got(&self) -> XdpGot {
        XdpGot { zero_copy: self.socket.zero_copy, native: None, ring: self.socket.slots }
    }

    /// # Errors
    /// The kernel refuses.
    pub fn statistics(&self) -> io::Result<XdpStatistics> {
        self.socket.statistics()
    }

    /// Frames that the kernel took and has not reported as done.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.socket.slots as usize - self.free.len() - self.waiting
    }

    /// Takes back the memory of frames that are done.
    fn reap(&mut self) {
        let done = self.socket.completion.waiting();
        for _ in 0..done {
            self.free.push(self.socket.completion.take());
        }
        if done > 0 {
            self.socket.completion.release();
        }
    }

    fn kick(&self) -> io::Result<()> {
        // SAFETY: an empty message without an address; no pointer is followed.
        let code = unsafe {
            let (nothing, flags) = (std::ptr::null(), libc::MSG_DONTWAIT);
            libc::sendto(self.socket.fd.as_raw_fd(), nothing, 0, flags, std::ptr::null(), 0)
        };
        if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Egress for XdpSender {
    fn fill(&mut self, frames: &Frames, stream: u16, first: u64, count: usize) -> usize {
        if self.free.len() < count {
            self.reap();
        }
        let count = count.min(self.free.len()).min(self.ring.room() as usize);
        self.too_long |= count > 0 && frames.most_bytes() > self.mtu + ETHERNET;
        for sequence in (first..).take(count) {
            let Some(address) = self.free.pop() else { break };
            let length = frames.bytes(sequence);
            let chunk = self.socket.frames.bytes_mut(address as usize, length);
            frames.write(stream, sequence, chunk.expect("a chunk of our own memory"));
            self.ring.put(Descriptor { address, length: length as u32, options: 0 });
        }
        self.waiting += count;
        count
    }

    fn waiting(&self) -> usize {
        self.waiting
    }

    fn hand_over(&mut self) -> io::Result<usize> {
        if self.too_long {
            // The driver would drop such frames and say nothing.
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        self.ring.publish();
        let busy = self.waiting > 0 || self.under_way() > 0;
        let kicked = if busy && self.ring.needs_wakeup() { self.kick() } else { Ok(()) };
        self.reap();
        let position = self.ring.taken();
        let taken = position.wrapping_sub(self.taken) as usize;
        self.taken = position;
        self.waiting -= taken.min(self.waiting);
        if taken > 0 || self.waiting == 0 {
            return Ok(taken);
        }
        // A full queue stops the kernel after it took some; only a call that took none is told.
        kicked?;
        Err(io::Error::from_raw_os_error(libc::EAGAIN))
    }
}
