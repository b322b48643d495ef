//! The runs of each cell as dots on a line of text.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::cells::{scale, unmeasured};
use super::look::{Look, column, wrapped};
use super::number::Scale;
use super::points::by_place;
use super::strip::range;
use crate::analysis::findings::{CellSummary, Findings};
use crate::evidence::fold::Evidence;
use crate::model::cell::CellId;
use crate::model::outcome::{Fate, RunOutcome};

/// Grid points that are drawn; the page has all.
const MOST_POINTS: usize = 40;

/// Every live cell of every grid point with one response: its measured runs as dots, its median as a bar. The
/// cells of one grid point share an axis.
pub fn dots(evidence: &Evidence, findings: &Findings, response: &str, look: &Look) -> String {
    let mut values: BTreeMap<&CellId, Vec<f64>> = BTreeMap::new();
    let measured = |outcome| outcome == RunOutcome::Measured;
    for row in evidence.planned_runs().into_iter().filter(|row| measured(row.note.outcome)) {
        if let Some(value) = row.note.values.get(response).filter(|v| v.is_finite()) {
            values.entry(&row.note.run.cell).or_default().push(*value);
        }
    }
    let unit = findings.cells.iter().flat_map(|c| &c.responses).find(|r| r.response == response);
    let scale = scale(findings, response, unit.map_or("", |r| &r.unit));
    let points = by_place(findings.cells.iter().filter(|c| c.fate == Fate::Live));
    let mut text = String::new();
    for (place, cells) in points.iter().take(MOST_POINTS) {
        text.push_str(&point(place, cells, &values, (response, &scale), look));
    }
    if points.len() > MOST_POINTS {
        let more = format!("and {} more grid points, which the page has", points.len() - MOST_POINTS);
        text.push_str(&wrapped(&more, look.room()));
    }
    text
}

fn point(
    place: &str,
    cells: &[&CellSummary],
    values: &BTreeMap<&CellId, Vec<f64>>,
    (response, scale): (&str, &Scale),
    look: &Look,
) -> String {
    let own = |cell: &CellSummary| values.get(&cell.cell).map_or(&[][..], |v| v.as_slice());
    let Some((low, high)) = range(cells.iter().flat_map(|cell| own(cell).iter().copied())) else {
        return String::new();
    };
    let longest = cells.iter().map(|cell| cell.arm.chars().count()).max().unwrap_or(0);
    let names = longest.clamp(4, look.room() / 3);
    let width = look.room() - names - 3;
    let heading = if place == "–" { String::new() } else { format!("{place}, ") };
    let heading = format!("{heading}{response}, a dot is a run, ┃ the median");
    let mut text = wrapped(&super::look::line(&heading), look.room());
    let (from, to) = (scale.with_unit(low), scale.with_unit(high));
    let gap = width.saturating_sub(from.chars().count() + to.chars().count());
    // One value has one end.
    let ends = if low == high { from } else { format!("{from}{}{to}", " ".repeat(gap.max(1))) };
    let _ = writeln!(text, "  {:names$} {}", "", ends.trim_end());
    for cell in cells {
        let median = cell.responses.iter().find(|r| r.response == response).and_then(|r| r.median);
        let drawn = strip(own(cell), median, (low, high), width);
        let _ = writeln!(text, "  {} {}", column(&cell.arm, names), drawn.trim_end());
        if let Some(missing) = unmeasured(&cell.outcomes) {
            let _ = writeln!(text, "  {:names$} beside these: {missing}", "");
        }
    }
    text
}

/// Dots in `width` columns from `low` to `high`, heavier where several fall together.
fn strip(values: &[f64], median: Option<f64>, (low, high): (f64, f64), width: usize) -> String {
    let place = |value: f64| match high > low {
        true => (((value - low) / (high - low)) * (width - 1) as f64).round() as usize,
        false => 0,
    };
    let mut counts = vec![0_u32; width];
    for value in values {
        counts[place(*value).min(width - 1)] += 1;
    }
    let dot = |n: &u32| match n {
        0 => ' ',
        1 => '·',
        2..4 => '•',
        _ => '●',
    };
    let mut drawn: Vec<char> = counts.iter().map(dot).collect();
    if let Some(median) = median.filter(|m| (low..=high).contains(m)) {
        drawn[place(median).min(width - 1)] = '┃';
    }
    drawn.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_stand_where_their_values_are() {
        assert_eq!(strip(&[0.0, 10.0, 10.0, 2.0], Some(5.0), (0.0, 10.0), 11), "· ·  ┃    •");
        assert_eq!(strip(&[1.0; 5], None, (1.0, 1.0), 3), "●  ");
        assert_eq!(strip(&[], None, (0.0, 1.0), 3), "   ");
    }
}
