//! The receiving end of a run: a ring, a ledger for each stream, and what did not belong there.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::buckets::StampBuckets;
use super::digest::FrameDigest;
use super::frame::{Frames, Verdict};
use super::ledger::{Account, Ledger};
use super::ring::{Ring, Statistics};
use super::socket::{SocketError, bind_receiver, open_receiver, take_error};
use crate::nic::clock::realtime_offset_ns;
use crate::nic::interface::Interface;

/// A clock that was set by more than this during a run makes its stamps useless for rates.
const CLOCK_TOLERANCE_NS: i128 = 1_000_000;

/// Counts the frames of one run on one interface.
#[derive(Debug)]
pub struct Receiver {
    socket: OwnedFd,
    ring: Ring,
    frames: Frames,
    tally: Tally,
    clock_offset_ns: i128,
}

#[derive(Debug)]
struct Tally {
    ledgers: Vec<Ledger>,
    digests: Option<Vec<FrameDigest>>,
    intact: StampBuckets,
    foreign: u64,
}

/// A stream as the receiver saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamReceived {
    pub account: Account,
    /// Over all bytes of all own frames as they arrived, if asked for.
    pub digest: Option<FrameDigest>,
}

impl Receiver {
    /// Opens a ring of about `ring_bytes` and binds it; frames that arrive from now on are kept.
    ///
    /// # Errors
    /// CAP_NET_RAW or memory is missing, or the kernel refuses.
    pub fn open(
        interface: &Interface,
        frames: Frames,
        ring_bytes: usize,
        digest: bool,
    ) -> Result<Self, SocketError> {
        let socket = open_receiver()?;
        let ring = Ring::set_up(&socket, ring_bytes)?;
        bind_receiver(&socket, interface)?;
        let streams = usize::from(frames.streams());
        let tally = Tally {
            ledgers: vec![Ledger::default(); streams],
            digests: digest.then(|| vec![FrameDigest::default(); streams]),
            intact: StampBuckets::default(),
            foreign: 0,
        };
        Ok(Self { socket, ring, frames, tally, clock_offset_ns: realtime_offset_ns() })
    }

    /// Counts one block of frames, if one is there, and returns how many of them were our own.
    pub fn take_block(&mut self) -> Option<u64> {
        let (frames, tally) = (&self.frames, &mut self.tally);
        let mut own = 0;
        self.ring.walk_block(|received| {
            own += u64::from(tally.count(frames, received.bytes, received.at_ns));
        })?;
        Some(own)
    }

    /// Everything sent has arrived intact, given the sender's word for each stream.
    #[must_use]
    pub fn complete(&self, sent: &[Option<u64>]) -> bool {
        self.tally.ledgers.iter().zip(sent).all(|(ledger, sent)| *sent == Some(ledger.counts().intact))
    }

    /// Judges each stream against the sender's word.
    #[must_use]
    pub fn close(&self, sent: &[Option<u64>]) -> Vec<StreamReceived> {
        let word = |stream: usize| sent.get(stream).copied().flatten();
        (0..)
            .zip(&self.tally.ledgers)
            .map(|(stream, ledger)| StreamReceived {
                account: ledger.close(word(stream)),
                digest: self.tally.digests.as_ref().map(|all| all[stream]),
            })
            .collect()
    }

    /// New intact frames of all streams by their stamps.
    #[must_use]
    pub fn intact(&self) -> &StampBuckets {
        &self.tally.intact
    }

    /// Frames that were not ours: other protocols, other seeds.
    #[must_use]
    pub fn foreign(&self) -> u64 {
        self.tally.foreign
    }

    /// # Errors
    /// The kernel refuses.
    pub fn statistics(&mut self) -> Result<Statistics, SocketError> {
        self.ring.statistics(&self.socket)
    }

    #[must_use]
    pub fn ring_bytes(&self) -> usize {
        self.ring.bytes()
    }

    /// Takes the error that the socket holds, e.g. that the interface went down; true if there was one.
    pub fn take_error(&self) -> bool {
        take_error(&self.socket)
    }

    /// The clock of the stamps was set since the receiver was opened.
    #[must_use]
    pub fn clock_was_set(&self) -> bool {
        (realtime_offset_ns() - self.clock_offset_ns).abs() > CLOCK_TOLERANCE_NS
    }
}

impl Tally {
    /// Enters one frame; true when it was ours.
    fn count(&mut self, frames: &Frames, bytes: &[u8], at_ns: u64) -> bool {
        let stream = match frames.judge(bytes) {
            Verdict::Intact { stream, sequence, .. } => {
                if self.ledgers[usize::from(stream)].intact(sequence, at_ns) {
                    self.intact.count(at_ns);
                }
                stream
            }
            Verdict::Corrupted { stream } => {
                self.ledgers[usize::from(stream)].corrupted(at_ns);
                stream
            }
            Verdict::Foreign => {
                self.foreign += 1;
                return false;
            }
        };
        if let Some(digests) = &mut self.digests {
            digests[usize::from(stream)].add(&frames.without_stamp(bytes));
        }
        true
    }
}

/// Readable when a block is there.
impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
