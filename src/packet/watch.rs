//! The readings of a sender's run, when they are due and what lay between them.

use super::schedule::Extent;
use super::window::{Window, halve_spans};
use crate::nic::accumulator::Accumulator;
use crate::nic::counters::Reading;

/// Between two readings of the counters while sending.
const LOOK_EVERY_NS: u64 = 100_000_000;
/// Spans kept; beyond that neighbours are joined and readings become rarer.
const MOST_SPANS: usize = 2048;
/// Frames between two readings of the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its end, from the start of traffic.
    pub at_ns: u64,
    pub span_ns: u64,
    /// Frames that left, by the interface's counter.
    pub left: u64,
    /// Frames that the kernel accepted.
    pub handed: u64,
    pub settling: bool,
}

/// The readings of one run so far. It reads nothing itself, so it needs no clock.
#[derive(Debug)]
pub struct Watch {
    total: Accumulator,
    start_ns: u64,
    settle_ns: u64,
    end_ns: Option<u64>,
    next_look_ns: u64,
    look_every_ns: u64,
    spans: Vec<Span>,
    last: Mark,
    /// The first reading at or after the end of settling.
    opened: Option<Mark>,
}

/// Totals at one reading.
#[derive(Debug, Clone)]
struct Mark {
    at_ns: u64,
    left: u64,
    /// Of each stream.
    handed: Vec<u64>,
}

/// What happened between the end of settling and the last reading; None without time between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    /// By the interface's counter.
    pub left: Option<Window>,
    /// What the kernel accepted of all streams.
    pub handed: Option<Window>,
    /// What the kernel accepted of each stream.
    pub streams: Vec<Option<Window>>,
}

impl Watch {
    /// `total` holds the baseline, which was read before `start_ns`, the start of traffic of all
    /// `streams`.
    #[must_use]
    pub fn new(total: Accumulator, start_ns: u64, extent: Extent, streams: usize) -> Self {
        let settle_ns = if let Extent::Time { settle_ns, .. } = extent { settle_ns } else { 0 };
        let end_ns = extent.end_ns(start_ns);
        let last = Mark { at_ns: start_ns, left: 0, handed: vec![0; streams] };
        let opened = (settle_ns == 0).then(|| last.clone());
        let mut watch = Self {
            total,
            start_ns,
            settle_ns,
            end_ns,
            next_look_ns: 0,
            look_every_ns: LOOK_EVERY_NS,
            spans: Vec::new(),
            last,
            opened,
        };
        watch.schedule();
        watch
    }

    /// The next reading: a step on, or the end of settling or of the run if that comes first.
    fn schedule(&mut self) {
        let next = self.last.at_ns.saturating_add(self.look_every_ns);
        let settled = if self.opened.is_none() { self.start_ns + self.settle_ns } else { u64::MAX };
        let end = self.end_ns.filter(|&end| end > self.last.at_ns).unwrap_or(u64::MAX);
        self.next_look_ns = next.min(settled).min(end);
    }

    /// Takes one reading, with the frames of each stream handed over by then.
    pub fn look(&mut self, reading: Reading, handed: Vec<u64>) {
        self.total.add(reading);
        let mark = Mark { at_ns: reading.at_ns(), left: self.left(), handed };
        let span = Span {
            at_ns: mark.at_ns - self.start_ns,
            span_ns: mark.at_ns - self.last.at_ns,
            left: mark.left - self.last.left,
            handed: mark.handed() - self.last.handed(),
            settling: self.opened.is_none(),
        };
        match self.spans.last_mut() {
            // The rest of a run that ended a moment after a reading has no rate of its own.
            Some(last) if span.span_ns < self.look_every_ns / 10 && last.settling == span.settling => {
                *last = last.join(span);
            }
            _ => self.spans.push(span),
        }
        if self.opened.is_none() && mark.at_ns >= self.start_ns + self.settle_ns {
            self.opened = Some(mark.clone());
        }
        self.last = mark;
        if self.spans.len() >= MOST_SPANS {
            self.look_every_ns *= 2;
            halve_spans(&mut self.spans, Span::join);
        }
        self.schedule();
    }

    /// Adds a reading from after a quiet time, which belongs to no rate.
    pub fn add_quiet(&mut self, reading: Reading) {
        self.total.add(reading);
    }

    /// Whether frames were handed over after the last reading, or there was none.
    #[must_use]
    pub fn misses(&self, handed: &[u64]) -> bool {
        self.last.handed != handed || self.spans.is_empty()
    }

