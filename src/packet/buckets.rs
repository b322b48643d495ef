//! Frames counted by the stamp of each one, in constant memory.

use super::window::{Window, halve_spans};

/// Span of a bucket until the traffic outgrows them.
const SPAN_NS: u64 = 100_000_000;
/// Buckets kept; beyond that neighbours are joined, so a result line stays far below the limit of 1 MiB.
pub const MOST_BUCKETS: usize = 2048;

/// Counts by time since an origin, the run's first stamp. Each frame carries its own stamp, so no
/// reading time enters.
#[derive(Debug, Clone, Default)]
pub struct StampBuckets {
    last_ns: u64,
    joined: u32,
    counts: Vec<u64>,
}

/// A span of traffic, from `at_ns - span_ns` to `at_ns` after the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampBucket {
    pub at_ns: u64,
    pub span_ns: u64,
    pub frames: u64,
    /// Inside the settle time, hence no part of the rate.
    pub settling: bool,
}

impl StampBuckets {
    /// Counts one frame that was stamped so long after the origin.
    pub fn count(&mut self, since_ns: u64) {
        self.last_ns = self.last_ns.max(since_ns);
        while since_ns / self.span_ns() >= MOST_BUCKETS as u64 {
            self.join();
        }
        let index = (since_ns / self.span_ns()) as usize;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    /// Adds the counts of another stream with the same origin.
    pub fn add(&mut self, other: &Self) {
        let mut other = other.clone();
        while self.joined < other.joined {
            self.join();
        }
        while other.joined < self.joined {
            other.join();
        }
        self.last_ns = self.last_ns.max(other.last_ns);
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
    }

    /// The same counts in at most `most` buckets.
    #[must_use]
    pub fn coarser(&self, most: usize) -> Self {
        let mut coarse = self.clone();
        while coarse.counts.len() > most.max(1) {
            coarse.join();
        }
        coarse
    }

    fn join(&mut self) {
        self.joined += 1;
        halve_spans(&mut self.counts, |a, b| a + b);
    }

    /// All buckets, those that begin inside the settle time marked.
    #[must_use]
    pub fn buckets(&self, settle_ns: u64) -> Vec<StampBucket> {
        let span_ns = self.span_ns();
        (0..)
            .zip(&self.counts)
            .map(|(index, &frames)| StampBucket {
                at_ns: span_ns.saturating_mul(index + 1),
                span_ns,
                frames,
                settling: index * span_ns < settle_ns,
            })
            .collect()
    }

    /// Frames between the settle time and the last bucket that the traffic filled; None where no
    /// whole bucket lies between.
    #[must_use]
    pub fn window(&self, settle_ns: u64) -> Option<Window> {
        let whole = self.buckets(settle_ns).into_iter().filter(|b| !b.settling && b.at_ns <= self.last_ns);
        let (frames, span_ns) = whole.fold((0, 0), |(f, s), b| (f + b.frames, s + b.span_ns));
        Window::new(frames, span_ns)
    }

    /// Length of each bucket.
    #[must_use]
    pub fn span_ns(&self) -> u64 {
        SPAN_NS << self.joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn steady(frames: u64, every_ns: u64) -> StampBuckets {
        let mut buckets = StampBuckets::default();
        (0..frames).for_each(|n| buckets.count(n * every_ns));
        buckets
    }

    #[test]
    fn settle_and_the_last_open_bucket_are_cut_from_the_rate() {
        // 1.05 s at a frame per millisecond.
        let buckets = steady(1051, MS);
        let window = buckets.window(200 * MS).expect("whole buckets");
        assert_eq!((window.frames, window.span_ns), (800, 800 * MS));
        let settling: Vec<bool> = buckets.buckets(150 * MS).iter().map(|b| b.settling).collect();
        assert_eq!(
            &settling[..3],
            [true, true, false],
            "a bucket that begins inside the settle time belongs to it"
        );
    }

    #[test]
    fn traffic_without_a_whole_bucket_has_no_rate() {
        assert_eq!(StampBuckets::default().window(0), None);
        assert_eq!(steady(99, MS).window(0), None);
        assert_eq!(steady(500, MS).window(450 * MS), None);
    }

    #[test]
    fn long_traffic_joins_buckets_and_loses_no_frame() {
        let buckets = steady(1_000_000, MS);
        let all = buckets.buckets(0);
        assert!(all.len() <= MOST_BUCKETS);
        assert_eq!(all.iter().map(|b| b.frames).sum::<u64>(), 1_000_000);
        let rate = buckets.window(0).expect("whole buckets").per_second();
        assert!((rate - 1000.0).abs() < 1.0, "{rate}");
    }

    #[test]
    fn a_stamp_that_jumps_by_centuries_stays_bounded() {
        let mut buckets = StampBuckets::default();
        for at in [1_000, u64::MAX, 0, 500] {
            buckets.count(at);
        }
        assert!(buckets.buckets(0).len() <= MOST_BUCKETS);
        assert_eq!(buckets.buckets(0).iter().map(|b| b.frames).sum::<u64>(), 4);
    }

    #[test]
    fn streams_of_any_length_add_up_to_the_buckets_of_both() {
        let (short, long) = (steady(1_500, MS), steady(1_000_000, MS));
        for (one, other) in [(&short, &long), (&long, &short)] {
            let mut sum = one.clone();
            sum.add(other);
            let mut both = long.clone();
            (0..1_500).for_each(|n| both.count(n * MS));
            assert_eq!((sum.buckets(0), sum.window(0)), (both.buckets(0), both.window(0)));
        }
        let coarse = short.coarser(4);
        assert_eq!((coarse.span_ns(), coarse.counts.clone()), (400 * MS, vec![400, 400, 400, 300]));
        assert_eq!(short.coarser(15).counts, short.counts);
    }
}
