//! The receiving end of a run: a thread for every way in, and one account of what they took.

use std::io::{self, PipeWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use super::frame::Frames;
use super::ingress::{Ingress, StampSource};
use super::intake::{Desk, Ending, Pulse, work};
use super::tally::{Seen, Stream, Tally};
use crate::nic::clock::realtime_offset_ns;

/// A clock that was set by more than this during a run makes its stamps useless for rates.
const CLOCK_TOLERANCE_NS: i128 = 1_000_000;

/// An open way in, and the queue whose frames it takes; None where it hears all queues.
pub struct Way {
    pub queue: Option<u32>,
    pub ingress: Box<dyn Ingress>,
}

/// What to do with the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Digest all bytes of own frames.
    pub digest: bool,
    /// Count frames of our ethertypes and nothing more.
    pub count_only: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    #[error("cannot start a receiving thread: {0}")]
    Start(io::Error),
    #[error("the kernel refuses to go on receiving{}: {source}. Is the interface still there (`ip link`)?", on(*queue))]
    Refused { queue: Option<u32>, source: io::Error },
    #[error("a receiving thread{} ended by a bug of ours; please report it with the command that showed it", on(*queue))]
    Bug { queue: Option<u32> },
}

fn on(queue: Option<u32>) -> String {
    queue.map_or_else(String::new, |queue| format!(" on queue {queue}"))
}

/// Receives from the moment it is started.
pub struct Receiver {
    tally: Arc<Tally>,
    frames: Frames,
    plan: Plan,
    threads: Vec<Thread>,
    asked: Arc<AtomicBool>,
    /// Hangs up on every thread when dropped, so that those asleep wake.
    alarm: Option<PipeWriter>,
    stamps: StampSource,
    clock_offset_ns: i128,
}

struct Thread {
    queue: Option<u32>,
    pulse: Arc<Pulse>,
    /// None once it was waited for.
    handle: Option<JoinHandle<io::Result<Seen>>>,
}

/// Where a receiver stands, as totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    pub own: u64,
    pub foreign: u64,
    pub drops: u64,
    pub link_errors: u64,
    /// CLOCK_MONOTONIC when a first and a last frame of ours was taken.
    pub first_own_ns: Option<u64>,
    pub last_own_ns: Option<u64>,
}

/// What a receiver leaves.
#[derive(Debug, Clone)]
pub struct Received {
    /// Accounts of the streams; empty where frames were only counted.
    pub streams: Vec<Stream>,
    /// Own frames of each stream by the queue that they came in on.
    pub queues: Vec<(Option<u32>, Vec<u64>)>,
    /// By all threads together.
    pub seen: Seen,
    pub progress: Progress,
    pub stamps: StampSource,
    /// CLOCK_REALTIME was set while this receiver ran.
    pub clock_was_set: bool,
}

impl Receiver {
    /// Starts a thread for every way in; all of them are open already.
    ///
    /// # Errors
    /// The kernel gives no thread or no pipe.
    pub fn start(ways: Vec<Way>, frames: Frames, plan: Plan) -> Result<Self, ReceiveError> {
        let (reader, writer) = io::pipe().map_err(ReceiveError::Start)?;
        let tally = Arc::new(Tally::new(frames.clone()));
        let mut receiver = Self {
            tally,
            frames,
            plan,
            threads: Vec::new(),
            asked: Arc::default(),
            alarm: Some(writer),
            stamps: ways.first().map_or(StampSource::Program, |way| way.ingress.stamps()),
            clock_offset_ns: realtime_offset_ns(),
        };
        for Way { queue, ingress } in ways {
            let alarm = reader.try_clone().map_err(ReceiveError::Start)?;
            let ending = Ending { asked: Arc::clone(&receiver.asked), alarm };
            let desk = Desk::of(&receiver.frames, &receiver.tally, plan);
            let pulse = Arc::new(Pulse::default());
            let told = Arc::clone(&pulse);
            let name = queue.map_or_else(|| "receive".to_owned(), |queue| format!("receive-{queue}"));
            let handle = thread::Builder::new()
                .name(name)
                .spawn(move || work(ingress, &desk, &told, &ending))
                .map_err(ReceiveError::Start)?;
            receiver.threads.push(Thread { queue, pulse, handle: Some(handle) });
        }
        Ok(receiver)
    }

    #[must_use]
    pub fn progress(&self) -> Progress {
        let mut sum = Progress::default();
        for Thread { pulse, .. } in &self.threads {
            let read = |count: &AtomicU64| count.load(Ordering::Acquire);
            sum.own += read(&pulse.own);
            sum.foreign += read(&pulse.foreign);
            sum.drops += read(&pulse.drops);
            sum.link_errors += read(&pulse.link_errors);
            let instant = |ns: u64| Some(ns).filter(|ns| *ns > 0);
            sum.last_own_ns = sum.last_own_ns.max(instant(read(&pulse.last_own_ns)));
            let first = instant(read(&pulse.first_own_ns));
            sum.first_own_ns = sum.first_own_ns.into_iter().chain(first).min();
        }
        sum
    }

    /// Everything sent has arrived, given the sender's word for each stream: intact, or in number where
    /// frames are only counted.
    #[must_use]
    pub fn complete(&self, sent: &[Option<u64>]) -> bool {
        if self.plan.count_only {
            let sent: Option<u64> = sent.iter().copied().sum();
            return sent.is_some_and(|sent| self.progress().own >= sent);
        }
        self.tally.complete(sent)
    }

    /// Sequence numbers missing so far below the highest seen.
    #[must_use]
    pub fn gaps(&self) -> u64 {
        self.tally.gaps()
    }

    /// Whether a thread has ended by itself, which it does only on a fault; `stop` tells which.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.threads.iter().any(|thread| thread.handle.as_ref().is_some_and(JoinHandle::is_finished))
    }

    /// Ends all threads and returns what they saw.
    ///
    /// # Errors
    /// One of them could not go on; the first fault is told.
    pub fn stop(mut self) -> Result<Received, ReceiveError> {
        self.ask();
        let mut queues = Vec::new();
        let mut sum = Seen::new(self.frames.streams(), self.plan.digest);
        for Thread { queue, handle, .. } in &mut self.threads {
            let queue = *queue;
            let Some(handle) = handle.take() else { continue };
            let seen = handle
                .join()
                .map_err(|_| ReceiveError::Bug { queue })?
                .map_err(|source| ReceiveError::Refused { queue, source })?;
            sum.add(&seen);
            queues.push((queue, seen.streams));
        }
        Ok(Received {
            streams: self.tally.streams(),
            queues,
            seen: sum,
            progress: self.progress(),
            stamps: self.stamps,
            clock_was_set: (realtime_offset_ns() - self.clock_offset_ns).abs() > CLOCK_TOLERANCE_NS,
        })
    }

    fn ask(&mut self) {
        self.asked.store(true, Ordering::Relaxed);
        self.alarm = None;
    }
}

/// No thread outlives its receiver, whichever way that ends.
impl Drop for Receiver {
    fn drop(&mut self) {
        self.ask();
        for thread in self.threads.iter_mut().filter_map(|thread| thread.handle.take()) {
            let _ = thread.join();
        }
    }
}