    /// Frames that have left by the interface's counter up to the last reading.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.total.total().counters().tx_packets
    }

    /// Start of traffic, on the clock of the readings.
    #[must_use]
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// When the time is up; None where a number of frames ends the run.
    #[must_use]
    pub fn end_ns(&self) -> Option<u64> {
        self.end_ns
    }

    #[must_use]
    pub fn next_look_ns(&self) -> u64 {
        self.next_look_ns
    }

    /// Everything since the baseline.
    #[must_use]
    pub fn total(&self) -> &Accumulator {
        &self.total
    }

    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    #[must_use]
    pub fn windows(&self) -> Windows {
        let Some(from) = &self.opened else {
            return Windows { left: None, handed: None, streams: vec![None; self.last.handed.len()] };
        };
        let window = |from_frames: u64, to_frames: u64| {
            Window::new(to_frames - from_frames, self.last.at_ns - from.at_ns)
        };
        let streams = from.handed.iter().zip(&self.last.handed);
        Windows {
            left: window(from.left, self.last.left),
            handed: window(from.handed(), self.last.handed()),
            streams: streams.map(|(&from, &to)| window(from, to)).collect(),
        }
    }
}

impl Mark {
    fn handed(&self) -> u64 {
        self.handed.iter().sum()
    }
}

impl Span {
    fn join(self, later: Self) -> Self {
        Self {
            at_ns: later.at_ns,
            span_ns: self.span_ns + later.span_ns,
            left: self.left + later.left,
            handed: self.handed + later.handed,
            settling: self.settling || later.settling,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::counters::Counters;

    const MS: u64 = 1_000_000;
    const START: u64 = 77 * MS;

    fn reading(tx_packets: u64, at_ns: u64) -> Reading {
        Reading::new(Counters { tx_packets, ..Counters::default() }, at_ns)
    }

    fn watch(extent: Extent) -> Watch {
        Watch::new(Accumulator::new(reading(1_000_000, START)), START, extent, 2)
    }

    /// Reads at each due instant plus `late`, a frame leaving every microsecond.
    fn run(watch: &mut Watch, readings: u64, late: u64) {
        for _ in 0..readings {
            let at = watch.next_look_ns() + late;
            let frames = (at - START) / 1000;
            watch.look(reading(1_000_000 + frames, at), vec![5, frames]);
        }
    }

    #[test]
    fn the_window_runs_from_the_first_reading_after_settling_to_the_last() {
        let mut watch = watch(Extent::Time { settle_ns: 250 * MS, duration_ns: 500 * MS });
        run(&mut watch, 8, 3 * MS);
        let windows = watch.windows();
        let expected = Some(Window { frames: 500_000, span_ns: 500 * MS });
        assert_eq!((windows.left, windows.handed), (expected, expected));
        let idle = Some(Window { frames: 0, span_ns: 500 * MS });
        assert_eq!(windows.streams, [idle, expected]);
        assert_eq!(watch.spans().iter().map(|s| s.settling).filter(|s| *s).count(), 3, "100, 200 and 250 ms");
    }

    #[test]
    fn a_run_that_never_settled_has_no_window() {
        let mut watch = watch(Extent::Time { settle_ns: 250 * MS, duration_ns: 500 * MS });
        run(&mut watch, 2, 0);
        assert_eq!(watch.windows(), Windows { left: None, handed: None, streams: vec![None; 2] });
    }

    #[test]
    fn a_remainder_of_microseconds_joins_the_span_before_it() {
        let mut watch = watch(Extent::Frames(100_010));
        run(&mut watch, 1, 0);
        assert!(watch.misses(&[5, 100_010]));
        watch.look(reading(1_100_010, START + 100 * MS + 10_000), vec![0, 100_010]);
        assert!(!watch.misses(&[0, 100_010]));
        let expected = Span {
            at_ns: 100 * MS + 10_000,
            span_ns: 100 * MS + 10_000,
            left: 100_010,
            handed: 100_010,
            settling: false,
        };
        assert_eq!(watch.spans(), [expected]);
    }

    #[test]
    fn a_day_of_readings_keeps_few_spans_and_every_frame() {
        let mut watch = watch(Extent::Frames(u64::MAX));
        run(&mut watch, 20_000, 0);
        assert!(watch.spans().len() <= MOST_SPANS);
        let (left, span_ns) = watch.spans().iter().fold((0, 0), |(l, n), s| (l + s.left, n + s.span_ns));
        assert_eq!((left, span_ns), (span_ns / 1000, watch.next_look_ns() - watch.look_every_ns - START));
    }

    #[test]
    fn a_counter_that_goes_back_is_flagged_and_never_underflows() {
        let mut watch = watch(Extent::Frames(1));
        watch.look(reading(5, START + 100 * MS), vec![1, 0]);
        assert_eq!((watch.spans()[0].left, watch.total().backward_steps()), (0, 1));
    }
}
