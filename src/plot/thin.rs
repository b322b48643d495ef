//! Fewer points for drawing, chosen so that nothing that stands out is lost.

/// At most about `most` of these points, which are in the order of x: the first and the last, and of each
/// of equal slices the lowest and the highest, where they stand. All of them where they are few enough.
pub fn extremes(points: &[(f64, f64)], most: usize) -> Vec<usize> {
    let most = most.max(4);
    if points.len() <= most {
        return (0..points.len()).collect();
    }
    let slices = (most - 2) / 2;
    let inner = points.len() - 2;
    let mut kept = vec![0];
    for slice in 0..slices {
        let (from, to) = (1 + slice * inner / slices, 1 + (slice + 1) * inner / slices);
        let places = || (from..to).filter(|i| points[*i].1.is_finite());
        let lowest = places().min_by(|a, b| points[*a].1.total_cmp(&points[*b].1));
        let highest = places().max_by(|a, b| points[*a].1.total_cmp(&points[*b].1));
        let mut ends: Vec<usize> = lowest.into_iter().chain(highest).collect();
        ends.sort_unstable();
        ends.dedup();
        kept.extend(ends);
    }
    kept.push(points.len() - 1);
    kept
}
