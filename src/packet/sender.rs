//! The sending end of a run: threads that send, and one watcher of the interface's own count.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::bound::{BoundBy, Spent};
use super::cpu::{self, CpuError, bind_thread};
use super::egress::Egress;
use super::frame::Frames;
use super::gate::Gate;
use super::lane::{Handed, Lane, LaneSent, STUCK_NS, Stream, StreamSent};
use super::pace::Pace;
use super::schedule::{Extent, Schedule};
use super::watch::{Span, Watch, Windows};
use crate::model::frame_size::FCS_BYTES;
use crate::nic::accumulator::Accumulator;
use crate::nic::clock::{monotonic_ns, sleep_until_ns};
use crate::nic::counters::{CounterSource, Reading};
use crate::nic::interface::{Interface, InterfaceError};

/// Longest time between two questions whether to stop.
const ASK_EVERY_NS: u64 = 100_000_000;
/// After the last frame, before the total of frames that left is read: a card may still hold some.
const QUIET_NS: u64 = 20_000_000;
/// Bytes of the Ethernet header, which an MTU does not count.
const ETHERNET_HEADER: u32 = 14;

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
    pub streams: Vec<StreamSent>,
    /// Over the window after settling; None inside where it was never reached.
    pub windows: Windows,
    /// All frames that left from before the first to a quiet time after the last.
    pub left_total: u64,
    pub spans: Vec<Span>,
    /// Readings in which a counter of the interface went back: then `left` is a lower bound.
    pub backward_steps: u64,
    /// Calls in which the kernel had no room; the same frames went again.
    pub no_room: u64,
    /// Frames the interface counted as dropped while sending; the veth driver drops and refuses at once.
    pub tx_dropped: u64,
    /// Ended before its plan: it was stopped, or fell too far behind its pace.
    pub cut_short: bool,
    pub bound_by: BoundBy,
}

/// A run under way, as the watcher sees it.
#[derive(Debug, Clone, Copy)]
pub struct Glance<'a> {
    /// Since the start of traffic.
    pub at_ns: u64,
    /// Frames of each stream that the kernel has accepted.
    pub handed: &'a [u64],
    /// Frames that have left, as of the last reading.
    pub left: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    #[error(transparent)]
    Cpu(#[from] CpuError),
    #[error(
        "the largest frame is {frame} bytes with FCS and needs an MTU of {needed}; that of {interface} is {mtu}. \
         Set it by `ip link set {interface} mtu {needed}`, or send frames of at most {largest} bytes"
    )]
    Mtu { interface: String, frame: u32, needed: u32, mtu: u32, largest: u32 },
    #[error("cannot read the interface's counters: {0}")]
    Counters(io::Error),
    #[error("cannot start a thread for each stream: {0}")]
    Thread(io::Error),
    #[error(
        "the kernel refuses a frame: {0}. Is the interface still there and up (`ip link`), its MTU large enough?"
    )]
    Refused(io::Error),
    #[error("the interface took no frame for {} s ({source}). Is the other end up and reading?", STUCK_NS / 1_000_000_000)]
    Stuck { source: io::Error },
}

/// An open sender on one interface. Stream n takes way n, or way n modulo their number where they are
/// fewer; every way has a thread of its own.
pub struct Sender {
    frames: Arc<Frames>,
    ways: Vec<Box<dyn Egress>>,
    cpus: Vec<usize>,
    counters: CounterSource,
}

impl Sender {
    /// A sender of `frames` by `ways`, at least one. `check_mtu` comes before. `cpus` are those that the
    /// threads of the ways are bound to, in their order; empty: wherever the scheduler puts them.
    ///
    /// # Errors
    /// A CPU is not there or lacks, or the interface's counters are not to be had.
    pub fn new(
        interface: &Interface,
        frames: Arc<Frames>,
        ways: Vec<Box<dyn Egress>>,
        cpus: Vec<usize>,
    ) -> Result<Self, SendError> {
        assert!(!ways.is_empty(), "a sender needs a way out");
        cpu::check(&cpus, ways.len())?;
        Ok(Self { frames, ways, cpus, counters: CounterSource::open(&interface.name)? })
    }

