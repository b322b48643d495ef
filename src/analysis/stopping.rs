//! When a campaign may stop: by the width of an interval, never by significance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::findings::Interval;

/// Blocks before the first look; looking earlier costs coverage (91.4 % from four with a t interval).
pub const FIRST_LOOK: u32 = 10;

/// Blocks between two looks; even, so that mirrored orders stay complete.
pub const STEP: u32 = 2;

/// `until: {halfwidth: 2%, of: rx_rate, most: 30}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Until {
    /// Relative half width that is enough: 0.02 is 2 %.
    pub halfwidth: f64,
    /// Blocks at most.
    pub most: u32,
}

/// What to do after some blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Measure on until there are this many blocks, then look again.
    GoOn { until_blocks: u32 },
    /// Every interval is narrow enough.
    Precise,
    /// The limit is reached and an interval is still too wide.
    AtMost,
}

/// Decides after `blocks` complete blocks from the intervals of the effects, as logs of ratios; an
/// effect without an interval is not narrow. Neither p nor the position of an interval is looked at,
/// so stopping favours no answer.
pub fn decide(blocks: u32, intervals: &[Option<Interval>], until: &Until) -> Decision {
    let first = FIRST_LOOK.min(until.most);
    if blocks < first {
        return Decision::GoOn { until_blocks: first };
    }
    let narrow = |interval: &Option<Interval>| {
        interval.is_some_and(|i| (i.high - i.low) / 2.0 <= until.halfwidth.ln_1p())
    };
    let looks = (blocks - first).is_multiple_of(STEP) || blocks >= until.most;
    if looks && !intervals.is_empty() && intervals.iter().all(narrow) {
        Decision::Precise
    } else if blocks >= until.most {
        Decision::AtMost
    } else {
        Decision::GoOn { until_blocks: (blocks + STEP - (blocks - first) % STEP).min(until.most) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNTIL: Until = Until { halfwidth: 0.02, most: 15 };

    fn interval(centre: f64, half: f64) -> Option<Interval> {
        Some(Interval { low: centre - half, high: centre + half, confidence: 0.95 })
    }

    #[test]
    fn nobody_looks_before_ten_blocks_and_then_at_every_second() {
        let narrow = [interval(0.0, 0.001)];
        assert_eq!(decide(0, &narrow, &UNTIL), Decision::GoOn { until_blocks: 10 });
        assert_eq!(decide(9, &narrow, &UNTIL), Decision::GoOn { until_blocks: 10 });
        assert_eq!(decide(10, &narrow, &UNTIL), Decision::Precise);
        assert_eq!(decide(11, &narrow, &UNTIL), Decision::GoOn { until_blocks: 12 });
        assert_eq!(decide(12, &narrow, &UNTIL), Decision::Precise);
    }

    #[test]
    fn the_widest_interval_decides_and_its_place_does_not() {
        for centre in [0.0, 0.5, -0.5] {
            assert_eq!(decide(10, &[interval(centre, 0.0198)], &UNTIL), Decision::Precise);
            assert_eq!(decide(10, &[interval(centre, 0.0199)], &UNTIL), Decision::GoOn { until_blocks: 12 });
        }
        let one_wide = [interval(0.0, 0.001), interval(0.0, 0.1)];
        assert_eq!(decide(12, &one_wide, &UNTIL), Decision::GoOn { until_blocks: 14 });
        assert_eq!(decide(12, &[None], &UNTIL), Decision::GoOn { until_blocks: 14 });
        assert_eq!(decide(12, &[], &UNTIL), Decision::GoOn { until_blocks: 14 });
    }

    #[test]
    fn the_limit_ends_it_even_between_two_looks() {
        let wide = [interval(0.0, 0.1)];
        assert_eq!(decide(14, &wide, &UNTIL), Decision::GoOn { until_blocks: 15 });
        assert_eq!(decide(15, &wide, &UNTIL), Decision::AtMost);
        assert_eq!(decide(15, &[interval(0.0, 0.001)], &UNTIL), Decision::Precise);
        assert_eq!(decide(6, &wide, &Until { most: 6, ..UNTIL }), Decision::AtMost);
    }
}
