//! What else was measured, beside the response that decides, where there are no variables.

use super::cells::{median, scale};
use crate::analysis::findings::{CellSummary, Effect, Findings};

/// A column of the terminal's table: its heading, and one text for each cell of the findings.
pub struct Column {
    pub heading: String,
    pub texts: Vec<String>,
}

/// Medians of the exploratory responses in the order of the campaign, with ratios to the control. None
/// where the campaign has variables: a grid would not fit a terminal, and the page has them all.
pub fn columns(findings: &Findings) -> Vec<Column> {
    if findings.campaign.is_none() || findings.cells.iter().any(|cell| !cell.levels.is_empty()) {
        return vec![];
    }
    let all = findings.cells.iter().flat_map(|cell| &cell.responses).map(|r| (&r.response, &r.unit));
    let mut others: Vec<(&String, &String)> = vec![];
    for other in all.filter(|(name, _)| !findings.family.responses.contains(name)) {
        if !others.contains(&other) {
            others.push(other);
        }
    }
    others.into_iter().map(|(name, unit)| column(findings, name, unit)).collect()
}

fn column(findings: &Findings, response: &str, unit: &str) -> Column {
    let scale = scale(findings, response, unit);
    let text = |cell: &CellSummary| {
        let found = cell.responses.iter().find(|r| r.response == response);
        let own = |e: &&Effect| e.response == response && e.cell.as_ref() == Some(&cell.cell);
        let ratio = findings.effects.iter().find(own).and_then(|e| e.ratio);
        let shown = found.map_or("–".to_owned(), |r| median(r, &scale, "–"));
        ratio.map_or(shown.clone(), |ratio| format!("{shown} ×{}", rough(ratio)))
    };
    Column {
        heading: format!("{response}\n{}", scale.heading).trim_end().to_owned(),
        texts: findings.cells.iter().map(text).collect(),
    }
}

/// A ratio that decides nothing, to two decimals or two digits.
fn rough(ratio: f64) -> String {
    match ratio.abs() {
        v if (0.1..1000.0).contains(&v) => format!("{ratio:.2}"),
        _ => format!("{ratio:.1e}"),
    }
}