    /// Sends by the plan. `tell` is told about every 100 ms how it goes, and ends the run by `true`.
    ///
    /// # Errors
    /// The interface went away, is down or takes no frames, or its counters cannot be read.
    pub fn run(&mut self, plan: &Plan, tell: impl FnMut(Glance<'_>) -> bool) -> Result<Sent, SendError> {
        let handed: Vec<Handed> = (0..self.frames.streams()).map(|_| Handed::default()).collect();
        let (gate, stop, look_ns) = (Gate::default(), AtomicBool::new(false), AtomicU64::new(u64::MAX));
        let lanes = self.ways.len();
        let (note, notes) = sync_channel(2 * lanes);
        let shared = Shared {
            frames: &self.frames,
            plan,
            handed: &handed,
            lanes,
            gate: &gate,
            stop: &stop,
            look_ns: &look_ns,
        };
        thread::scope(|scope| {
            // However this ends, the threads end with it.
            let _ended = Ended(&shared);
            for (lane, way) in self.ways.iter_mut().enumerate() {
                let (shared, note, cpu) = (&shared, note.clone(), self.cpus.get(lane).copied());
                thread::Builder::new()
                    .name(format!("sender {lane}"))
                    .spawn_scoped(scope, move || shared.send(lane, cpu, way.as_mut(), &note))
                    .map_err(SendError::Thread)?;
            }
            drop(note);
            Watcher { shared: &shared, counters: &mut self.counters, notes }.watch(tell)
        })
    }
}

/// Whether the interface takes the largest of the frames.
///
/// # Errors
/// It does not.
pub fn check_mtu(interface: &Interface, frames: &Frames) -> Result<(), SendError> {
    let frame = frames.most_bytes() as u32 + FCS_BYTES;
    let overhead = ETHERNET_HEADER + FCS_BYTES;
    if frame <= interface.mtu.saturating_add(overhead) {
        return Ok(());
    }
    Err(SendError::Mtu {
        interface: interface.name.clone(),
        frame,
        needed: frame - overhead,
        mtu: interface.mtu,
        largest: interface.mtu + overhead,
    })
}

/// What all threads of a run share.
struct Shared<'a> {
    frames: &'a Frames,
    plan: &'a Plan,
    /// Of each stream.
    handed: &'a [Handed],
    lanes: usize,
    gate: &'a Gate,
    stop: &'a AtomicBool,
    /// When the watcher wants to look next.
    look_ns: &'a AtomicU64,
}

/// What a thread tells the watcher.
enum Note {
    Ready,
    Ended(Result<LaneSent, SendError>),
}

struct Ended<'a>(&'a Shared<'a>);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
        self.0.gate.call_off();
    }
}

impl Shared<'_> {
    /// The thread of one lane.
    fn send(&self, lane: usize, cpu: Option<usize>, way: &mut dyn Egress, note: &SyncSender<Note>) {
        // Nobody reads a note of a run that was called off.
        if let Some(Err(e)) = cpu.map(bind_thread) {
            let _ = note.send(Note::Ended(Err(e.into())));
            return;
        }
        let _ = note.send(Note::Ready);
        let Some(start_ns) = self.gate.wait() else { return };
        let (extent, pace) = (self.plan.extent, self.plan.pace);
        let own = (0..).zip(self.handed).skip(lane).step_by(self.lanes);
        let streams = own
            .map(|(stream, handed)| {
                Stream::new(Schedule { start_ns, extent, pace, stream }, handed, self.plan.digest)
            })
            .collect();
        let batch = self.plan.batch as usize;
        let (frames, stop, look_ns) = (self.frames, self.stop, self.look_ns);
        let outcome = Lane { way, frames, streams, batch, stop, look_ns }.send();
        let _ = note.send(Note::Ended(outcome));
    }
}

/// The one reader of counters and signals, which also keeps the time.
struct Watcher<'a> {
    shared: &'a Shared<'a>,
    counters: &'a mut CounterSource,
    notes: Receiver<Note>,
}

