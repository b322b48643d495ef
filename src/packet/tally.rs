//! What became of every frame of a run, entered by one thread for each queue.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::buckets::StampBuckets;
use super::digest::FrameDigest;
use super::foreign::Foreign;
use super::frame::{Frames, Verdict};
use super::histogram::Histogram;
use super::ingress::Arrived;
use super::ledger::Ledger;

/// Entries that a thread gathers before it takes the streams' locks, once each.
const MOST_WAITING: usize = 256;

/// The accounts of all streams. A stream is entered under its own lock, so one that is spread over
/// queues is still accounted exactly, and one that is steered to a single queue never waits.
#[derive(Debug)]
pub struct Tally {
    frames: Frames,
    /// The first stamp of the run, from which all buckets count.
    origin_ns: OnceLock<u64>,
    streams: Vec<Mutex<Stream>>,
}

/// The account of one stream.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    pub ledger: Ledger,
    /// New intact frames by their stamps.
    pub intact: StampBuckets,
    /// Between the stamps of one new intact frame and the next entered.
    pub inter_arrival: Histogram,
    /// From the send stamps in the frames to the receive stamps, whatever clocks they are of.
    pub latency: Histogram,
    last_ns: Option<u64>,
}

impl Tally {
    #[must_use]
    pub fn new(frames: Frames) -> Self {
        let streams = (0..frames.streams()).map(|_| Mutex::default()).collect();
        Self { frames, origin_ns: OnceLock::new(), streams }
    }

    /// Everything sent has arrived intact, given the sender's word for each stream.
    #[must_use]
    pub fn complete(&self, sent: &[Option<u64>]) -> bool {
        self.streams
            .iter()
            .zip(sent)
            .all(|(stream, sent)| sent.is_some_and(|sent| lock(stream).ledger.counts().intact == sent))
    }

    /// Sequence numbers missing so far below the highest seen, over all streams.
    #[must_use]
    pub fn gaps(&self) -> u64 {
        self.streams.iter().map(|stream| lock(stream).ledger.close(None).lost).sum()
    }

    /// Copies of all accounts as they are now.
    #[must_use]
    pub fn streams(&self) -> Vec<Stream> {
        self.streams.iter().map(|stream| lock(stream).clone()).collect()
    }
}

/// A thread that panicked fails the whole run, so what it left in an account is never told.
fn lock(stream: &Mutex<Stream>) -> MutexGuard<'_, Stream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stream {
    fn enter(&mut self, entry: &Entry, origin_ns: &OnceLock<u64>) {
        let Some(sequence) = entry.sequence else { return self.ledger.corrupted(entry.at_ns) };
        if !self.ledger.intact(sequence, entry.at_ns) {
            return;
        }
        let Some(at_ns) = entry.at_ns else { return };
        self.intact.count(at_ns.saturating_sub(*origin_ns.get_or_init(|| at_ns)));
        if let Some(last_ns) = self.last_ns.replace(at_ns) {
            self.inter_arrival.count_between(last_ns, at_ns);
        }
        if let Some(sent_ns) = entry.sent_ns {
            self.latency.count_between(sent_ns, at_ns);
        }
    }
}

/// One frame of ours, judged and not entered yet.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// None where it is corrupted.
    sequence: Option<u64>,
    at_ns: Option<u64>,
    sent_ns: Option<u64>,
}

/// What one thread saw, beside what it entered into the streams' accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Own frames of each stream.
    pub streams: Vec<u64>,
    pub foreign: Foreign,
    /// Own frames without the stamp that was asked for.
    pub unstamped: u64,
    /// Over all bytes of all own frames as they arrived, if asked for. They add up over threads.
    pub digests: Option<Vec<FrameDigest>>,
}

impl Seen {
    #[must_use]
    pub fn new(streams: u16, digest: bool) -> Self {
        let streams = usize::from(streams);
        Self {
            streams: vec![0; streams],
            foreign: Foreign::default(),
            unstamped: 0,
            digests: digest.then(|| vec![FrameDigest::default(); streams]),
        }
    }

    /// Adds what another thread saw.
    pub fn add(&mut self, other: &Self) {
        self.streams.iter_mut().zip(&other.streams).for_each(|(sum, count)| *sum += count);
        self.foreign.add(&other.foreign);
        self.unstamped += other.unstamped;
        let digests = self.digests.iter_mut().flatten().zip(other.digests.iter().flatten());
        digests.for_each(|(sum, digest)| sum.add_digest(digest));
    }

    /// Own frames of all streams.
    #[must_use]
    pub fn own(&self) -> u64 {
        self.streams.iter().sum()
    }
}

/// One thread's hand on the tally: judges frames outside the locks, enters them in small groups.
pub struct Clerk<'t> {
    tally: &'t Tally,
    waiting: Vec<Vec<Entry>>,
    waiting_total: usize,
    pub seen: Seen,
}

