//! Sums that lose no digits: values are taken from a shift first, and what an addition drops is kept.

/// Sum with the rounding of every addition carried along (Neumaier 1974).
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0_f64, 0.0);
    for value in values {
        let next = total + value;
        lost += if total.abs() >= value.abs() { (total - next) + value } else { (value - next) + total };
        total = next;
    }
    total + lost
}

/// A value from the middle of the data, and the distance of each value from it. Within a factor of
/// two of the shift the distance is exact (Sterbenz 1974), so a large common offset costs no digit.
/// None without values, or where one is not finite.
pub fn shifted(values: &[f64]) -> Option<(f64, Vec<f64>)> {
    if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut middle = values.to_vec();
    let at = middle.len() / 2;
    let shift = *middle.select_nth_unstable_by(at, f64::total_cmp).1;
    Some((shift, values.iter().map(|v| v - shift).collect()))
}

/// Mean and the sum of squared distances from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    pub n: usize,
    pub mean: f64,
    pub squares: f64,
}

/// Two passes over shifted values, the second corrected for what the first mean was off (Chan,
/// Golub & LeVeque 1983). None without values, or where one is not finite.
pub fn moments(values: &[f64]) -> Option<Moments> {
    let (shift, distances) = shifted(values)?;
    let n = values.len();
    let offset = sum(distances.iter().copied()) / n as f64;
    let squares = squares_about(&distances, offset);
    Some(Moments { n, mean: shift + offset, squares })
}

/// Sum of squared distances from a mean that is right but for rounding.
pub fn squares_about(values: &[f64], mean: f64) -> f64 {
    let off = sum(values.iter().map(|v| v - mean));
    let squares = sum(values.iter().map(|v| (v - mean) * (v - mean)));
    (squares - off * off / values.len() as f64).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_keeps_what_plain_addition_drops() {
        assert_eq!(sum([1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(sum([]), 0.0);
        assert_eq!(sum((0..10).map(|_| 0.1)), 1.0);
    }

    #[test]
    fn an_offset_of_a_million_million_costs_no_digit() {
        // 0.25 and 0.75 are exact beside 10^12, so the right answers are too.
        let values: Vec<f64> = (0..1000).map(|i| 1e12 + if i % 2 == 0 { 0.25 } else { 0.75 }).collect();
        let found = moments(&values).expect("moments");
        assert_eq!((found.mean, found.squares), (1e12 + 0.5, 62.5));
    }

    #[test]
    fn a_wild_first_value_does_not_spoil_the_others() {
        let (shift, distances) = shifted(&[1e15, 1.1, 1.2, 1.3, 1.4]).expect("values");
        assert_eq!(shift, 1.3);
        assert_eq!(distances[1], 1.1 - 1.3);
        assert_eq!(shifted(&[1.0, f64::NAN]), None);
        assert_eq!(moments(&[]), None);
    }
}
