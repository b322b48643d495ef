//! When a campaign may stop: by the width of an interval, never by significance.

use super::findings::Interval;
use super::judge::pooled_intervals;
use super::of_record;
use crate::evidence::fold::Evidence;
use crate::model::until::Until;

/// Whether every pooled effect of a record is known as precisely as its campaign asks. Neither p nor
/// the position of an interval is looked at, so stopping favours no answer. True where the campaign
/// does not ask.
pub fn enough(evidence: &Evidence) -> bool {
    let until = evidence.opening.as_ref().and_then(|opening| opening.until.as_ref());
    until.is_none_or(|until| precise(&pooled_intervals(&of_record::trial(evidence), &until.of), until))
}

/// Whether the intervals, of ratios, are all narrow enough. One that does not exist is not narrow; where
/// no arm is left to compare, more blocks would tell nothing.
pub fn precise(intervals: &[Option<Interval>], until: &Until) -> bool {
    // A ratio from low to high is its middle times or divided by the root of high / low.
    let narrow = |interval: &Option<Interval>| {
        interval.is_some_and(|i| i.low > 0.0 && (i.high / i.low).sqrt() <= 1.0 + until.halfwidth)
    };
    intervals.iter().all(narrow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until() -> Until {
        Until { halfwidth: 0.02, of: "wall_time".into(), most: 30 }
    }

    fn interval(centre: f64, half: f64) -> Option<Interval> {
        Some(Interval { low: centre / half, high: centre * half, confidence: 0.95 })
    }

    #[test]
    fn the_widest_interval_decides_and_its_place_does_not() {
        for centre in [1.0, 1.6, 0.6] {
            assert!(precise(&[interval(centre, 1.0199)], &until()));
            assert!(!precise(&[interval(centre, 1.0201)], &until()));
        }
        assert!(!precise(&[interval(1.0, 1.001), interval(1.0, 1.1)], &until()));
    }

    #[test]
    fn what_has_no_interval_or_an_open_one_is_never_precise() {
        let open = Interval { low: 0.9, high: f64::INFINITY, confidence: 0.95 };
        assert!(!precise(&[None], &until()) && !precise(&[Some(open)], &until()));
        let open = Interval { low: f64::NEG_INFINITY, high: 1.0, confidence: 0.95 };
        assert!(!precise(&[Some(open)], &until()));
    }
}
