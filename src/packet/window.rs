//! A count over a span of time.

/// Frames over the nanoseconds between two instants, never an empty span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub frames: u64,
    pub span_ns: u64,
}

impl Window {
    /// None for an empty span.
    #[must_use]
    pub fn new(frames: u64, span_ns: u64) -> Option<Self> {
        (span_ns > 0).then_some(Self { frames, span_ns })
    }

    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.span_ns as f64 / 1e9
    }

    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.frames as f64 / self.seconds()
    }
}

/// Joins neighbours, so that half as many spans, each twice as long, cover the same time.
pub fn halve_spans<T: Copy>(spans: &mut Vec<T>, join: impl Fn(T, T) -> T) {
    let joined = spans.chunks(2).map(|pair| if let [a, b] = *pair { join(a, b) } else { pair[0] }).collect();
    *spans = joined;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_last_span_is_kept_when_neighbours_are_joined() {
        let mut spans = vec![1, 2, 3, 4, 5];
        halve_spans(&mut spans, |a, b| a + b);
        assert_eq!(spans, [3, 7, 5]);
    }

    #[test]
    fn a_window_without_time_does_not_exist() {
        assert_eq!(Window::new(5, 0), None);
        assert!((Window::new(5, 500_000_000).expect("half a second").per_second() - 10.0).abs() < 1e-12);
    }
}
