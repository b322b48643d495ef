//! Levels and floors: what replicates reached, and how far a later value may fall below it.

use crate::analysis::quantile;
use crate::model::gate::Band;
use crate::model::response::Better;

/// Fewest replicates of a level or a new value.
pub const FEWEST: usize = 3;

/// A level counts as above the published one where even its worst replicate is above that by this part of
/// the tolerance. (The whole tolerance would hide falls of 33 %, a quarter bounds a hidden fall at 23.8 %.)
pub const STALE_PART: f64 = 0.25;

/// What replicates reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    pub median: f64,
    /// What the floor is taken from: the worst of three, the worse quartile of more, since the worst of many
    /// sinks as they grow.
    pub base: f64,
    /// The worst replicate.
    pub worst: f64,
    /// The best replicate.
    pub best: f64,
    pub n: usize,
}

/// None without values.
pub fn level(better: Better, replicates: &[f64]) -> Option<Level> {
    let mut sorted: Vec<f64> = replicates.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    if better == Better::Lower {
        sorted.reverse();
    }
    let (worst, best, n) = (*sorted.first()?, *sorted.last()?, sorted.len());
    // Position (n + 1) / 4 from the worse end, between order statistics where it is no whole number.
    let position = (n + 1) as f64 / 4.0;
    let at = (position.floor() as usize).clamp(1, n);
    let next = sorted[at.min(n - 1)];
    let quartile = sorted[at - 1] + (position - position.floor()) * (next - sorted[at - 1]);
    let base = if n <= FEWEST { worst } else { quartile };
    let mut rising = sorted;
    rising.sort_by(f64::total_cmp);
    let median = quantile::linear(&rising, 0.5)?;
    Some(Level { median, base, worst, best, n })
}

/// Is `value` worse than `than`?
pub fn worse(better: Better, value: f64, than: f64) -> bool {
    match better {
        Better::Higher => value < than,
        Better::Lower => value > than,
    }
}

/// The worst value that passes; itself it still passes. Of a response that is better when lower this is a
/// ceiling: the same ratio upward, `base / (1 - tolerance)`. A base of 0 allows nothing worse than 0 unless
/// the rule has a limit, and for a negative one the tolerance is a part of its size.
pub fn floor(better: Better, base: f64, band: Band) -> f64 {
    if let Some(limit) = band.limit {
        return limit;
    }
    match better {
        Better::Higher => base - base.abs() * band.tolerance,
        Better::Lower => base + base.abs() * (band.tolerance / (1.0 - band.tolerance)),
    }
}

/// The level above which the published one is stale.
pub fn stale_above(better: Better, median: f64, tolerance: f64) -> f64 {
    let part = tolerance * STALE_PART;
    match better {
        Better::Higher => median + median.abs() * part,
        Better::Lower => median - median.abs() * (part / (1.0 + part)),
    }
}

/// The worst base that may be published beside this median.
pub fn lowest_base(better: Better, median: f64, tolerance: f64) -> f64 {
    let part = tolerance * STALE_PART;
    match better {
        Better::Higher => median - median.abs() * part,
        Better::Lower => median + median.abs() * (part / (1.0 - part)),
    }
}

/// The fall that the floor really lets through from the best known level: 0.447 is 44.7 %. None where the
/// level has no ratio.
pub fn band_in_force(better: Better, floor: f64, best: f64) -> Option<f64> {
    if best <= 0.0 || floor < 0.0 {
        return None;
    }
    match better {
        Better::Higher => Some(1.0 - floor / best),
        Better::Lower if floor > 0.0 => Some(1.0 - best / floor),
        Better::Lower => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWENTY: Band = Band { tolerance: 0.2, limit: None };

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn the_lowest_of_three_makes_the_floor_and_a_fall_trips_it() {
        // Case G02, and the seed's own second fix.
        let level = level(Better::Higher, &[3.29e6, 3.25e6, 3.26e6]).unwrap();
        assert_eq!((level.base, level.median, level.n), (3.25e6, 3.26e6, 3));
        let floor = floor(Better::Higher, level.base, TWENTY);
        assert!(close(floor, 2.6e6), "{floor}");
        assert!(worse(Better::Higher, 2.4e6, floor) && close(2.4e6 / 3.25e6, 0.738_461_538_461_538_4));
    }

    #[test]
    fn beyond_three_the_quartile_counts_and_lower_is_better_is_mirrored() {
        let values: Vec<f64> = (1..=7).map(f64::from).collect();
        assert_eq!(level(Better::Higher, &values).unwrap().base, 2.0);
        assert_eq!(level(Better::Lower, &values).unwrap().base, 6.0);
        assert_eq!(level(Better::Higher, &[1.0, 2.0, 3.0, 4.0]).unwrap().base, 1.25);
        assert_eq!(level(Better::Lower, &[1.0, 2.0, 3.0, 4.0]).unwrap().base, 3.75);
        // A rate of 2.6 and a time of 1/2.6 are the same floor.
        let (rate, time) = (floor(Better::Higher, 3.25, TWENTY), floor(Better::Lower, 1.0 / 3.25, TWENTY));
        assert!(close(rate * time, 1.0), "{rate} {time}");
        assert_eq!(level(Better::Higher, &[]), None);
        assert_eq!(level(Better::Higher, &[5.0]).unwrap().base, 5.0);
    }

    #[test]
    fn bounds_of_a_relative_tolerance_are_those_of_the_declared_part() {
        // Case G06.
        let of = |better, base, tolerance| floor(better, base, Band { tolerance, limit: None });
        assert!(close(of(Better::Higher, 25200.0, 0.05), 23940.0));
        assert!(close(of(Better::Higher, 100.0, 0.1), 90.0));
        assert!(close(of(Better::Higher, -100.0, 0.05), -105.0));
        assert!(of(Better::Lower, -100.0, 0.05) > -100.0);
        // Case G05: around 0 a relative tolerance is empty, and nothing worse passes.
        assert_eq!(of(Better::Lower, 0.0, 0.05), 0.0);
        assert!(worse(Better::Lower, 1200.0, of(Better::Lower, 0.0, 0.05)));
        assert_eq!(floor(Better::Lower, 0.0, Band { tolerance: 0.05, limit: Some(5.0) }), 5.0);
    }

    #[test]
    fn the_band_in_force_is_told_from_the_best_known_level() {
        // Case G01 and METHOD: 2.28, 3.30 and 20 % give 44.7 %, and 30.9 % is only the distance.
        let floor = floor(Better::Higher, 2.28e6, TWENTY);
        assert!(close(floor, 1.824e6));
        let band = band_in_force(Better::Higher, floor, 3.3e6).unwrap();
        assert!((band - 0.447_272_727).abs() < 1e-6, "{band}");
        assert!(stale_above(Better::Higher, 2.28e6, 0.2) < 2.4e6, "2.40 alone shows that 2.28 is stale");
        // A quarter bounds a hidden fall at 23.8 %.
        let hidden = 1.0 - floor / stale_above(Better::Higher, 2.28e6, 0.2);
        assert!((hidden - 0.238).abs() < 5e-4, "{hidden}");
        assert_eq!(band_in_force(Better::Higher, 0.0, 0.0), None);
        let mirrored = stale_above(Better::Lower, 1.0 / 2.28, 0.2);
        assert!(close(mirrored * stale_above(Better::Higher, 2.28, 0.2), 1.0));
    }
}
