//! When frames are due: an absolute schedule that does not drift.

/// A steady rate for each stream, the streams evenly shifted against one another. A sender that was
/// held up catches up, because every frame's instant follows from the start alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Frames per second and stream.
    rate: f64,
    streams: u16,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("a rate of {0} frames/s is out of range: expected more than 0, up to 1e9 per stream, or `max`")]
pub struct RateError(pub String);

impl Pace {
    /// # Errors
    /// The rate is not a positive number up to 1e9.
    pub fn new(rate: f64, streams: u16) -> Result<Self, RateError> {
        if !(rate > 0.0 && rate <= 1e9) {
            return Err(RateError(rate.to_string()));
        }
        Ok(Self { rate, streams: streams.max(1) })
    }

    /// Frames of a stream that are due `elapsed_ns` after the start, the first one at its shift.
    #[must_use]
    pub fn due(&self, stream: u16, elapsed_ns: u64) -> u64 {
        let position = elapsed_ns as f64 * self.rate / 1e9 - self.shift(stream);
        if position < 0.0 { 0 } else { position as u64 + 1 }
    }

    /// Nanoseconds from the start until a stream's frame number `sequence` is due, rounded up.
    #[must_use]
    pub fn due_at_ns(&self, stream: u16, sequence: u64) -> u64 {
        ((sequence as f64 + self.shift(stream)) * 1e9 / self.rate).ceil() as u64
    }

    /// A stream's part of the distance between two frames.
    fn shift(&self, stream: u16) -> f64 {
        f64::from(stream) / f64::from(self.streams)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rates_that_are_no_rate_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e9] {
            assert!(Pace::new(rate, 1).is_err(), "{rate}");
        }
    }

    #[test]
    fn a_second_at_a_thousand_holds_a_thousand_frames_of_each_shifted_stream() {
        let pace = Pace::new(1000.0, 4).expect("a rate");
        assert_eq!((pace.due(0, 0), pace.due(1, 0), pace.due(1, 250_000)), (1, 0, 1));
        for stream in 0..4 {
            assert_eq!(pace.due(stream, 999_999_999), 1000, "stream {stream}");
        }
    }

    proptest! {
        #[test]
        fn a_frame_is_due_at_its_instant_and_not_a_microsecond_before(
            rate in 1.0f64..1e6, streams in 1u16..16, sequence in 0u64..1_000_000,
        ) {
            let pace = Pace::new(rate, streams).expect("a rate");
            let stream = streams - 1;
            let at = pace.due_at_ns(stream, sequence);
            prop_assert!(pace.due(stream, at + 1) > sequence);
            prop_assert!(at < 1000 || pace.due(stream, at - 1000) <= sequence);
        }
    }
}
