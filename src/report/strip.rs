//! Dots on a line: where the runs of a cell lie.

use serde::Serialize;

/// Size of a strip in CSS pixels.
pub const WIDTH: f64 = 180.0;
pub const HEIGHT: f64 = 24.0;
const EDGE: f64 = 5.0;

/// Dots ready to draw; coordinates are texts with one decimal, so that bytes are stable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Strip {
    /// What a reader without eyes for it is told.
    pub title: String,
    pub dots: Vec<Dot>,
    /// Where the median stands, for runs.
    pub median: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dot {
    pub x: String,
    pub y: String,
    pub label: String,
}

/// Smallest and largest of some finite values; None without any.
pub fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|v| v.is_finite());
    finite.fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((low, high)) => Some((v.min(low), v.max(high))),
    })
}

/// One dot per labelled value along x, on a scale that neighbours share; the height cycles by
/// position so that equal values stay apart.
pub fn of_runs(title: String, values: &[(f64, String)], median: Option<f64>, scale: (f64, f64)) -> Strip {
    let dot = |(i, (value, label)): (usize, &(f64, String))| Dot {
        x: along(*value, scale, WIDTH),
        y: text(EDGE + (i % 4) as f64 * (HEIGHT - 2.0 * EDGE) / 3.0),
        label: label.clone(),
    };
    let dots = values.iter().enumerate().map(dot).collect();
    Strip { title, dots, median: median.map(|m| along(m, scale, WIDTH)) }
}

fn along(value: f64, scale: (f64, f64), length: f64) -> String {
    text(place(value, scale, length))
}

fn place(value: f64, (low, high): (f64, f64), length: f64) -> f64 {
    let share = if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
    let share = if share.is_finite() { share } else { 0.5 };
    EDGE + share * (length - 2.0 * EDGE)
}

fn text(coordinate: f64) -> String {
    format!("{coordinate:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_stay_inside_and_never_are_nan() {
        let values: Vec<(f64, String)> =
            [1.0, 1.0, 3.0, f64::MAX].iter().map(|v| (*v, v.to_string())).collect();
        let scale = range(values.iter().map(|v| v.0)).expect("range");
        let strip = of_runs("runs".into(), &values, Some(2.0), scale);
        for dot in &strip.dots {
            let x: f64 = dot.x.parse().expect("number");
            assert!((EDGE..=WIDTH - EDGE).contains(&x), "{x}");
        }
        assert_eq!(range([f64::NAN]), None);
    }
}
