//! Forward-only totals over counters that may start anywhere and jump back.

use serde::Serialize;

use super::counters::{Counters, NAMES, Reading};

/// Totals since a baseline. Only forward motion is added, so a driver's reset costs what moved
/// unseen but never turns into 2^64; every total of a run comes from here, never from a raw reading.
#[derive(Debug, Clone)]
pub struct Accumulator {
    last: Reading,
    total: Counters,
    backward: Backward,
}

impl Accumulator {
    /// `baseline` is taken before traffic starts; what the counters held by then is not charged.
    #[must_use]
    pub fn new(baseline: Reading) -> Self {
        Self { last: baseline, total: Counters::default(), backward: Backward::default() }
    }

    /// Adds the forward motion since the reading before.
    pub fn add(&mut self, reading: Reading) {
        let (old, new) = (self.last.counters().values(), reading.counters().values());
        let mut total = self.total.values();
        forward(&mut total, &old, &new, &NAMES, reading.at_ns(), &mut self.backward);
        self.total = Counters::of(total);
        self.last = reading;
    }

    /// Forward motion since the baseline, with the instant of the last reading.
    #[must_use]
    pub fn total(&self) -> Reading {
        Reading::new(self.total, self.last.at_ns())
    }

    /// Readings in which a counter went back. A run with one is no proof of zero loss.
    #[must_use]
    pub fn backward_steps(&self) -> u64 {
        self.backward.steps
    }

    /// What went back, and when.
    #[must_use]
    pub fn backward(&self) -> &Backward {
        &self.backward
    }
}

/// Steps of counters that went back: each is an event, and none adds to a total.
#[derive(Debug, Clone, Default)]
pub struct Backward {
    steps: u64,
    events: Vec<BackwardStep>,
}

/// One counter that went back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackwardStep {
    pub counter: String,
    /// CLOCK_MONOTONIC of the reading that showed it.
    pub at_ns: u64,
    pub before: u64,
    pub after: u64,
}

/// Kept of the events; a card that resets all the time says nothing new.
const MOST_EVENTS: usize = 64;

impl Backward {
    /// The first of them, in order.
    #[must_use]
    pub fn events(&self) -> &[BackwardStep] {
        &self.events
    }
}

/// Adds the forward motion of each counter to its total; one that went back adds nothing and is noted.
pub fn forward<N: AsRef<str>>(
    total: &mut [u64],
    old: &[u64],
    new: &[u64],
    names: &[N],
    at_ns: u64,
    backward: &mut Backward,
) {
    let mut went_back = false;
    for (((total, &old), &new), name) in total.iter_mut().zip(old).zip(new).zip(names) {
        *total = total.wrapping_add(new.saturating_sub(old));
        if new < old {
            went_back = true;
            if backward.events.len() < MOST_EVENTS {
                let counter = name.as_ref().to_owned();
                backward.events.push(BackwardStep { counter, at_ns, before: old, after: new });
            }
        }
    }
    backward.steps += u64::from(went_back);
}

/// Δcount / Δt per second between two totals; None when no time passed or the count fell.
#[must_use]
pub fn rate_per_second(from: (u64, u64), to: (u64, u64)) -> Option<f64> {
    let (count, span_ns) = (to.0.checked_sub(from.0)?, to.1.checked_sub(from.1)?);
    (span_ns > 0).then(|| count as f64 * 1e9 / span_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(rx_packets: u64, at_ns: u64) -> Reading {
        Reading::new(Counters { rx_packets, ..Counters::default() }, at_ns)
    }

    fn accumulate(readings: &[u64]) -> Accumulator {
        let mut accumulator = Accumulator::new(reading(readings[0], 0));
        for (at, &count) in (1..).zip(&readings[1..]) {
            accumulator.add(reading(count, at));
        }
        accumulator
    }

    #[test]
    fn c01_rates_by_reading_time_are_true_where_tick_labels_are_a_third_too_high() {
        let true_rates: Vec<f64> = (0..6u64)
            .map(|i| {
                rate_per_second((i * 16_000, i * 16_000_000), ((i + 1) * 16_000, (i + 1) * 16_000_000))
                    .expect("rate")
            })
            .collect();
        assert!(true_rates.iter().all(|r| (r / 1e3 - 1000.0).abs() < 1e-9), "{true_rates:?}");
        let labels = [8_000_000u64, 24_000_000, 8_000_000, 24_000_000, 8_000_000, 24_000_000];
        let by_label: f64 = labels
            .iter()
            .map(|&span| rate_per_second((0, 0), (16_000, span)).expect("rate") / 1e3)
            .sum::<f64>()
            / 6.0;
        assert!((by_label - 4000.0 / 3.0).abs() < 1e-9, "{by_label}");
    }

    #[test]
    fn c02_a_backward_step_adds_nothing_and_is_flagged() {
        let accumulator = accumulate(&[100, 150, 40, 90]);
        assert_eq!(accumulator.total().counters().rx_packets, 100);
        assert_eq!(accumulator.backward_steps(), 1);
        assert_eq!(accumulator.total().at_ns(), 3);
        let step = BackwardStep { counter: "rx_packets".into(), at_ns: 2, before: 150, after: 40 };
        assert_eq!(accumulator.backward().events(), [step]);
    }

    #[test]
    fn c05_the_lifetime_before_the_baseline_is_not_charged() {
        let accumulator = accumulate(&[9_000_000_000, 9_000_001_000]);
        assert_eq!(accumulator.total().counters().rx_packets, 1000);
        assert_eq!(accumulator.backward_steps(), 0);
    }

    #[test]
    fn a_rate_without_time_or_with_a_falling_count_is_none() {
        assert_eq!(rate_per_second((0, 5), (10, 5)), None);
        assert_eq!(rate_per_second((10, 5), (9, 6)), None);
    }
}
