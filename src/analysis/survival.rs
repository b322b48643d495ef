//! Times of which some did not end before their deadline: Kaplan–Meier median and restricted mean.

/// A time, and whether it was seen to end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    pub at: f64,
    pub ended: bool,
}

/// Steps of the estimated share that is still running, as (time, share from then on), by the product
/// of what survives each end (Kaplan & Meier 1958). At equal times ends count before deadlines.
fn steps(times: &[Time]) -> Vec<(f64, f64)> {
    let mut sorted = times.to_vec();
    sorted.sort_by(|a, b| a.at.total_cmp(&b.at).then(b.ended.cmp(&a.ended)));
    let mut share = 1.0;
    let mut steps: Vec<(f64, f64)> = vec![];
    let mut from = 0;
    while from < sorted.len() {
        let at = sorted[from].at;
        let to = from + sorted[from..].iter().take_while(|t| t.at == at).count();
        let ended = sorted[from..to].iter().filter(|t| t.ended).count();
        if ended > 0 {
            share *= 1.0 - ended as f64 / (sorted.len() - from) as f64;
            steps.push((at, share));
        }
        from = to;
    }
    steps
}

/// The first time at which no more than half are still running; between two ends that leave exactly
/// half, their middle, as the plain median has it. None where it never falls so far.
pub fn median(times: &[Time]) -> Option<f64> {
    // Products of fractions miss one half by rounding.
    const HALF: f64 = 0.5 + 1e-12;
    let steps = steps(times);
    let first = steps.iter().position(|(_, share)| *share <= HALF)?;
    let (at, share) = steps[first];
    let next = steps.get(first + 1).filter(|_| share >= 1.0 - HALF);
    match (next, share >= 1.0 - HALF) {
        (Some((next, _)), _) => Some(at + (next - at) / 2.0),
        (None, true) => None,
        (None, false) => Some(at),
    }
}

/// Mean time up to `limit`, counting whatever takes longer as `limit`: the area below the share that
/// is still running. None without times, or where the last deadline came before `limit` with some
/// still running, so that the rest of the area is unknown.
pub fn restricted_mean(times: &[Time], limit: f64) -> Option<f64> {
    let last = times.iter().map(|t| t.at).fold(f64::NEG_INFINITY, f64::max);
    let steps = steps(times);
    let left = steps.last().map_or(1.0, |s| s.1);
    if times.is_empty() || (last < limit && left > 0.0) {
        return None;
    }
    let (mut area, mut from, mut share) = (0.0, 0.0, 1.0);
    for (at, then) in steps.into_iter().take_while(|(at, _)| *at < limit) {
        area += (at - from) * share;
        (from, share) = (at, then);
    }
    Some(area + (limit - from) * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(ended: &[f64], running: &[f64]) -> Vec<Time> {
        let of = |at: &f64, ended| Time { at: *at, ended };
        ended.iter().map(|t| of(t, true)).chain(running.iter().map(|t| of(t, false))).collect()
    }

    #[test]
    fn timeouts_count_as_the_limit_in_the_restricted_mean_and_stand_above_the_median() {
        // Case T01.
        let a = times(&[2.1, 2.2, 2.4], &[10.0; 4]);
        assert!((restricted_mean(&a, 10.0).expect("mean") - 6.671_428_571_428_571).abs() < 1e-12);
        assert_eq!(median(&a), None);
        let b = times(&[5.0, 5.2, 5.1, 5.3, 5.4, 5.5, 5.6], &[]);
        assert!((restricted_mean(&b, 10.0).expect("mean") - 5.3).abs() < 1e-12);
        assert_eq!(median(&b), Some(5.3));
    }

    #[test]
    fn deadlines_before_the_end_take_weight_from_what_follows() {
        // Freireich's 6-MP arm (1963), a textbook example: median 23 weeks.
        let remission = times(
            &[6.0, 6.0, 6.0, 7.0, 10.0, 13.0, 16.0, 22.0, 23.0],
            &[6.0, 9.0, 10.0, 11.0, 17.0, 19.0, 20.0, 25.0, 32.0, 32.0, 34.0, 35.0],
        );
        assert_eq!(median(&remission), Some(23.0));
        assert_eq!(restricted_mean(&remission, 36.0), None, "nobody was watched that long");
        assert!((restricted_mean(&remission, 35.0).expect("mean") - 23.287_394_957_983_19).abs() < 1e-9);
    }

    #[test]
    fn without_timeouts_both_are_the_plain_ones() {
        let even = times(&[1.0, 2.0, 4.0, 8.0], &[]);
        assert_eq!((median(&even), restricted_mean(&even, 10.0)), (Some(3.0), Some(3.75)));
        assert_eq!(restricted_mean(&even, 4.0), Some(2.75), "8 counts as 4");
        assert_eq!((median(&[]), restricted_mean(&[], 1.0)), (None, None));
    }
}
