//! The primary response of a campaign's records as points in their order.

use serde::Serialize;

use super::campaign::RecordRow;
use super::number::Scale;
use crate::analysis::change_point::ChangePoints;

pub const WIDTH: f64 = 720.0;
pub const HEIGHT: f64 = 220.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 28.0;

/// Ready to draw; coordinates are texts with one decimal, so that bytes are stable.
#[derive(Debug, Serialize)]
pub struct Trend {
    pub title: String,
    pub width: String,
    pub height: String,
    pub left: String,
    pub right: String,
    pub bottom: String,
    /// Values written beside the axis, with their place.
    pub ticks: Vec<(String, String)>,
    pub points: Vec<Point>,
    /// Where a new level begins, with its sentence.
    pub changes: Vec<(String, String)>,
    pub first: String,
    pub last: String,
}

#[derive(Debug, Serialize)]
pub struct Point {
    pub x: String,
    pub y: String,
    pub href: Option<String>,
    pub title: String,
    /// `in-force`, `official` or empty.
    pub class: String,
}

/// The trend; None where no record has a value.
pub fn trend(rows: &[RecordRow], found: &ChangePoints, scale: &Scale) -> Option<Trend> {
    let known: Vec<(&RecordRow, f64)> =
        rows.iter().filter_map(|row| Some((row, row.primary.filter(|v| v.is_finite())?))).collect();
    let low = known.iter().map(|(_, v)| *v).reduce(f64::min)?;
    let high = known.iter().map(|(_, v)| *v).reduce(f64::max)?;
    let last = known.len().saturating_sub(1).max(1) as f64;
    let x = |at: usize| LEFT + 8.0 + (WIDTH - LEFT - RIGHT - 16.0) * at as f64 / last;
    let part = |value: f64| if high > low { (value - low) / (high - low) } else { 0.5 };
    let y = |value: f64| HEIGHT - BOTTOM - 8.0 - (HEIGHT - TOP - BOTTOM - 16.0) * part(value);
    let text = |pixel: f64| format!("{pixel:.1}");
    let point = |(at, (row, value)): (usize, &(&RecordRow, f64))| Point {
        x: text(x(at)),
        y: text(y(*value)),
        href: row.page.clone(),
        title: format!(
            "{}: {}{}",
            row.record,
            scale.with_unit(*value),
            row.marks.iter().map(|m| format!(", {m}")).collect::<String>()
        ),
        class: match () {
            () if row.in_force => "in-force".to_owned(),
            () if row.official => "official".to_owned(),
            () => String::new(),
        },
    };
    let change = |change: &crate::analysis::change_point::ChangePoint| {
        let at = known.iter().position(|(row, _)| row.record == change.name)?;
        Some((text(x(at) - (WIDTH - LEFT - RIGHT - 16.0) / last / 2.0), change.sentence.clone()))
    };
    let mut ticks = vec![(text(y(high)), scale.with_unit(high))];
    if high > low {
        ticks.push((text(y(low)), scale.with_unit(low)));
    }
    Some(Trend {
        title: format!("{} records, {} to {}", known.len(), scale.with_unit(low), scale.with_unit(high)),
        width: format!("{WIDTH:.0}"),
        height: format!("{HEIGHT:.0}"),
        left: text(LEFT),
        right: text(WIDTH - RIGHT),
        bottom: text(HEIGHT - BOTTOM),
        ticks,
        points: known.iter().enumerate().map(point).collect(),
        changes: found.changes.iter().filter_map(change).collect(),
        first: known.first().map_or(String::new(), |(row, _)| row.record.clone()),
        last: known.last().filter(|_| known.len() > 1).map_or(String::new(), |(row, _)| row.record.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::change_point::Search;
    use crate::analysis::history::change_points;

    #[test]
    fn every_record_is_a_point_and_a_step_is_a_line_between_two() {
        let rows: Vec<RecordRow> = (0..12)
            .map(|i| RecordRow {
                record: format!("r{i:02}"),
                primary: Some(if i < 6 { 100.0 } else { 70.0 } + f64::from(i % 3)),
                ..RecordRow::default()
            })
            .collect();
        let points: Vec<(String, f64)> =
            rows.iter().map(|r| (r.record.clone(), r.primary.unwrap())).collect();
        let found = change_points(&points, &Search::default());
        let drawn = trend(&rows, &found, &Scale::of(points.iter().map(|p| p.1), "s")).expect("a trend");
        assert_eq!(drawn.points.len(), 12);
        assert_eq!(drawn.changes.len(), 1, "{found:?}");
        let x = |text: &str| text.parse::<f64>().expect("a number");
        let line = x(&drawn.changes[0].0);
        assert!(x(&drawn.points[5].x) < line && line < x(&drawn.points[6].x), "{drawn:?}");
        assert!(x(&drawn.points[0].y) < x(&drawn.points[11].y), "higher values stand higher");
        assert!(trend(&[], &found, &Scale::of([], "s")).is_none());
    }
}
