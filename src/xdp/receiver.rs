//! Frames into the queues of one interface by AF_XDP.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

use super::error::XdpError;
use super::options::{RECEIVER_RING, XdpGot, XdpOptions, XdpStatistics};
use super::redirect::{Loaded, Redirect, STAMP_BYTES};
use super::ring::{Descriptor, Emptied};
use super::socket::{CHUNK, Direction, Socket, Way};
use crate::nic::clock::realtime_ns;
use crate::nic::interface::Interface;
use crate::packet::ingress::{Arrived, Ingress, StampSource};

/// Frames shown by one call.
const BATCH: u32 = 256;
/// Looking again for 50 us before sleeping: each wake-up is paid by the sender's CPU on veth, and one
/// for each burst cut its rate to a third.
const SPIN_NS: u64 = 50_000;

/// A receiver on one queue. The program stays attached until the last receiver of its interface is gone.
#[derive(Debug)]
pub struct XdpReceiver {
    socket: Socket,
    ring: Emptied<Descriptor>,
    redirect: Arc<Redirect>,
    queue: u32,
}

impl XdpReceiver {
    /// Opens one receiver for each of `queues`, in their order, behind one program; needs CAP_BPF and
    /// CAP_NET_ADMIN in the first user namespace and CAP_NET_RAW. Frames of other queues pass by.
    ///
    /// # Errors
    /// The link is down, a queue is absent or taken, another program is attached, the driver has no
    /// zero-copy, no native programs or no stamps, the MTU is too large, rights or memory lack.
    pub fn open_all(
        interface: &Interface,
        queues: &[u32],
        options: &XdpOptions,
    ) -> Result<Vec<Self>, XdpError> {
        let most = match queues.iter().max() {
            Some(most) if queues.iter().enumerate().all(|(i, queue)| !queues[..i].contains(queue)) => most,
            _ => {
                let wanted = format!("expected one or more queues, each once, found {queues:?}");
                return Err(XdpError::Unsuited { interface: interface.name.clone(), wanted });
            }
        };
        // Rights are asked for first, and the interface is touched last.
        Self::behind(Loaded::new(interface, most + 1, options)?, interface, queues, options)
    }

    /// Opens the sockets behind a program that is loaded for as many queues.
    ///
    /// # Errors
    /// As for `open_all`.
    pub fn behind(
        loaded: Loaded,
        interface: &Interface,
        queues: &[u32],
        options: &XdpOptions,
    ) -> Result<Vec<Self>, XdpError> {
        let open = |&queue| {
            Socket::open(interface, queue, Direction::Receive, RECEIVER_RING, options)
                .map(|(socket, way)| (queue, socket, way))
        };
        let sockets: Vec<_> = queues.iter().map(open).collect::<Result<_, _>>()?;
        let redirect = Arc::new(loaded.attach(interface, options.attach)?);
        let mut receivers = Vec::new();
        for (queue, socket, way) in sockets {
            let Way::Receive(ring) = way else {
                unreachable!("a socket opened to receive has a ring for it")
            };
            redirect.steer(interface, queue, socket.as_fd())?;
            receivers.push(Self { socket, ring, redirect: Arc::clone(&redirect), queue });
        }
        Ok(receivers)
    }

    #[must_use]
    pub fn queue(&self) -> u32 {
        self.queue
    }

    /// What the kernel gave.
    #[must_use]
    pub fn got(&self) -> XdpGot {
        XdpGot {
            zero_copy: self.socket.zero_copy,
            native: Some(self.redirect.native),
            ring: self.socket.slots,
        }
    }

    /// # Errors
    /// The kernel refuses.
    pub fn statistics(&self) -> io::Result<XdpStatistics> {
        self.socket.statistics()
    }

    /// A driver that waits for memory looks for it again.
    fn wake(&self) {
        // SAFETY: an empty message without an address; no pointer is followed.
        unsafe {
            let (nothing, flags) = (std::ptr::null_mut(), libc::MSG_DONTWAIT);
            libc::recvfrom(
                self.socket.fd.as_raw_fd(),
                nothing,
                0,
                flags,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            );
        }
    }

    /// The driver's stamp, which the program has put before a frame.
    fn card_stamp(&mut self, at: usize) -> Option<u64> {
        let before = at.checked_sub(STAMP_BYTES)?;
        let frames = &mut self.socket.frames;
        let (at_ns, code) = (frames.get::<u64>(before), frames.get::<u64>(before + 8));
        // A later frame that comes here without a stamp must not show this one.
        frames.put(before + 8, u64::MAX);
        stamp_of(at_ns, code)
    }
}

/// What the program says of a stamp. An error and a zero both mean that the frame has none.
fn stamp_of(at_ns: u64, code: u64) -> Option<u64> {
    (code == 0 && at_ns != 0).then_some(at_ns)
}

impl Ingress for XdpReceiver {
    fn take(&mut self, see: &mut dyn FnMut(Arrived<'_>)) -> io::Result<Option<usize>> {
        let count = self.ring.waiting().min(BATCH);
        if count == 0 {
            if self.socket.fill.needs_wakeup() {
                self.wake();
            }
            return Ok(None);
        }
        let batch_ns = realtime_ns();
        for _ in 0..count {
            let frame = self.ring.take();
            let at = frame.address as usize;
            let at_ns = if self.redirect.stamps { self.card_stamp(at) } else { Some(batch_ns) };
            let bytes = self.socket.frames.bytes(at, frame.length as usize);
            see(Arrived { bytes: bytes.unwrap_or_default(), at_ns });
            self.socket.fill.put(frame.address & !u64::from(CHUNK - 1));
        }
        self.socket.fill.publish();
        self.ring.release();
        if self.socket.fill.needs_wakeup() {
            self.wake();
        }
        Ok(Some(count as usize))
    }

    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn drops(&mut self) -> io::Result<u64> {
        Ok(self.statistics()?.drops())
    }

    fn spin_ns(&self) -> u64 {
        SPIN_NS
    }

    fn stamps(&self) -> StampSource {
        if self.redirect.stamps { StampSource::Hardware } else { StampSource::Program }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_and_a_zero_are_no_stamps() {
        let refused = i64::from(-libc::ENODATA) as u64;
        assert_eq!(stamp_of(1_700_000_000_000_000_000, 0), Some(1_700_000_000_000_000_000));
        assert_eq!([stamp_of(0, 0), stamp_of(5, refused), stamp_of(0, refused)], [None; 3]);
    }
}