impl<'t> Clerk<'t> {
    #[must_use]
    pub fn new(tally: &'t Tally, digest: bool) -> Self {
        let streams = tally.frames.streams();
        Self {
            tally,
            waiting: (0..streams).map(|_| Vec::with_capacity(MOST_WAITING)).collect(),
            waiting_total: 0,
            seen: Seen::new(streams, digest),
        }
    }

    /// Judges one frame; it stands in the accounts after the next `enter`.
    pub fn see(&mut self, frame: Arrived<'_>) {
        let (stream, sequence, sent_ns) = match self.tally.frames.judge(frame.bytes) {
            Verdict::Intact { stream, sequence, sent_ns } => (stream, Some(sequence), sent_ns),
            Verdict::Corrupted { stream } => (stream, None, None),
            Verdict::Foreign => return self.seen.foreign.count(frame.bytes),
        };
        let stream = usize::from(stream);
        self.seen.streams[stream] += 1;
        self.seen.unstamped += u64::from(frame.at_ns.is_none());
        if let Some(digests) = &mut self.seen.digests {
            digests[stream].add(&self.tally.frames.without_stamp(frame.bytes));
        }
        self.waiting[stream].push(Entry { sequence, at_ns: frame.at_ns, sent_ns });
        self.waiting_total += 1;
        if self.waiting_total == MOST_WAITING {
            self.enter();
        }
    }

    /// Enters what waits; called at the end of each batch.
    pub fn enter(&mut self) {
        for (waiting, stream) in self.waiting.iter_mut().zip(&self.tally.streams) {
            if !waiting.is_empty() {
                let mut stream = lock(stream);
                waiting.drain(..).for_each(|entry| stream.enter(&entry, &self.tally.origin_ns));
            }
        }
        self.waiting_total = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::model::frame_size::Sizes;

    const FRAMES: u64 = 20_000;

    fn frames() -> Frames {
        Frames::new(&Sizes::one(64).expect("in range"), 2, 9).expect("in range")
    }

    /// Each clerk sees the frames of every stream whose sequence leaves its own number over.
    fn spread(tally: &Tally, clerks: u64) -> Vec<Seen> {
        let frames = frames();
        let part = |number: u64| {
            let mut clerk = Clerk::new(tally, true);
            let mut bytes = vec![0; frames.most_bytes()];
            for sequence in (number..FRAMES).step_by(clerks as usize) {
                for stream in 0..2 {
                    frames.write(stream, sequence, &mut bytes);
                    clerk.see(Arrived { bytes: &bytes, at_ns: Some(1_000 + sequence * 1_000) });
                }
                if sequence % 7 == 0 {
                    clerk.enter();
                }
            }
            clerk.enter();
            clerk.seen
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..clerks).map(|number| scope.spawn(move || part(number))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        })
    }

    #[test]
    fn a_stream_that_is_spread_over_threads_is_accounted_exactly() {
        let mut digests = Vec::new();
        for clerks in [1, 4] {
            let tally = Tally::new(frames());
            let seen = spread(&tally, clerks);
            for stream in tally.streams() {
                let account = stream.ledger.close(Some(FRAMES));
                assert!(account.exactly_once(), "{clerks} threads: {account:?}");
                assert_eq!((account.first_ns, account.last_ns), (Some(1_000), Some(FRAMES * 1_000)));
                let intervals = stream.inter_arrival.counted() + stream.inter_arrival.negative();
                assert_eq!(intervals, FRAMES - 1);
                assert_eq!(stream.intact.buckets(0).iter().map(|b| b.frames).sum::<u64>(), FRAMES);
            }
            assert!(tally.complete(&[Some(FRAMES), Some(FRAMES)]) && tally.gaps() == 0);
            assert!(!tally.complete(&[Some(FRAMES), None]) && !tally.complete(&[Some(FRAMES), Some(1)]));
            let mut sum = Seen::new(2, true);
            seen.iter().for_each(|part| sum.add(part));
            assert_eq!(sum.own(), 2 * FRAMES);
            digests.push(sum);
        }
        assert_eq!(digests[0], digests[1], "what threads saw adds up to what one saw, digests too");
    }

    #[test]
    fn frames_without_a_stamp_are_accounted_and_enter_no_time() {
        let tally = Tally::new(frames());
        let mut clerk = Clerk::new(&tally, false);
        let mut bytes = vec![0; 60];
        for (sequence, at_ns) in [(0, None), (1, Some(50)), (2, None), (3, Some(90))] {
            frames().write(1, sequence, &mut bytes);
            clerk.see(Arrived { bytes: &bytes, at_ns });
        }
        clerk.enter();
        assert_eq!((clerk.seen.unstamped, clerk.seen.streams.clone()), (2, vec![0, 4]));
        let stream = &tally.streams()[1];
        assert!(stream.ledger.close(Some(4)).exactly_once());
        assert_eq!(stream.inter_arrival.extremes_ns(), Some((40, 40)));
    }
}
