//! What became of one stream's frames, in constant memory at any length.

/// Sequence numbers told apart behind the highest one seen; 8 KiB a stream. A link that reorders
/// frames further than this does not carry anything that could be measured.
pub const WINDOW: u64 = 1 << 16;
const WORDS: usize = (WINDOW / 64) as usize;

/// Counts of one stream while frames come in.
///
/// A bitmap of the last `WINDOW` sequence numbers up to the highest seen tells a late frame from a
/// duplicate. A frame older than that cannot be told; it is counted as `too_late` and neither as
/// intact nor as duplicated, so `lost` may be too high but never too low.
#[derive(Debug, Clone)]
pub struct Ledger {
    window: Box<[u64]>,
    highest: Option<u64>,
    counts: Counts,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
}

/// What is known of a stream's frames. `received` = intact + duplicated + corrupted + too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub received: u64,
    /// Distinct sequence numbers that arrived with every byte right.
    pub intact: u64,
    /// Further intact copies of those.
    pub duplicated: u64,
    /// Intact first arrivals after a higher sequence number (RFC 4737, reordered singletons).
    pub reordered: u64,
    pub corrupted: u64,
    pub too_late: u64,
}

/// A closed ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// As the sender says; None when it never said.
    pub sent: Option<u64>,
    pub counts: Counts,
    /// Sent and not intact here; without the sender's word, the gaps below the highest sequence seen.
    pub lost: u64,
    /// Sequence numbers beyond what the sender says it sent: then its word or ours is wrong.
    pub excess: u64,
    /// The earliest and the latest stamp of an own frame, on the clock of the stamps; None where no frame had one.
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
}

impl Default for Ledger {
    fn default() -> Self {
        let window = vec![0; WORDS].into_boxed_slice();
        Self { window, highest: None, counts: Counts::default(), first_ns: None, last_ns: None }
    }
}

impl Ledger {
    /// Enters a frame with every byte right; true when its sequence number is new.
    pub fn intact(&mut self, sequence: u64, at_ns: Option<u64>) -> bool {
        self.stamp(at_ns);
        let next = self.highest.map_or(0, |h| h.saturating_add(1));
        if self.highest.is_none() || sequence >= next {
            self.forget(next, sequence);
            self.highest = Some(sequence);
        } else if next - 1 - sequence >= WINDOW {
            self.counts.too_late += 1;
            return false;
        } else if self.holds(sequence) {
            self.counts.duplicated += 1;
            return false;
        } else {
            self.counts.reordered += 1;
        }
        let (word, bit) = place(sequence);
        self.window[word] |= bit;
        self.counts.intact += 1;
        true
    }

    /// Enters one of ours with wrong bytes. It marks no sequence number, so its frame stays lost.
    pub fn corrupted(&mut self, at_ns: Option<u64>) {
        self.stamp(at_ns);
        self.counts.corrupted += 1;
    }

    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Judges the stream against the sender's word.
    #[must_use]
    pub fn close(&self, sent: Option<u64>) -> Account {
        let seen = self.highest.map_or(0, |h| h.saturating_add(1));
        let excess = sent.map_or(0, |sent| seen.saturating_sub(sent));
        let expected = sent.map_or(seen, |sent| sent.max(seen));
        Account {
            sent,
            counts: self.counts,
            lost: expected.saturating_sub(self.counts.intact).saturating_sub(excess),
            excess,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
        }
    }

    /// A stream that is spread over queues is entered in the order of its threads, so a later entry may
    /// carry an earlier stamp.
    fn stamp(&mut self, at_ns: Option<u64>) {
        self.counts.received += 1;
        let Some(at_ns) = at_ns else { return };
        self.first_ns = Some(self.first_ns.map_or(at_ns, |first| first.min(at_ns)));
        self.last_ns = self.last_ns.max(Some(at_ns));
    }

    fn holds(&self, sequence: u64) -> bool {
        let (word, bit) = place(sequence);
        self.window[word] & bit != 0
    }

    /// Clears the places of the sequence numbers from `from` to `to`, which now enter the window.
    fn forget(&mut self, from: u64, to: u64) {
        if to - from >= WINDOW {
            self.window.fill(0);
            return;
        }
        for sequence in from..=to {
            let (word, bit) = place(sequence);
            self.window[word] &= !bit;
        }
    }
}

impl Account {
    /// Everything sent arrived once, whole, and nothing else did. Order does not matter.
    #[must_use]
    pub fn exactly_once(&self) -> bool {
        let c = &self.counts;
        self.sent == Some(c.intact) && c.duplicated + c.corrupted + c.too_late + self.lost + self.excess == 0
    }
}

