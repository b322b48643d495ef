//! When a stream's frames are due and when its time is up.

use super::pace::Pace;

/// A paced sender may be late by this part of its time before it gives the rest up…
const LATE_PARTS: u64 = 50;
/// …but by no less than a scheduler's hiccup.
const LEAST_GRACE_NS: u64 = 100_000_000;

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// So many frames of each stream, however long it takes.
    Frames(u64),
    /// Settle time, then the window that counts.
    Time { settle_ns: u64, duration_ns: u64 },
}

/// One stream's plan on the clock of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// The same for all streams of a run.
    pub start_ns: u64,
    pub extent: Extent,
    /// None: as fast as the interface takes them.
    pub pace: Option<Pace>,
    pub stream: u16,
}

/// What a stream does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// So many frames are due.
    Frames(u64),
    WaitUntil(u64),
    /// All that was planned is written.
    Done,
}

impl Extent {
    /// When the time is up; None where a number of frames ends the run.
    #[must_use]
    pub fn end_ns(self, start_ns: u64) -> Option<u64> {
        match self {
            Self::Frames(_) => None,
            Self::Time { settle_ns, duration_ns } => {
                Some(start_ns.saturating_add(settle_ns).saturating_add(duration_ns))
            }
        }
    }
}

impl Schedule {
    /// Frames that the stream is to send; `u64::MAX` where only the time ends it.
    #[must_use]
    pub fn planned(&self) -> u64 {
        match (self.extent, self.pace) {
            (Extent::Frames(frames), _) => frames,
            (Extent::Time { .. }, None) => u64::MAX,
            (Extent::Time { settle_ns, duration_ns }, Some(pace)) => {
                pace.due(self.stream, settle_ns.saturating_add(duration_ns).saturating_sub(1))
            }
        }
    }

    /// What to do at `now_ns`, with so many frames written by then.
    #[must_use]
    pub fn next(&self, now_ns: u64, written: u64) -> Next {
        let planned = self.planned();
        if written >= planned {
            return Next::Done;
        }
        let Some(pace) = self.pace else { return Next::Frames(planned - written) };
        let due = pace.due(self.stream, now_ns.saturating_sub(self.start_ns)).min(planned);
        if due > written {
            Next::Frames(due - written)
        } else {
            Next::WaitUntil(self.due_at_ns(pace, written))
        }
    }

    /// The time is up; a paced stream that is late gets a little more of it.
    #[must_use]
    pub fn over(&self, now_ns: u64) -> bool {
        let Some(end_ns) = self.extent.end_ns(self.start_ns) else { return false };
        let grace = ((end_ns - self.start_ns) / LATE_PARTS).max(LEAST_GRACE_NS);
        now_ns >= end_ns.saturating_add(if self.pace.is_some() { grace } else { 0 })
    }

    /// How far behind its pace the stream was when it ended at `ended_ns`, the last of `handed` frames
    /// having been accepted at `last_ns`: by its last frame, or by the first that it still owed. None
    /// without a pace.
    #[must_use]
    pub fn late_ns(&self, handed: u64, last_ns: u64, ended_ns: u64) -> Option<u64> {
        let pace = self.pace?;
        let owes = handed < self.planned();
        let (at_ns, frame) = if owes { (ended_ns, handed) } else { (last_ns, handed.saturating_sub(1)) };
        Some(at_ns.saturating_sub(self.due_at_ns(pace, frame)))
    }

    fn due_at_ns(&self, pace: Pace, frame: u64) -> u64 {
        self.start_ns.saturating_add(pace.due_at_ns(self.stream, frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const START: u64 = 77 * MS;

    fn schedule(extent: Extent, rate: Option<f64>) -> Schedule {
        let pace = rate.map(|rate| Pace::new(rate, 1).expect("a rate"));
        Schedule { start_ns: START, extent, pace, stream: 0 }
    }

    const TIME: Extent = Extent::Time { settle_ns: 250 * MS, duration_ns: 500 * MS };

    #[test]
    fn at_full_speed_everything_is_due_until_the_time_is_up() {
        let schedule = schedule(TIME, None);
        assert_eq!(schedule.next(START, 5), Next::Frames(u64::MAX - 5));
        assert!(!schedule.over(START + 750 * MS - 1) && schedule.over(START + 750 * MS));
        assert_eq!(schedule.late_ns(5, START, START), None);
    }

    #[test]
    fn a_pace_waits_for_the_next_frame_and_ends_with_the_last_of_its_time() {
        let schedule = schedule(TIME, Some(1000.0));
        assert_eq!(schedule.planned(), 750);
        assert_eq!(schedule.next(START, 0), Next::Frames(1));
        assert_eq!(schedule.next(START, 1), Next::WaitUntil(START + MS));
        assert_eq!(schedule.next(START + 10 * MS, 1), Next::Frames(10));
        assert_eq!(schedule.next(START + 10_000 * MS, 700), Next::Frames(50), "never more than planned");
        assert_eq!(schedule.next(START, 750), Next::Done);
        assert!(!schedule.over(START + 849 * MS), "a tenth of a second late at most");
        assert!(schedule.over(START + 850 * MS));
    }

    #[test]
    fn a_number_of_frames_has_no_end_in_time() {
        let schedule = schedule(Extent::Frames(3), None);
        assert_eq!((schedule.next(START, 1), schedule.next(START, 3)), (Next::Frames(2), Next::Done));
        assert!(!schedule.over(u64::MAX));
    }

    #[test]
    fn lateness_is_that_of_the_last_frame_or_of_the_first_that_is_owed() {
        let schedule = schedule(Extent::Frames(11), Some(1000.0));
        assert_eq!(
            schedule.late_ns(11, START + 12 * MS, START + 50 * MS),
            Some(2 * MS),
            "frame 10 was due at 10 ms"
        );
        assert_eq!(
            schedule.late_ns(5, START + 6 * MS, START + 9 * MS),
            Some(4 * MS),
            "frame 5 was due at 5 ms"
        );
        assert_eq!(schedule.late_ns(5, START + 4 * MS, START + 4 * MS), Some(0), "stopped in time");
    }
}
