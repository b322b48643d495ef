//! Frames received by recvmmsg, each with its stamp in a control message.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::drops::Statistics;
use super::ingress::{Arrived, Ingress, StampSource, Stamps};
use super::socket::{SocketError, bind_receiver, kernel, open_receiver, set};
use crate::nic::interface::Interface;

/// Frames taken by one system call.
const BATCH: usize = 64;
/// Room for each frame: the largest of ours and some, so that one that is too long is seen to be.
const FRAME_ROOM: usize = 2048;
/// Room for SCM_TIMESTAMPING: a header of 16 bytes and three times of 16, of which the card's is the
/// third. SCM_TIMESTAMPNS holds one time.
const CONTROL_ROOM: usize = 64;
const CONTROL_HEADER: usize = size_of::<libc::cmsghdr>();
const TIME: usize = size_of::<libc::timespec>();

/// A socket of its own on one interface, and room for a batch. It hears all queues.
pub struct Datagrams {
    socket: OwnedFd,
    // The messages point at the vectors and at the controls, and the vectors at the frames; none of
    // the four is ever resized.
    frames: Vec<u8>,
    controls: Vec<u64>,
    _vectors: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    statistics: Statistics,
    stamps: Stamps,
    buffer_bytes: usize,
}

// SAFETY: all pointers lead into memory that this value owns, and none is tied to a thread.
unsafe impl Send for Datagrams {}

impl Datagrams {
    /// Binds a socket with a receive buffer of `bytes`, or as much as an ordinary user gets;
    /// `bytes()` tells what came of it. Frames that arrive from now on are kept.
    ///
    /// # Errors
    /// CAP_NET_RAW is missing, or the kernel refuses.
    pub fn open(interface: &Interface, bytes: usize, stamps: Stamps) -> Result<Self, SocketError> {
        let socket = open_receiver()?;
        let buffer_bytes = enlarge(&socket, bytes)?;
        let asked = match stamps {
            Stamps::None => Ok(()),
            // Not SO_TIMESTAMPING: the kernel begins to stamp a moment after it was asked, and only with
            // this option does it give a frame from before that the time of its hand-over.
            Stamps::Software => set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1i32),
            Stamps::Hardware => {
                let card = libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
                set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &(card as i32))
            }
        };
        asked.map_err(|e| kernel("ask for receive stamps", e))?;
        bind_receiver(&socket, interface)?;
        let mut frames = vec![0; FRAME_ROOM * BATCH];
        let mut controls = vec![0u64; CONTROL_ROOM / 8 * BATCH];
        let mut vectors: Vec<_> = frames
            .chunks_exact_mut(FRAME_ROOM)
            .map(|room| libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: FRAME_ROOM })
            .collect();
        let messages = vectors
            .iter_mut()
            .zip(controls.chunks_exact_mut(CONTROL_ROOM / 8))
            .map(|(vector, control)| message(vector, control))
            .collect();
        let statistics = Statistics::default();
        Ok(Self { socket, frames, controls, _vectors: vectors, messages, statistics, stamps, buffer_bytes })
    }

    /// Bytes that the receive buffer may hold, by the kernel's own reckoning, in which a small frame
    /// takes many times its length.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.buffer_bytes
    }
}

impl Ingress for Datagrams {
    fn take(&mut self, see: &mut dyn FnMut(Arrived<'_>)) -> io::Result<Option<usize>> {
        for message in &mut self.messages {
            // The kernel wrote how much it used.
            message.msg_hdr.msg_controllen = CONTROL_ROOM;
        }
        // SAFETY: the messages point at vectors, frames and controls of `self`, which were never moved
        // and which nothing borrows during the call.
        let taken = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        if taken < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(None),
                _ => Err(error),
            };
        }
        let rooms = self.frames.chunks_exact(FRAME_ROOM).zip(self.controls.chunks_exact(CONTROL_ROOM / 8));
        for (message, (frame, control)) in self.messages[..taken as usize].iter().zip(rooms) {
            let bytes = &frame[..(message.msg_len as usize).min(FRAME_ROOM)];
            let used = (message.msg_hdr.msg_controllen / 8).min(control.len());
            see(Arrived { bytes, at_ns: stamp(&control[..used], self.stamps) });
        }
        Ok(Some(taken as usize))
    }

    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn drops(&mut self) -> io::Result<u64> {
        self.statistics.read(&self.socket)?;
        Ok(self.statistics.drops)
    }

    fn stamps(&self) -> StampSource {
        if self.stamps == Stamps::Hardware { StampSource::Hardware } else { StampSource::Kernel }
    }
}

