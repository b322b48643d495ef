//! One sending thread: a way out, and the streams that take it in turn.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::bound::Spent;
use super::digest::FrameDigest;
use super::egress::Egress;
use super::frame::Frames;
use super::schedule::{Next, Schedule};
use super::sender::SendError;
use crate::nic::clock::{monotonic_ns, sleep_until_ns};

/// The interface took no frame for this long: it will not take any.
pub(super) const STUCK_NS: u64 = 5_000_000_000;
/// Longest sleep, so that a stop is soon noticed.
const LONGEST_SLEEP_NS: u64 = 50_000_000;

/// Frames of one stream that the kernel has accepted so far, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Handed(AtomicU64);

impl Handed {
    /// The count at this moment.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What came of one stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamSent {
    pub stream: u16,
    /// Frames that the kernel accepted.
    pub handed: u64,
    /// Over their bytes, stamps left out, if asked for.
    pub digest: Option<FrameDigest>,
    /// Frames that were planned; None where only time or a signal ended the stream.
    pub planned: Option<u64>,
    /// From the start of the run to the moment its last frame was accepted; 0 where none was.
    pub took_ns: u64,
    pub spent: Spent,
}

/// What came of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct LaneSent {
    pub streams: Vec<StreamSent>,
    /// Calls in which the kernel or the ring had no room; the same frames went again.
    pub no_room: u64,
}

/// A stream under way.
pub struct Stream<'a> {
    schedule: Schedule,
    handed: &'a Handed,
    digest: Option<FrameDigest>,
    /// Frames filled in; also the next sequence number.
    written: u64,
    /// When the kernel last accepted a frame of it.
    last_ns: u64,
}

impl<'a> Stream<'a> {
    /// Counts into `handed` and, if asked for, digests.
    #[must_use]
    pub fn new(schedule: Schedule, handed: &'a Handed, digest: bool) -> Self {
        let last_ns = schedule.start_ns;
        Self { schedule, handed, digest: digest.then(FrameDigest::default), written: 0, last_ns }
    }

    fn account(&mut self, frames: &Frames, taken: u64, now_ns: u64) {
        let first = self.handed.count();
        if let Some(digest) = &mut self.digest {
            let mut bytes = vec![0; frames.most_bytes()];
            for sequence in first..first + taken {
                let frame = &mut bytes[..frames.bytes(sequence)];
                frames.write(self.schedule.stream, sequence, frame);
                digest.add(&frames.without_stamp(frame));
            }
        }
        self.handed.0.store(first + taken, Ordering::Relaxed);
        self.last_ns = now_ns;
    }

    fn sent(&self, waiting_ns: u64, ended_ns: u64) -> StreamSent {
        let (schedule, handed) = (&self.schedule, self.handed.count());
        let late_ns = schedule.late_ns(handed, self.last_ns, ended_ns);
        StreamSent {
            stream: schedule.stream,
            handed,
            digest: self.digest,
            planned: Some(schedule.planned()).filter(|planned| *planned < u64::MAX),
            took_ns: self.last_ns - schedule.start_ns,
            spent: Spent { sending_ns: ended_ns.saturating_sub(schedule.start_ns), waiting_ns, late_ns },
        }
    }
}

/// A way out with its streams, at least one, and who may end it early.
pub struct Lane<'a> {
    pub way: &'a mut dyn Egress,
    pub frames: &'a Frames,
    pub streams: Vec<Stream<'a>>,
    /// Most frames filled in at once.
    pub batch: usize,
    pub stop: &'a AtomicBool,
    /// When the watcher wants to look next.
    pub look_ns: &'a AtomicU64,
}

/// What a thread keeps in mind while it sends.
struct Memory {
    /// The stream whose turn it is.
    turn: usize,
    /// Streams and numbers of the frames filled in that the kernel has not taken, in their order.
    filled: VecDeque<(usize, u64)>,
    /// When the kernel last accepted a frame, or none was due.
    progress_ns: u64,
    /// Since when there has been no room.
    refused_ns: Option<u64>,
    waiting_ns: u64,
    no_room: u64,
}

