//! How precise an answer must be before a trial may stop.

use serde::{Deserialize, Serialize};

/// Blocks before the first look at the least; looking earlier costs coverage (91.4 % from four with a t
/// interval).
pub const FIRST_LOOK: u32 = 10;

/// Blocks between two looks; even, so that mirrored orders stay complete.
pub const STEP: u32 = 2;

/// `until: {halfwidth: 2%, of: rx_rate, most: 30}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Until {
    /// Relative half width of an interval that is enough: 0.02 is 2 %.
    pub halfwidth: f64,
    /// The response whose intervals are looked at.
    pub of: String,
    /// Blocks at most.
    pub most: u32,
}

impl Until {
    /// The next number of blocks after which intervals are looked at, from `blocks` on; the first look
    /// is after `first`.
    pub fn look_from(&self, first: u32, blocks: u32) -> u32 {
        let steps = blocks.saturating_sub(first).div_ceil(STEP);
        first.saturating_add(steps * STEP).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_two_blocks_apart_and_end_at_the_limit() {
        let until = Until { halfwidth: 0.02, of: "wall_time".into(), most: 15 };
        let looks = [0, 9, 10, 11, 12, 13, 14, 15].map(|blocks| until.look_from(10, blocks));
        assert_eq!(looks, [10, 10, 10, 12, 12, 14, 14, 15]);
        assert_eq!(until.look_from(20, 3), 15, "the limit holds before all else");
    }
}