fn enlarge(socket: &OwnedFd, bytes: usize) -> Result<usize, SocketError> {
    let size = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // Without CAP_NET_ADMIN in the first user namespace only up to net.core.rmem_max.
    if set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &size).is_err() {
        set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &size)
            .map_err(|e| kernel("enlarge the receive buffer", e))?;
    }
    let mut got: libc::c_int = 0;
    let mut length = size_of_val(&got) as libc::socklen_t;
    // SAFETY: the descriptor is open, and pointer and length describe `got`.
    let code = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUF,
            (&raw mut got).cast(),
            &mut length,
        )
    };
    if code != 0 {
        return Err(kernel("read the size of the receive buffer", io::Error::last_os_error()));
    }
    // The kernel doubles what it was asked for, for its own use (socket(7)).
    Ok(usize::try_from(got).unwrap_or(0) / 2)
}

fn message(vector: &mut libc::iovec, control: &mut [u64]) -> libc::mmsghdr {
    // SAFETY: all-zero bytes are a valid mmsghdr with no address, no vectors and no control data.
    let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
    message.msg_hdr.msg_iov = vector;
    message.msg_hdr.msg_iovlen = 1;
    message.msg_hdr.msg_control = control.as_mut_ptr().cast();
    message
}

/// The stamp that was asked for, in nanoseconds, out of control messages, which are made of words of
/// eight bytes; None where it is not there.
fn stamp(control: &[u64], stamps: Stamps) -> Option<u64> {
    let (wanted, time) = match stamps {
        Stamps::None => return None,
        Stamps::Software => (libc::SCM_TIMESTAMPNS, CONTROL_HEADER),
        Stamps::Hardware => (libc::SCM_TIMESTAMPING, CONTROL_HEADER + 2 * TIME),
    };
    let word = |at: usize| control.get(at / 8).copied();
    let mut at = 0;
    loop {
        let length = usize::try_from(word(at)?).ok().filter(|length| *length >= CONTROL_HEADER)?;
        let [level, kind] = halves(word(at + 8)?);
        if (level, kind) == (libc::SOL_SOCKET, wanted) && length >= time + TIME {
            let (seconds, ns) = (word(at + time)?, word(at + time + 8)?);
            // A time that nobody gave is zero.
            return Some(seconds.checked_mul(1_000_000_000)?.checked_add(ns)?).filter(|ns| *ns > 0);
        }
        at = at.checked_add(length.checked_next_multiple_of(8)?)?;
    }
}

fn halves(word: u64) -> [libc::c_int; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [libc::c_int::from_ne_bytes([a, b, c, d]), libc::c_int::from_ne_bytes([e, f, g, h])]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(length: u64, level: libc::c_int, kind: libc::c_int) -> [u64; 2] {
        let [a, b, c, d] = level.to_ne_bytes();
        let [e, f, g, h] = kind.to_ne_bytes();
        [length, u64::from_ne_bytes([a, b, c, d, e, f, g, h])]
    }

    #[test]
    fn each_stamp_is_found_in_its_own_control_message() {
        let other = header(20, libc::SOL_PACKET, 8);
        let kernels = header(32, libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS);
        let cards = header(64, libc::SOL_SOCKET, libc::SCM_TIMESTAMPING);
        let control = [&other[..], &[7], &kernels, &[3, 5], &cards, &[4, 4, 0, 0, 9, 1]].concat();
        assert_eq!(stamp(&control, Stamps::Software), Some(3_000_000_005));
        assert_eq!(stamp(&control, Stamps::Hardware), Some(9_000_000_001));
        assert_eq!(stamp(&control, Stamps::None), None);
        for length in 0..control.len() {
            assert_eq!(stamp(&control[..length], Stamps::Hardware), None, "cut to {length} words");
        }
    }

    #[test]
    fn a_time_that_nobody_gave_is_no_stamp() {
        let times = header(64, libc::SOL_SOCKET, libc::SCM_TIMESTAMPING);
        let veth = [&times[..], &[3, 5, 0, 0, 0, 0]].concat();
        assert_eq!(stamp(&veth, Stamps::Hardware), None);
        for wrong in [header(0, 1, 35), header(15, 1, 35), header(u64::MAX, 1, 1), header(64, 1, 36)] {
            assert_eq!(stamp(&[&wrong[..], &[1; 6]].concat(), Stamps::Software), None, "{wrong:?}");
        }
    }
}