impl Watcher<'_> {
    fn watch(mut self, mut tell: impl FnMut(Glance<'_>) -> bool) -> Result<Sent, SendError> {
        self.wait_until_ready()?;
        let baseline = self.read()?;
        let start_ns = monotonic_ns();
        let (extent, streams) = (self.shared.plan.extent, self.shared.handed.len());
        let mut watch = Watch::new(Accumulator::new(baseline), start_ns, extent, streams);
        // Before the threads start: they may take every CPU at once.
        self.shared.look_ns.store(watch.next_look_ns(), Ordering::Relaxed);
        self.shared.gate.open(start_ns);

        let mut ended: Vec<LaneSent> = Vec::new();
        let (mut stopped, mut ask_ns) = (false, start_ns + ASK_EVERY_NS);
        loop {
            let now_ns = monotonic_ns();
            if now_ns >= watch.next_look_ns() {
                watch.look(self.read()?, self.handed());
            }
            if now_ns >= ask_ns {
                ask_ns = now_ns + ASK_EVERY_NS;
                let glance = Glance { at_ns: now_ns - start_ns, handed: &self.handed(), left: watch.left() };
                stopped |= tell(glance);
                self.shared.stop.store(stopped, Ordering::Relaxed);
            }
            let all_ended = ended.len() == self.shared.lanes;
            if all_ended && (stopped || watch.end_ns().is_none_or(|end_ns| now_ns >= end_ns)) {
                return self.finish(watch, ended, stopped);
            }
            let wake_ns = watch.next_look_ns().min(ask_ns);
            self.shared.look_ns.store(wake_ns, Ordering::Relaxed);
            let wait = Duration::from_nanos(wake_ns.saturating_sub(now_ns));
            match self.notes.recv_timeout(wait) {
                Ok(Note::Ended(outcome)) => ended.push(outcome?),
                // The window still runs to its end.
                Err(RecvTimeoutError::Disconnected) if all_ended => thread::sleep(wait),
                Err(e @ RecvTimeoutError::Disconnected) => {
                    return Err(SendError::Thread(io::Error::other(e)));
                }
                Ok(Note::Ready) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn wait_until_ready(&self) -> Result<(), SendError> {
        for _ in 0..self.shared.lanes {
            if let Note::Ended(outcome) =
                self.notes.recv().map_err(|e| SendError::Thread(io::Error::other(e)))?
            {
                outcome?;
            }
        }
        Ok(())
    }

    fn finish(mut self, mut watch: Watch, lanes: Vec<LaneSent>, stopped: bool) -> Result<Sent, SendError> {
        // The look at the end may be a moment ago: a span of microseconds says nothing.
        if watch.misses(&self.handed()) {
            watch.look(self.read()?, self.handed());
        }
        sleep_until_ns(monotonic_ns() + QUIET_NS);
        watch.add_quiet(self.read()?);
        let no_room = lanes.iter().map(|lane| lane.no_room).sum();
        let mut streams: Vec<StreamSent> = lanes.into_iter().flat_map(|lane| lane.streams).collect();
        streams.sort_by_key(|stream| stream.stream);
        // Stopped after the last planned frame is short of nothing.
        let short = |s: &StreamSent| s.planned.map_or(stopped, |planned| s.handed != planned);
        Ok(Sent {
            windows: watch.windows(),
            left_total: watch.left(),
            spans: watch.spans().to_vec(),
            backward_steps: watch.total().backward_steps(),
            no_room,
            tx_dropped: watch.total().total().counters().tx_dropped,
            cut_short: streams.iter().any(short),
            bound_by: BoundBy::of(&streams.iter().map(|stream| stream.spent).collect::<Vec<Spent>>()),
            streams,
        })
    }

    fn read(&mut self) -> Result<Reading, SendError> {
        self.counters.read().map_err(SendError::Counters)
    }

    fn handed(&self) -> Vec<u64> {
        self.shared.handed.iter().map(Handed::count).collect()
    }
}
