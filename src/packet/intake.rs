//! One thread's work: take what one way in has, until told to stop.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::frame::{ETHERTYPE_BASE, Frames};
use super::ingress::{Arrived, Ingress};
use super::receiver::Plan;
use super::socket::take_error;
use super::tally::{Clerk, Seen, Tally};
use crate::nic::clock::monotonic_ns;

/// Longest sleep, after which the kernel's drops are read again.
const LONGEST_SLEEP_MS: libc::c_int = 250;
const DROPS_EVERY_NS: u64 = 500_000_000;
/// Once the end is asked for, taking what waits ends after this long even if frames keep coming.
const LAST_TAKES_NS: u64 = 1_000_000_000;

/// What a thread tells of itself while it runs, as totals.
#[derive(Debug, Default)]
pub struct Pulse {
    pub own: AtomicU64,
    pub foreign: AtomicU64,
    pub drops: AtomicU64,
    /// How often the socket held an error, as it does when the interface goes down.
    pub link_errors: AtomicU64,
    /// CLOCK_MONOTONIC after the first and the last batch with a frame of ours; 0 before the first.
    pub first_own_ns: AtomicU64,
    pub last_own_ns: AtomicU64,
}

/// Where a thread puts the frames that it takes.
pub enum Desk {
    /// Every frame compared and entered.
    Tally { tally: Arc<Tally>, digest: bool },
    /// Frames counted by their ethertype and nothing more, which proves nothing.
    CountOnly { streams: u16 },
}

impl Desk {
    #[must_use]
    pub fn of(frames: &Frames, tally: &Arc<Tally>, plan: Plan) -> Self {
        if plan.count_only {
            Self::CountOnly { streams: frames.streams() }
        } else {
            Self::Tally { tally: Arc::clone(tally), digest: plan.digest }
        }
    }
}

/// The end of a thread's work.
pub struct Ending {
    pub asked: Arc<AtomicBool>,
    /// Wakes a thread that sleeps: hung up when `asked` is set.
    pub alarm: PipeReader,
}

/// Takes frames until the end is asked for, and returns what was seen.
///
/// # Errors
/// The kernel refuses to go on.
pub fn work(mut way: Box<dyn Ingress>, desk: &Desk, pulse: &Pulse, ending: &Ending) -> io::Result<Seen> {
    match desk {
        Desk::Tally { tally, digest } => {
            let mut clerk = Clerk::new(tally, *digest);
            take_all(&mut *way, &mut clerk, pulse, ending)?;
            Ok(clerk.seen)
        }
        Desk::CountOnly { streams } => {
            let mut counter = Counter(Seen::new(*streams, false));
            take_all(&mut *way, &mut counter, pulse, ending)?;
            Ok(counter.0)
        }
    }
}

/// Takes one frame after the other, and hears when a batch is over.
trait Sink {
    fn see(&mut self, frame: Arrived<'_>);
    fn end_batch(&mut self) -> &Seen;
}

impl Sink for Clerk<'_> {
    fn see(&mut self, frame: Arrived<'_>) {
        Clerk::see(self, frame);
    }

    fn end_batch(&mut self) -> &Seen {
        self.enter();
        &self.seen
    }
}

struct Counter(Seen);

impl Sink for Counter {
    fn see(&mut self, frame: Arrived<'_>) {
        let ethertype = frame.bytes.get(12..14).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
        match self.0.streams.get_mut(usize::from(ethertype.wrapping_sub(ETHERTYPE_BASE))) {
            Some(count) => *count += 1,
            None => self.0.foreign.count(frame.bytes),
        }
    }

    fn end_batch(&mut self) -> &Seen {
        &self.0
    }
}

fn take_all<S: Sink>(way: &mut dyn Ingress, sink: &mut S, pulse: &Pulse, ending: &Ending) -> io::Result<()> {
    let spin_ns = way.spin_ns();
    let (mut busy_ns, mut drops_due_ns, mut own, mut ends_ns) = (0, 0, 0, None);
    loop {
        let asked = ending.asked.load(Ordering::Relaxed);
        let taken = way.take(&mut |frame| sink.see(frame));
        let now = monotonic_ns();
        let emptied = matches!(taken, Ok(None));
        match taken {
            Ok(Some(_)) => {
                let seen = sink.end_batch();
                busy_ns = now;
                if seen.own() > own {
                    own = seen.own();
                    pulse.beat(now, own);
                }
                pulse.foreign.store(seen.foreign.total(), Ordering::Relaxed);
            }
            Ok(None) if asked => {}
            Ok(None) if now.saturating_sub(busy_ns) < spin_ns => std::hint::spin_loop(),
            Ok(None) => sleep(way, pulse, &ending.alarm)?,
            // The interface went down; it may come back.
            Err(e) if e.raw_os_error() == Some(libc::ENETDOWN) => {
                pulse.link_errors.fetch_add(1, Ordering::Relaxed);
            }
            Err(e) => return Err(e),
        }
        // A thread that had lost its CPU takes what waits before it ends: that is no loss of the link's.
        if asked && (emptied || now >= *ends_ns.get_or_insert(now + LAST_TAKES_NS)) {
            break;
        }
        if now >= drops_due_ns {
            pulse.drops.store(way.drops()?, Ordering::Relaxed);
            drops_due_ns = now + DROPS_EVERY_NS;
        }
    }
    pulse.drops.store(way.drops()?, Ordering::Relaxed);
    Ok(())
}

/// Sleeps until something arrives or the end is asked for.
fn sleep(way: &dyn Ingress, pulse: &Pulse, alarm: &PipeReader) -> io::Result<()> {
    let fds = [way.poll_fd().as_raw_fd(), alarm.as_fd().as_raw_fd()];
    let mut polls = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: pointer and length describe `polls`.
    let code = unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, LONGEST_SLEEP_MS) };
    if code < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
    }
    if polls[0].revents & libc::POLLERR != 0 {
        // Reading the error clears it; without that poll would return at once for ever.
        pulse.link_errors.fetch_add(u64::from(take_error(&way.poll_fd())), Ordering::Relaxed);
    }
    Ok(())
}

impl Pulse {
    fn beat(&self, now: u64, own: u64) {
        self.own.store(own, Ordering::Relaxed);
        let _ = self.first_own_ns.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        self.last_own_ns.store(now, Ordering::Release);
    }
}