impl Lane<'_> {
    /// Sends to the end of the schedules, or until it is stopped. What was filled in by then is still
    /// handed over, so that no frame's fate is open.
    ///
    /// # Errors
    /// The kernel refuses a frame, or takes none for too long.
    pub fn send(mut self) -> Result<LaneSent, SendError> {
        let mut now_ns = monotonic_ns();
        let mut memory = Memory {
            turn: 0,
            filled: VecDeque::new(),
            progress_ns: now_ns,
            refused_ns: None,
            waiting_ns: 0,
            no_room: 0,
        };
        loop {
            let ending =
                self.stop.load(Ordering::Relaxed) || self.streams.iter().any(|s| s.schedule.over(now_ns));
            if now_ns >= self.look_ns.load(Ordering::Relaxed) {
                // The watcher may wait for this very CPU, which a realtime thread leaves to nobody unasked.
                thread::yield_now();
            }
            let waiting = self.way.waiting();
            match if ending { Next::Done } else { self.next(&mut memory, now_ns) } {
                Next::Frames(due) if waiting < self.batch => self.fill(&mut memory, due),
                Next::WaitUntil(until_ns) if waiting == 0 => {
                    sleep_until_ns(until_ns.min(now_ns + LONGEST_SLEEP_NS));
                    now_ns = monotonic_ns();
                    memory.progress_ns = now_ns;
                    continue;
                }
                Next::Done if waiting == 0 => break,
                _ => {}
            }
            let stuck = now_ns.saturating_sub(memory.progress_ns) >= STUCK_NS;
            let taken = self.hand_over(stuck)?;
            let before_ns = now_ns;
            now_ns = monotonic_ns();
            memory.note(taken, before_ns, now_ns);
            self.account(&mut memory, taken as u64, now_ns);
        }
        let streams = self.streams.iter().map(|stream| stream.sent(memory.waiting_ns, now_ns)).collect();
        Ok(LaneSent { streams, no_room: memory.no_room })
    }

    /// What is to be done next, at best by the stream whose turn it is.
    fn next(&self, memory: &mut Memory, now_ns: u64) -> Next {
        let mut soonest = Next::Done;
        for _ in 0..self.streams.len() {
            let stream = &self.streams[memory.turn];
            match (stream.schedule.next(now_ns, stream.written), soonest) {
                (due @ Next::Frames(_), _) => return due,
                (Next::WaitUntil(at_ns), Next::WaitUntil(before_ns)) if before_ns <= at_ns => {}
                (wait @ Next::WaitUntil(_), _) => soonest = wait,
                (Next::Done, _) => {}
            }
            memory.turn = (memory.turn + 1) % self.streams.len();
        }
        soonest
    }

    fn fill(&mut self, memory: &mut Memory, due: u64) {
        let stream = &mut self.streams[memory.turn];
        let count = usize::try_from(due).unwrap_or(usize::MAX).min(self.batch);
        let filled = self.way.fill(self.frames, stream.schedule.stream, stream.written, count) as u64;
        if filled > 0 {
            stream.written += filled;
            memory.filled.push_back((memory.turn, filled));
            memory.turn = (memory.turn + 1) % self.streams.len();
        }
    }

    /// Frames taken, 0 where there was no room.
    fn hand_over(&mut self, stuck: bool) -> Result<usize, SendError> {
        match self.way.hand_over() {
            Ok(0) if stuck => Err(SendError::Stuck { source: io::Error::from_raw_os_error(libc::EAGAIN) }),
            Ok(taken) => Ok(taken),
            Err(e) => match e.raw_os_error() {
                Some(libc::ENOBUFS | libc::EAGAIN | libc::EBUSY) if stuck => {
                    Err(SendError::Stuck { source: e })
                }
                Some(libc::ENOBUFS | libc::EAGAIN | libc::EBUSY | libc::EINTR) => Ok(0),
                _ => Err(SendError::Refused(e)),
            },
        }
    }

    /// Frames are taken in the order in which they were filled in.
    fn account(&mut self, memory: &mut Memory, mut taken: u64, now_ns: u64) {
        while taken > 0
            && let Some((stream, waiting)) = memory.filled.front_mut()
        {
            let part = taken.min(*waiting);
            self.streams[*stream].account(self.frames, part, now_ns);
            taken -= part;
            *waiting -= part;
            if *waiting == 0 {
                memory.filled.pop_front();
            }
        }
    }
}

