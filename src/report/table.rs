//! The summary for a terminal: cells, effects and the two sums.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::ledger::counts;
use super::number::quantity;
use super::view::change;
use crate::analysis::findings::{CellSummary, Effect, Findings};
use crate::analysis::verdict::{confidence, ratio};
use crate::model::cell::CellId;
use crate::model::outcome::Fate;

/// Narrowest width that is still laid out; a smaller one is treated as this.
const NARROWEST: u16 = 40;

/// Plain text of at most `width` columns, without escape sequences: one row per cell and primary
/// response, then the answers and the two sums. Control characters in names are shown as `�`.
pub fn table(findings: &Findings, width: u16) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.max(NARROWEST))
        .set_header(["cell", "n", "median", "ratio to control [interval]", "verdict"]);
    let effects: BTreeMap<(&CellId, &str), &Effect> =
        findings.effects.iter().filter_map(|e| Some(((e.cell.as_ref()?, e.response.as_str()), e))).collect();
    for cell in &findings.cells {
        for row in rows(findings, cell, &effects) {
            table.add_row(row);
        }
    }
    for column in [1, 2] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = if findings.cells.is_empty() { String::new() } else { format!("{}\n", table.trim_fmt()) };
    for answer in findings.answers.iter().filter(|a| !a.exploratory) {
        text.push_str(&format!("{}\n", printable(&answer.sentence)));
    }
    for words in &findings.sums.words {
        text.push_str(&format!("{words}\n"));
    }
    if findings.sums.added_attempts > 0 {
        text.push_str(&format!("{} attempts were added by resume or rerun\n", findings.sums.added_attempts));
    }
    text
}

fn rows(
    findings: &Findings,
    cell: &CellSummary,
    effects: &BTreeMap<(&CellId, &str), &Effect>,
) -> Vec<[String; 5]> {
    let name = printable(&cell.cell.0);
    if cell.fate != Fate::Live && cell.responses.is_empty() {
        return vec![[name, "0".into(), "–".into(), "–".into(), cell.fate.name().into()]];
    }
    if cell.responses.is_empty() {
        return vec![[name, "0".into(), "–".into(), "–".into(), "not run".into()]];
    }
    let primary = cell.responses.iter().filter(|r| findings.family.responses.contains(&r.response));
    let several = findings.family.responses.len() > 1;
    primary
        .map(|r| {
            let runs: u64 = cell.outcomes.values().sum();
            let n = if r.n == runs { r.n.to_string() } else { format!("{} of {runs}", r.n) };
            let label = if several { format!("{name} {}", r.response) } else { name.clone() };
            let median = r.median.map_or("–".to_owned(), |m| quantity(m, &r.unit));
            let effect = effects.get(&(&cell.cell, r.response.as_str()));
            let shown = effect.map_or("–".to_owned(), |e| against_control(e));
            let mut verdict = effect.map_or(String::new(), |e| e.verdict.word().to_owned());
            if r.n < runs {
                verdict = format!("{verdict} ({})", counts(&cell.outcomes)).trim_start().to_owned();
            }
            if cell.kind == crate::model::arm::ArmKind::Control {
                verdict = format!("control {verdict}").trim_end().to_owned();
            }
            [label, n, median, shown, verdict]
        })
        .collect()
}

fn against_control(effect: &Effect) -> String {
    let Some(value) = effect.ratio else { return "–".to_owned() };
    let interval = effect.interval.map_or("no interval".to_owned(), |i| {
        format!("{}–{}, {}", ratio(i.low), ratio(i.high), confidence(i.confidence))
    });
    format!("{} ({}) [{interval}]", ratio(value), change(value))
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