fn place(sequence: u64) -> (usize, u64) {
    ((sequence / 64 % WORDS as u64) as usize, 1 << (sequence % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The same words without a limit of memory.
    #[derive(Default)]
    struct Naive {
        seen: BTreeSet<u64>,
        counts: Counts,
    }

    impl Naive {
        fn intact(&mut self, sequence: u64) {
            self.counts.received += 1;
            let highest = self.seen.last().copied();
            if highest.is_some_and(|h| h >= WINDOW && sequence <= h - WINDOW) {
                self.counts.too_late += 1;
            } else if self.seen.insert(sequence) {
                self.counts.intact += 1;
                self.counts.reordered += u64::from(highest.is_some_and(|h| sequence < h));
            } else {
                self.counts.duplicated += 1;
            }
        }
    }

    fn compare(events: &[Option<u64>], sent: u64) -> Result<(), TestCaseError> {
        let (mut ledger, mut naive) = (Ledger::default(), Naive::default());
        for (at, event) in (1..).zip(events) {
            match event {
                Some(sequence) => {
                    let new = ledger.intact(*sequence, Some(at));
                    let before = naive.counts.intact;
                    naive.intact(*sequence);
                    prop_assert_eq!(new, naive.counts.intact > before);
                }
                None => {
                    ledger.corrupted(Some(at));
                    naive.counts.received += 1;
                    naive.counts.corrupted += 1;
                }
            }
        }
        let account = ledger.close(Some(sent));
        prop_assert_eq!(account.counts, naive.counts);
        let missing = sent - naive.seen.range(..sent).count() as u64;
        if account.excess == 0 {
            prop_assert_eq!(account.lost, missing);
        }
        let clean = missing == 0 && naive.counts.received == sent;
        prop_assert_eq!(account.exactly_once(), clean && account.excess == 0 && naive.counts.corrupted == 0);
        prop_assert_eq!(account.first_ns, (!events.is_empty()).then_some(1));
        prop_assert_eq!(account.last_ns, (!events.is_empty()).then_some(events.len() as u64));
        Ok(())
    }

    proptest! {
        #[test]
        fn any_order_loss_duplication_and_corruption_counts_as_the_naive_model_counts(
            events in prop::collection::vec(prop::option::weighted(0.9, 0u64..300), 0..600),
            sent in 0u64..320,
        ) {
            compare(&events, sent)?;
        }

        #[test]
        fn jumps_around_the_edge_of_the_window_count_as_the_naive_model_counts(
            jumps in prop::collection::vec((0u64..4, 0u64..70), 0..60),
        ) {
            let events: Vec<_> = jumps.iter().map(|(far, near)| Some(far * (WINDOW - 32) + near)).collect();
            compare(&events, 5 * WINDOW)?;
        }
    }

    #[test]
    fn an_exact_stream_is_exactly_once_and_one_missing_frame_is_not() {
        let mut ledger = Ledger::default();
        (0..3 * WINDOW).for_each(|s| assert!(ledger.intact(s, Some(s))));
        assert!(ledger.close(Some(3 * WINDOW)).exactly_once());
        let short = ledger.close(Some(3 * WINDOW + 1));
        assert_eq!((short.lost, short.exactly_once()), (1, false));
        assert!(!ledger.close(None).exactly_once(), "without the sender's word nothing is proven");
    }

    #[test]
    fn p07_more_than_was_sent_is_excess_and_never_a_clamped_zero_loss() {
        let mut ledger = Ledger::default();
        (0..12).for_each(|s| assert!(ledger.intact(s, None)));
        let account = ledger.close(Some(10));
        assert_eq!((account.excess, account.lost, account.exactly_once()), (2, 0, false));
    }

    #[test]
    fn a_corrupted_frame_leaves_its_sequence_lost() {
        let mut ledger = Ledger::default();
        assert!(ledger.intact(0, Some(1)));
        ledger.corrupted(Some(2));
        let account = ledger.close(Some(2));
        assert_eq!((account.lost, account.counts.corrupted, account.exactly_once()), (1, 1, false));
    }

    #[test]
    fn the_highest_number_of_all_does_not_overflow() {
        let mut ledger = Ledger::default();
        assert!(ledger.intact(u64::MAX, None));
        assert!(!ledger.intact(3, None), "far behind");
        assert_eq!(ledger.counts().too_late, 1);
    }
}
