//! One effect as a row of a forest plot: every block as a dot, the interval as a line, the estimate as a diamond.

use super::axis::Axis;
use super::svg::{Svg, at};

/// Size of one row in CSS pixels.
pub const WIDTH: f64 = 320.0;
pub const HEIGHT: f64 = 40.0;
const EDGE: f64 = 8.0;

/// What one row shows; all numbers are on the axis.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub told: String,
    pub estimate: Option<f64>,
    /// An infinite end is open.
    pub interval: Option<(f64, f64)>,
    /// What timeouts leave of an estimate that is no number.
    pub bounds: Option<(f64, f64)>,
    /// The differences that count as none.
    pub margin: Option<(f64, f64)>,
    pub neutral: f64,
    pub blocks: Vec<Block>,
    pub class: String,
    pub pooled: bool,
}

/// One block's own effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Infinite where one of its runs timed out.
    pub value: f64,
    pub label: String,
    pub href: Option<String>,
}

/// The axis that all rows of one table share.
pub fn axis<'r>(rows: impl IntoIterator<Item = &'r Row>, log: bool) -> Option<Axis> {
    let of = |row: &Row| {
        let pairs = [row.interval, row.bounds, row.margin].into_iter().flatten().flat_map(|(a, b)| [a, b]);
        let mut values: Vec<f64> = pairs.chain(row.estimate).chain([row.neutral]).collect();
        values.extend(row.blocks.iter().map(|b| b.value));
        values
    };
    Axis::over(rows.into_iter().flat_map(of), log, (EDGE, WIDTH - EDGE))
}

/// Ticks of the axis for the head of the table; decoration, since the numbers stand in the rows.
pub fn scale(axis: &Axis, tick: &dyn Fn(f64) -> String) -> String {
    let mut svg = Svg::new(WIDTH, 18.0);
    let mut free = f64::NEG_INFINITY;
    for value in axis.ticks(4) {
        let (x, text) = (axis.at(value), tick(value));
        let half = 3.4 * text.chars().count() as f64;
        svg.line("tick", (x, 14.0), (x, 18.0));
        if x - half > free {
            let (class, x) = match (x - half < 0.0, x + half > WIDTH) {
                (true, _) => ("l", 0.0),
                (_, true) => ("r", WIDTH),
                _ => ("m", x),
            };
            svg.text(class, (x, 11.0), &text);
            free = x + half + 4.0;
        }
    }
    svg.finish("forest", "scale of the column")
}

/// One row.
pub fn row(row: &Row, axis: &Axis, tick_count: usize) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let middle = HEIGHT - 12.0;
    if let Some((low, high)) = row.margin {
        svg.rect("margin", (axis.at(low), 0.0), (axis.at(high) - axis.at(low), HEIGHT));
    }
    for tick in axis.ticks(tick_count) {
        svg.line("grid", (axis.at(tick), 0.0), (axis.at(tick), HEIGHT));
    }
    svg.line("none", (axis.at(row.neutral), 0.0), (axis.at(row.neutral), HEIGHT));
    for (i, block) in row.blocks.iter().enumerate() {
        // By place and not by chance, so that equal values stay apart and bytes stay the same.
        let y = 5.0 + (i % 3) as f64 * 4.5;
        let x = axis.at(block.value);
        let mark = match block.value.is_finite() {
            true => format!("<circle class=\"dot\" cx=\"{}\" cy=\"{}\" r=\"3\"/>", at(x), at(y)),
            false => {
                let out = if block.value > 0.0 { 6 } else { -6 };
                format!(
                    "<path class=\"open\" d=\"M{} {}m0-3l{out} 3l{} 3\"/>",
                    at(x - f64::from(out)),
                    at(y),
                    -out
                )
            }
        };
        svg.labelled(block.href.as_deref(), &block.label, &mark);
    }
    let class = &row.class;
    if let Some((low, high)) = row.interval.or(row.bounds) {
        let dashed = if row.interval.is_none() { " dashed" } else { "" };
        svg.line(&format!("reach {class}{dashed}"), (axis.at(low), middle), (axis.at(high), middle));
        for (end, out) in [(low, -1.0), (high, 1.0)] {
            let x = axis.at(end);
            match end.is_finite() {
                true => svg.line(&format!("reach {class}"), (x, middle - 4.0), (x, middle + 4.0)),
                // An arrow: it goes on.
                false => svg.path(
                    &format!("reach {class}"),
                    &format!(
                        "M{} {}l{} 4l{} 4",
                        at(x - out * 5.0),
                        at(middle - 4.0),
                        at(out * 5.0),
                        at(-out * 5.0)
                    ),
                ),
            }
        }
    }
    if let Some(estimate) = row.estimate {
        let (x, r) = (axis.at(estimate), if row.pooled { 7.0 } else { 5.0 });
        svg.path(
            &format!("estimate {class}"),
            &format!("M{} {}l{r} {r}l-{r} {r}l-{r}-{r}z", at(x), at(middle - r)),
        );
    }
    svg.finish("forest", &row.told)
}
