//! Frames of one stream, written once and handed to the kernel by sendmmsg.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::frame::Frames;

/// Largest batch; the kernel takes at most this many messages at once (UIO_MAXIOV).
pub const MOST_BATCH: u32 = 1024;

/// Room for a batch of frames and what sendmmsg needs to find them.
pub struct Batch {
    // The vectors point into each other's heap memory; none is ever resized.
    bytes: Vec<u8>,
    // Never read by us: the messages point at them.
    _vectors: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    frame_bytes: usize,
    stream: u16,
    /// Frames filled, and of those handed over.
    filled: usize,
    handed: usize,
}

impl Batch {
    /// Room for `most` frames of `frame_bytes` bytes each.
    #[must_use]
    pub fn new(frame_bytes: usize, most: u32) -> Self {
        let most = most.clamp(1, MOST_BATCH) as usize;
        let mut bytes = vec![0; frame_bytes * most];
        let mut vectors: Vec<libc::iovec> = bytes
            .chunks_exact_mut(frame_bytes)
            .map(|frame| libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() })
            .collect();
        let messages = vectors.iter_mut().map(message).collect();
        Self { bytes, _vectors: vectors, messages, frame_bytes, stream: 0, filled: 0, handed: 0 }
    }

    #[must_use]
    pub fn room(&self) -> usize {
        self.messages.len()
    }

    /// Writes `count` frames of a stream from the sequence number `first` on.
    pub fn fill(&mut self, frames: &Frames, stream: u16, first: u64, count: usize) {
        let count = count.min(self.room());
        for (sequence, out) in (first..).zip(self.bytes.chunks_exact_mut(self.frame_bytes).take(count)) {
            frames.write(stream, sequence, out);
        }
        (self.stream, self.filled, self.handed) = (stream, count, 0);
    }

    /// The stream of the frames that wait, and how many they are.
    #[must_use]
    pub fn waiting(&self) -> (u16, usize) {
        (self.stream, self.filled - self.handed)
    }

    /// Hands over what waits, as far as the kernel takes it, and returns the frames it took. What it
    /// did not take waits on, with its sequence numbers unchanged.
    ///
    /// # Errors
    /// The kernel took none; ENOBUFS, EAGAIN and EINTR mean: try again.
    pub fn hand_over(&mut self, socket: &OwnedFd) -> io::Result<&[u8]> {
        let waiting = &mut self.messages[self.handed..self.filled];
        if waiting.is_empty() {
            return Ok(&[]);
        }
        // SAFETY: the messages point at vectors and frames that live in `self` and were never moved.
        let taken = unsafe {
            libc::sendmmsg(socket.as_raw_fd(), waiting.as_mut_ptr(), waiting.len() as libc::c_uint, 0)
        };
        if taken < 0 {
            return Err(io::Error::last_os_error());
        }
        let from = self.handed;
        self.handed = (self.handed + taken as usize).min(self.filled);
        Ok(&self.bytes[from * self.frame_bytes..self.handed * self.frame_bytes])
    }
}

fn message(vector: &mut libc::iovec) -> libc::mmsghdr {
    // SAFETY: all-zero bytes are a valid mmsghdr with no address, no vectors and no control data.
    let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
    message.msg_hdr.msg_iov = vector;
    message.msg_hdr.msg_iovlen = 1;
    message
}

#[cfg(test)]
mod tests {
    use std::os::fd::FromRawFd;

    use super::*;

    /// A datagram pair stands for the interface: it keeps message bounds and can be full.
    fn pair() -> (OwnedFd, OwnedFd) {
        let mut fds = [0; 2];
        // SAFETY: `fds` has room for two descriptors, which then belong to nobody else.
        unsafe {
            let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK;
            assert_eq!(libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()), 0);
            (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1]))
        }
    }

    fn read(socket: &OwnedFd) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 2000];
        // SAFETY: pointer and length describe `bytes`.
        let length = unsafe { libc::read(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) };
        (length >= 0).then(|| bytes[..length as usize].to_vec())
    }

    #[test]
    fn what_a_full_socket_did_not_take_goes_again_with_the_same_sequence() {
        let (near, far) = pair();
        let frames = Frames::new(64, 2, 1).expect("in range");
        let mut batch = Batch::new(frames.bytes(), MOST_BATCH);
        batch.fill(&frames, 1, 100, 600);
        let (mut handed, mut arrived, mut refused) = (0, 0u64, 0);
        while batch.waiting().1 > 0 {
            match batch.hand_over(&near) {
                Ok(bytes) => handed += bytes.len() / frames.bytes(),
                Err(e) => {
                    assert_eq!(e.raw_os_error(), Some(libc::EAGAIN));
                    refused += 1;
                    let frame = read(&far).expect("a full socket has something to read");
                    let expected =
                        super::super::frame::Verdict::Intact { stream: 1, sequence: 100 + arrived };
                    assert_eq!(frames.judge(&frame), expected);
                    arrived += 1;
                }
            }
        }
        assert!(refused > 0, "the socket was never full, so nothing was tried");
        while read(&far).is_some() {
            arrived += 1;
        }
        assert_eq!((handed, arrived), (600, 600));
    }
}
