//! Counters read again and again, and the rates between two readings.

use std::io;

use super::accumulator::{Accumulator, rate_per_second};
use super::counters::{Counters, Reading};

/// Reads at even steps of time, as well as it is woken. Every reading carries its own instant, so that a
/// reading which comes late moves the window's end and not the rate.
#[derive(Debug)]
pub struct Sampler<R> {
    read: R,
    totals: Accumulator,
    start_ns: u64,
    every_ns: u64,
    taken: u64,
}

/// What passed between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Totals since the baseline at either end, each with its instant.
    pub from: Reading,
    pub to: Reading,
}

impl Window {
    /// Per second, of one counter; None when no time passed.
    #[must_use]
    pub fn rate(&self, of: impl Fn(&Counters) -> u64) -> Option<f64> {
        rate_per_second(
            (of(self.from.counters()), self.from.at_ns()),
            (of(self.to.counters()), self.to.at_ns()),
        )
    }
}

impl<R: FnMut() -> io::Result<Reading>> Sampler<R> {
    /// Takes the baseline.
    ///
    /// # Errors
    /// The counters cannot be read.
    pub fn start(mut read: R, every_ns: u64) -> io::Result<Self> {
        let baseline = read()?;
        Ok(Self { read, totals: Accumulator::new(baseline), start_ns: baseline.at_ns(), every_ns, taken: 0 })
    }

    /// When the next reading is due, on the clock of the readings.
    #[must_use]
    pub fn due_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.every_ns.saturating_mul(self.taken + 1))
    }

    /// Takes one reading, and returns what passed since the one before. Steps that were slept through
    /// or come less than half a step after a late reading are left out: the moment between counters and
    /// stamp weighs the more, the shorter a window is.
    ///
    /// # Errors
    /// The counters cannot be read.
    pub fn take(&mut self) -> io::Result<Window> {
        let from = self.totals.total();
        let reading = (self.read)()?;
        self.totals.add(reading);
        let since = reading.at_ns().saturating_sub(self.start_ns);
        let every = self.every_ns.max(1);
        self.taken = (self.taken + 1).max((since + every / 2).div_ceil(every) - 1);
        Ok(Window { from, to: self.totals.total() })
    }

    /// Everything since the baseline.
    #[must_use]
    pub fn totals(&self) -> &Accumulator {
        &self.totals
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;
    const EVERY: u64 = 16 * MS;
    const START: u64 = 5_000 * MS;

    /// Frames by an instant, at a rate that swings by a half around a million a second.
    fn frames(at_ns: u64) -> f64 {
        let t = (at_ns - START) as f64 / 1e9;
        1e6 * t + 5e5 * (1.0 - (t * 9.0).cos()) / 9.0
    }

    /// Windows of the shipped reader over a counter that is a function of an injected clock, woken late and
    /// with a delay between counters and stamp. `stamp` chooses the stamp out of tick and clock.
    fn windows(late: &[(u64, u64)], stamp: fn(tick: u64, now: u64) -> u64) -> Vec<(f64, f64)> {
        let (clock, tick) = (Cell::new(START), Cell::new(START));
        let delays = Cell::new(late.iter().map(|(_, delay)| *delay).collect::<Vec<_>>());
        let instants = Cell::new(vec![]);
        let read = || {
            let at = clock.get();
            let mut seen = instants.take();
            seen.push(at);
            instants.set(seen);
            let counters = Counters { tx_packets: 9_000_000_000 + frames(at) as u64, ..Counters::default() };
            let mut rest = delays.take();
            clock.set(at + rest.pop().unwrap_or(0));
            delays.set(rest);
            Reading::take(|| Ok(counters), || stamp(tick.get(), clock.get()))
        };
        let mut sampler = Sampler::start(read, EVERY).expect("a baseline");
        let mut found = vec![];
        for (lateness, _) in late {
            tick.set(sampler.due_ns());
            clock.set(sampler.due_ns().max(clock.get()) + lateness);
            let window = sampler.take().expect("a window");
            let seen = instants.take();
            let (from, to) = (seen[seen.len() - 2], seen[seen.len() - 1]);
            instants.set(seen);
            // The true rate over the span that the counters themselves were read at.
            let truth = (frames(to) - frames(from)) / (to - from) as f64 * 1e9;
            found.push((window.rate(|c| c.tx_packets).expect("time passed"), truth));
        }
        found
    }

    fn worst(windows: &[(f64, f64)]) -> f64 {
        windows.iter().map(|(rate, truth)| (rate / truth - 1.0).abs()).fold(0.0, f64::max)
    }

    proptest! {
        #[test]
        fn windows_of_16_ms_hold_within_2_percent_however_late_the_reader_is(
            late in prop::collection::vec((0..12 * MS, 0..100_000u64), 5..60)
        ) {
            let worst = worst(&windows(&late, |_, now| now));
            prop_assert!(worst < 0.02, "{worst}");
        }
    }

    #[test]
    fn a_twin_that_stamps_at_its_tick_fails_the_same_test() {
        // Case C01: late by 8 ms at every second tick.
        let late: Vec<(u64, u64)> = (0..40).map(|n| (if n % 2 == 0 { 8 * MS } else { 0 }, 1000)).collect();
        assert!(worst(&windows(&late, |_, now| now)) < 0.02);
        let twin = windows(&late, |tick, _| tick);
        assert!(worst(&twin) > 0.3, "{twin:?}");
    }

    #[test]
    fn steps_that_were_slept_through_are_left_out() {
        let clock = Cell::new(START);
        let mut sampler = Sampler::start(|| Reading::take(|| Ok(Counters::default()), || clock.get()), EVERY)
            .expect("baseline");
        clock.set(START + 50 * MS);
        sampler.take().expect("read");
        assert_eq!(sampler.due_ns(), START + 64 * MS);
    }
}