impl Memory {
    fn note(&mut self, taken: usize, before_ns: u64, after_ns: u64) {
        if taken == 0 {
            self.no_room += 1;
            self.refused_ns.get_or_insert(before_ns);
            // The queue's consumer may wait for this very CPU.
            thread::yield_now();
            return;
        }
        if let Some(refused_ns) = self.refused_ns.take() {
            self.waiting_ns += after_ns - refused_ns;
        }
        self.progress_ns = after_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::super::pace::Pace;
    use super::super::schedule::Extent;
    use super::*;
    use crate::model::frame_size::Sizes;

    /// An interface that takes at most `most` frames a call, and none in every `hole`th call.
    struct Script {
        most: usize,
        hole: usize,
        calls: usize,
        waiting: Vec<(u16, u64)>,
        taken: Vec<(u16, u64)>,
        refusal: i32,
    }

    impl Egress for Script {
        fn fill(&mut self, _: &Frames, stream: u16, first: u64, count: usize) -> usize {
            self.waiting.extend((first..).take(count).map(|sequence| (stream, sequence)));
            count
        }

        fn waiting(&self) -> usize {
            self.waiting.len()
        }

        fn hand_over(&mut self) -> io::Result<usize> {
            self.calls += 1;
            if self.calls.is_multiple_of(self.hole) {
                return Err(io::Error::from_raw_os_error(self.refusal));
            }
            let count = self.most.min(self.waiting.len());
            self.taken.extend(self.waiting.drain(..count));
            Ok(count)
        }
    }

    fn send(way: &mut Script, extent: Extent, rate: Option<f64>, stop: bool) -> Result<LaneSent, SendError> {
        let frames = Frames::new(&Sizes::one(64).expect("in range"), 2, 1).expect("in range");
        let counts = [Handed::default(), Handed::default()];
        let start_ns = monotonic_ns();
        let pace = rate.map(|rate| Pace::new(rate, 2).expect("a rate"));
        let streams = (0..2)
            .map(|stream| {
                let schedule = Schedule { start_ns, extent, pace, stream };
                Stream::new(schedule, &counts[usize::from(stream)], true)
            })
            .collect();
        let (stop, look_ns) = (&AtomicBool::new(stop), &AtomicU64::new(0));
        Lane { way, frames: &frames, streams, batch: 7, stop, look_ns }.send()
    }

    fn script(refusal: i32) -> Script {
        Script { most: 3, hole: 4, calls: 0, waiting: vec![], taken: vec![], refusal }
    }

    #[test]
    fn two_streams_on_one_way_are_told_apart_whatever_it_takes_at_a_time() {
        let mut way = script(libc::ENOBUFS);
        let sent = send(&mut way, Extent::Frames(100), None, false).expect("sent");
        for stream in 0..2u16 {
            let of: Vec<_> = way.taken.iter().filter(|(s, _)| *s == stream).map(|(_, n)| *n).collect();
            assert_eq!(of, (0..100).collect::<Vec<_>>(), "stream {stream} in order, each once");
            assert_eq!(sent.streams[usize::from(stream)].handed, 100);
        }
        assert_ne!(sent.streams[0].digest, sent.streams[1].digest);
        assert!(sent.no_room > 10 && sent.streams[0].spent.waiting_ns > 0, "{sent:?}");
    }

    #[test]
    fn a_stopped_lane_hands_over_nothing_new_and_one_with_time_stops_at_its_end() {
        let mut way = script(libc::EAGAIN);
        let sent = send(&mut way, Extent::Frames(100), None, true).expect("stopped");
        assert_eq!((sent.streams[0].handed, way.taken.len()), (0, 0));
        let time = Extent::Time { settle_ns: 0, duration_ns: 3_000_000 };
        let sent = send(&mut way, time, None, false).expect("sent");
        assert_eq!(sent.streams.iter().map(|s| s.handed).sum::<u64>(), way.taken.len() as u64);
        assert_eq!((way.waiting(), sent.streams[0].planned), (0, None));
    }

    #[test]
    fn a_pace_hands_over_what_is_due_and_a_refusal_ends_the_lane() {
        let mut way = script(libc::EBUSY);
        let time = Extent::Time { settle_ns: 0, duration_ns: 20_000_000 };
        let sent = send(&mut way, time, Some(1000.0), false).expect("sent");
        assert_eq!((sent.streams[0].handed, sent.streams[1].handed), (20, 20));
        assert!(sent.streams[1].took_ns >= 19_500_000 && sent.streams[0].spent.late_ns.is_some());
        let error = send(&mut script(libc::ENETDOWN), Extent::Frames(100), None, false).expect_err("down");
        assert!(matches!(error, SendError::Refused(_)), "{error}");
    }
}
