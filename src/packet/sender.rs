//! The sending end of a run: batches by a schedule, and the interface's own count of what left.

use std::io;
use std::os::fd::OwnedFd;

use super::batch::Batch;
use super::digest::FrameDigest;
use super::frame::Frames;
use super::pace::Pace;
use super::socket::{SocketError, open_sender};
use super::watch::{Extent, Span, Watch};
use super::window::Window;
use crate::nic::accumulator::Accumulator;
use crate::nic::clock::{monotonic_ns, sleep_until_ns};
use crate::nic::counters::CounterSource;
use crate::nic::interface::{Interface, InterfaceError};

/// The interface took no frame for this long: it will not take any.
const STUCK_NS: u64 = 5_000_000_000;
/// After the last frame, before the total of frames that left is read: a card may still hold some.
const QUIET_NS: u64 = 20_000_000;

/// How to send; `pace` None is as fast as the interface takes them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    pub batch: u32,
    pub pace: Option<Pace>,
    pub extent: Extent,
    pub digest: bool,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// Frames of each stream that the kernel accepted, and their digest if asked for.
    pub streams: Vec<(u64, Option<FrameDigest>)>,
    /// Over the window after settling; None where it was never reached.
    pub left: Option<Window>,
    pub handed: Option<Window>,
    /// All frames that left from before the first to a quiet time after the last.
    pub left_total: u64,
    pub spans: Vec<Span>,
    /// Calls in which the kernel had no room (ENOBUFS, EAGAIN); the same frames went again.
    pub no_room: u64,
    /// Readings in which a counter of the interface went back: then `left` is a lower bound.
    pub backward_steps: u64,
    /// Frames the interface counted as dropped while sending; the veth driver drops and refuses at once.
    pub tx_dropped: u64,
    /// Ended before its plan: it was stopped, or fell too far behind its pace.
    pub cut_short: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    #[error("cannot read the interface's counters: {0}")]
    Counters(io::Error),
    #[error(
        "the kernel refuses a frame: {0}. Is the interface still there and up (`ip link`), its MTU large enough?"
    )]
    Refused(io::Error),
    #[error("the interface took no frame for {} s ({source}). Is the other end up and reading?", STUCK_NS / 1_000_000_000)]
    Stuck { source: io::Error },
}

/// An open sender on one interface.
pub struct Sender {
    socket: OwnedFd,
    counters: CounterSource,
    frames: Frames,
}

impl Sender {
    /// # Errors
    /// CAP_NET_RAW is missing, or the kernel refuses.
    pub fn open(interface: &Interface, frames: Frames) -> Result<Self, SendError> {
        let counters = CounterSource::open(&interface.name)?;
        Ok(Self { socket: open_sender(interface)?, counters, frames })
    }

    /// Sends by the plan. `stop` is asked about every 100 ms and ends the run early.
    ///
    /// # Errors
    /// The interface went away, is down or takes no frames, or its counters cannot be read.
    pub fn run(&mut self, plan: &Plan, stop: impl FnMut() -> bool) -> Result<Sent, SendError> {
        let baseline = self.counters.read().map_err(SendError::Counters)?;
        let run = Run {
            batch: Batch::new(&self.frames, plan.batch),
            handed: vec![0; usize::from(self.frames.streams())],
            digests: plan.digest.then(|| vec![FrameDigest::default(); usize::from(self.frames.streams())]),
            turn: 0,
            watch: Watch::new(Accumulator::new(baseline), baseline.at_ns(), plan.extent),
            no_room: 0,
            progress_ns: baseline.at_ns(),
            cut_short: false,
            socket: &self.socket,
            counters: &mut self.counters,
            frames: &self.frames,
            plan: *plan,
        };
        run.go(stop)
    }
}

/// A run under way.
struct Run<'a> {
    socket: &'a OwnedFd,
    counters: &'a mut CounterSource,
    frames: &'a Frames,
    plan: Plan,
    batch: Batch<'a>,
    /// Frames of each stream that the kernel accepted; also its next sequence number.
    handed: Vec<u64>,
    digests: Option<Vec<FrameDigest>>,
    /// The stream whose turn it is.
    turn: u16,
    watch: Watch,
    no_room: u64,
    /// When the kernel last accepted a frame.
    progress_ns: u64,
    cut_short: bool,
}

enum Next {
    Batch { stream: u16, count: u64 },
    Wait { until_ns: u64 },
    Done,
}

