//! Durations counted in buckets that grow with their size, in constant memory.

/// Parts of each doubling. A bucket's width is at most a 64th of its values, so a percentile read from
/// it is at most 1.6 % too high, and below 128 ns it is exact.
const PARTS: u64 = 64;
const PART_BITS: u32 = PARTS.trailing_zeros();
/// Doublings of a 64-bit number beyond those counted one by one.
const BUCKETS: usize = ((u64::BITS - PART_BITS + 1) as u64 * PARTS) as usize;

/// The percentiles that are told, each with the least number of values that carries it: so many that
/// a two-sided 95 % interval for it exists, whose ends are values seen; smallest n with p^n <= 0.025
/// (David and Nagaraja, Order Statistics, 2003, section 7.1).
pub const PERCENTILES: [(&str, f64, u64); 4] =
    [("p50", 0.5, 6), ("p90", 0.9, 36), ("p99", 0.99, 368), ("p99.9", 0.999, 3688)];

/// A histogram of nanoseconds with logarithmic buckets that are linear inside each doubling (the
/// layout of HdrHistogram). Takes 30 KiB whatever it counts.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: Box<[u64]>,
    count: u64,
    least_ns: u64,
    most_ns: u64,
    negative: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let counts = vec![0; BUCKETS].into_boxed_slice();
        Self { counts, count: 0, least_ns: u64::MAX, most_ns: 0, negative: 0 }
    }
}

impl Histogram {
    /// Counts the time from one instant to another. One that goes backward is no duration: it is
    /// counted apart.
    pub fn count_between(&mut self, from_ns: u64, to_ns: u64) {
        match to_ns.checked_sub(from_ns) {
            Some(ns) => self.count(ns),
            None => self.negative += 1,
        }
    }

    fn count(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.count += 1;
        self.least_ns = self.least_ns.min(ns);
        self.most_ns = self.most_ns.max(ns);
    }

    /// Values counted, without the negative ones.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.count
    }

    /// Times whose end lay before their start.
    #[must_use]
    pub fn negative(&self) -> u64 {
        self.negative
    }

    /// The smallest and the largest value, exactly; None where nothing was counted.
    #[must_use]
    pub fn extremes_ns(&self) -> Option<(u64, u64)> {
        (self.count > 0).then_some((self.least_ns, self.most_ns))
    }

    /// The value at rank ⌈p·n⌉, rounded up to the end of its bucket; None where nothing was counted.
    #[must_use]
    pub fn quantile_ns(&self, p: f64) -> Option<u64> {
        let rank = ((p * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut passed = 0;
        let holds = self.counts.iter().position(|count| {
            passed += count;
            passed >= rank
        })?;
        Some(last_of(holds).clamp(self.least_ns, self.most_ns))
    }
}

fn bucket(ns: u64) -> usize {
    // Doublings above the values that have a bucket each.
    let shift = (u64::BITS - PART_BITS).saturating_sub(1).saturating_sub(ns.leading_zeros());
    (u64::from(shift) * PARTS + (ns >> shift)) as usize
}

/// The largest value of a bucket.
fn last_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / PARTS).saturating_sub(1);
    let first = (bucket - shift * PARTS) << shift;
    first + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|&ns| histogram.count_between(0, ns));
        histogram
    }

    /// Nanoseconds of every size: the exponent is drawn first.
    fn durations() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((0u32..64, any::<u64>()).prop_map(|(shift, value)| value >> shift), 1..400)
    }

    proptest! {
        #[test]
        fn a_quantile_is_the_value_of_that_rank_in_a_sorted_list_and_at_most_a_64th_more(
            mut values in durations(), p in 0.0f64..=1.0,
        ) {
            let histogram = histogram(&values);
            values.sort_unstable();
            let rank = ((p * values.len() as f64).ceil() as usize).max(1);
            let exact = values[rank - 1];
            let read = histogram.quantile_ns(p).expect("counted");
            prop_assert!(read >= exact && read - exact <= exact / PARTS, "{} {}", read, exact);
            prop_assert_eq!(histogram.extremes_ns(), Some((values[0], *values.last().expect("one"))));
            prop_assert_eq!(histogram.counted(), values.len() as u64);
        }

        #[test]
        fn every_value_lies_in_a_bucket_of_its_own_size(shift in 0u32..64, value: u64) {
            let ns = value >> shift;
            let index = bucket(ns);
            prop_assert!(last_of(index) >= ns && (index == 0 || last_of(index - 1) < ns), "{}", ns);
        }
    }

    #[test]
    fn the_ends_of_the_scale_have_buckets() {
        assert_eq!((bucket(0), bucket(u64::MAX)), (0, BUCKETS - 1));
        assert_eq!(last_of(BUCKETS - 1), u64::MAX);
        assert_eq!(histogram(&[0, u64::MAX]).quantile_ns(1.0), Some(u64::MAX));
    }

    #[test]
    fn nothing_counted_has_no_percentile_and_a_step_back_is_no_duration() {
        let mut histogram = Histogram::default();
        histogram.count_between(7, 5);
        assert_eq!((histogram.quantile_ns(0.5), histogram.extremes_ns()), (None, None));
        assert_eq!((histogram.counted(), histogram.negative()), (0, 1));
    }

    #[test]
    fn each_percentile_is_told_from_the_first_n_whose_extremes_enclose_it_in_95_of_100_samples() {
        for (name, p, least) in PERCENTILES {
            let outside = |n: u64| p.powf(n as f64).max((1.0 - p).powf(n as f64));
            assert!(outside(least) <= 0.025 && outside(least - 1) > 0.025, "{name}");
        }
    }
}