impl Run<'_> {
    fn go(mut self, mut stop: impl FnMut() -> bool) -> Result<Sent, SendError> {
        loop {
            let now = monotonic_ns();
            if now >= self.watch.next_look_ns() {
                self.look()?;
                if stop() {
                    self.cut_short = true;
                    break;
                }
            }
            if self.watch.over(now, self.plan.pace.is_some()) {
                break;
            }
            if self.batch.waiting().1 == 0 {
                match self.next(now) {
                    Next::Batch { stream, count } => {
                        let first = self.handed[usize::from(stream)];
                        let count = usize::try_from(count).unwrap_or(usize::MAX);
                        self.batch.fill(stream, first, count);
                    }
                    Next::Wait { until_ns } => {
                        sleep_until_ns(until_ns.min(self.watch.next_look_ns()));
                        self.progress_ns = now;
                        continue;
                    }
                    Next::Done => break,
                }
            }
            self.hand_over(now)?;
        }
        self.finish()
    }

    fn hand_over(&mut self, now: u64) -> Result<(), SendError> {
        let stream = usize::from(self.batch.waiting().0);
        match self.batch.hand_over(self.socket) {
            Ok(taken) => {
                self.handed[stream] += taken.len() as u64;
                self.progress_ns = now;
                if let Some(digests) = &mut self.digests {
                    taken.for_each(|place| digests[stream].add(&self.batch.pieces(place)));
                }
                Ok(())
            }
            Err(e) => match e.raw_os_error() {
                Some(libc::EINTR) => Ok(()),
                Some(libc::ENOBUFS | libc::EAGAIN) if now.saturating_sub(self.progress_ns) < STUCK_NS => {
                    self.no_room += 1;
                    // The queue's consumer may wait for this very CPU.
                    std::thread::yield_now();
                    Ok(())
                }
                Some(libc::ENOBUFS | libc::EAGAIN) => Err(SendError::Stuck { source: e }),
                _ => Err(SendError::Refused(e)),
            },
        }
    }

    /// The next frames to write; streams take turns.
    fn next(&mut self, now: u64) -> Next {
        let streams = self.frames.streams();
        let elapsed = now - self.watch.start_ns();
        let (mut wait_ns, mut left) = (u64::MAX, false);
        for _ in 0..streams {
            let stream = self.turn;
            self.turn = (self.turn + 1) % streams;
            let handed = self.handed[usize::from(stream)];
            let planned = self.planned(stream);
            if handed >= planned {
                continue;
            }
            left = true;
            let due = self.plan.pace.map_or(planned, |pace| pace.due(stream, elapsed).min(planned));
            if due > handed {
                return Next::Batch { stream, count: due - handed };
            }
            if let Some(pace) = self.plan.pace {
                wait_ns = wait_ns.min(pace.due_at_ns(stream, handed));
            }
        }
        match (left, self.watch.end_ns()) {
            (true, _) => Next::Wait { until_ns: self.watch.start_ns().saturating_add(wait_ns) },
            // All that was planned is sent; the window still runs to its end.
            (false, Some(end_ns)) if now < end_ns => Next::Wait { until_ns: end_ns },
            (false, _) => Next::Done,
        }
    }

    fn planned(&self, stream: u16) -> u64 {
        match (self.plan.extent, self.plan.pace) {
            (Extent::Frames(frames), _) => frames,
            (Extent::Time { .. }, None) => u64::MAX,
            (Extent::Time { settle_ns, duration_ns }, Some(pace)) => {
                pace.due(stream, settle_ns.saturating_add(duration_ns).saturating_sub(1))
            }
        }
    }

    fn look(&mut self) -> Result<(), SendError> {
        let reading = self.counters.read().map_err(SendError::Counters)?;
        self.watch.look(reading, self.handed.iter().sum());
        Ok(())
    }

    fn finish(mut self) -> Result<Sent, SendError> {
        // The loop's own look at the end may be a moment ago: a span of microseconds says nothing.
        if self.watch.misses(self.handed.iter().sum()) {
            self.look()?;
        }
        let planned = (0..).zip(&self.handed).all(|(stream, &handed)| match self.planned(stream) {
            u64::MAX => true,
            planned => handed == planned,
        });
        let (left, handed) = self.watch.windows();
        sleep_until_ns(monotonic_ns() + QUIET_NS);
        self.watch.add_quiet(self.counters.read().map_err(SendError::Counters)?);
        let total = self.watch.total();
        let mut digests = self.digests.map(IntoIterator::into_iter);
        Ok(Sent {
            streams: self.handed.iter().map(|&n| (n, digests.as_mut().and_then(Iterator::next))).collect(),
            left,
            handed,
            left_total: total.total().counters().tx_packets,
            spans: self.watch.spans().to_vec(),
            no_room: self.no_room,
            backward_steps: total.backward_steps(),
            tx_dropped: total.total().counters().tx_dropped,
            cut_short: self.cut_short || !planned,
        })
    }
}
