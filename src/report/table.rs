//! The summary for a terminal: cells, effects and the two sums.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::beside;
use super::cells::{median, scale, unmeasured};
use super::look::{NARROWEST, line, pieces, wrapped};
use super::number::Scale;
use super::view::added;
use crate::analysis::findings::{CellSummary, Effect, EnvironmentFinding, Findings, Interval};
use crate::analysis::verdict::{between, confidence, ratio};
use crate::analysis::whole_plot::SplitPlotFinding;
use crate::model::arm::ArmKind;
use crate::model::cell::CellId;
use crate::model::outcome::Fate;
use crate::model::scale::Scale::Linear;

/// Cells with rows of their own; the page has all.
const MOST_ROWS: usize = 200;
/// What an id keeps at least before it is broken by force.
const NARROWEST_ID: usize = 16;

/// Plain text of at most `width` columns, without escape sequences or blanks at the ends of lines:
/// one row per cell and primary response, then the answers, what runs caution about, and the two sums. Units stand in the
/// heading. Control characters in names are written out.
pub fn table(findings: &Findings, width: u16) -> String {
    let width = width.max(NARROWEST);
    let mut text = String::new();
    for response in &findings.family.responses {
        text.push_str(&of_response(findings, response, width));
    }
    for answer in findings.answers.iter().filter(|a| !a.exploratory) {
        text.push_str(&wrapped(&line(&answer.sentence), width.into()));
    }
    for words in annotated(findings) {
        text.push_str(&wrapped(&line(&words), width.into()));
    }
    let primary = |e: &&EnvironmentFinding| findings.family.responses.contains(&e.response);
    for floor in findings.environment.iter().filter(primary).filter_map(|e| e.noise_floor.as_ref()) {
        text.push_str(&wrapped(&floor.sentence, width.into()));
    }
    // On the scale of the answers, which is the logarithmic one where nothing was compared.
    let linear = |r: &str| findings.answers.iter().any(|a| a.response == r && a.scale == Linear.word());
    let decides = |f: &&SplitPlotFinding| {
        findings.family.responses.contains(&f.response) && linear(&f.response) == (f.scale == Linear.word())
    };
    for seen in findings.split_plots.iter().filter(decides) {
        text.push_str(&wrapped(&line(&seen.sentence), width.into()));
    }
    for caution in &findings.run_cautions {
        text.push_str(&wrapped(&line(caution), width.into()));
    }
    for along in &findings.change_points {
        let lines = std::iter::once(&along.found.sentence);
        let lines = lines.chain(along.found.changes.iter().map(|c| &c.sentence)).chain(&along.found.notes);
        for words in lines {
            text.push_str(&wrapped(&line(&format!("{}: {words}", along.response)), width.into()));
        }
    }
    let sums = findings.sums.as_ref();
    for words in sums.iter().flat_map(|s| &s.words).chain(findings.table.iter().map(|t| &t.words)) {
        text.push_str(&wrapped(words, width.into()));
    }
    if let Some(added_attempts) = sums.map(|s| s.added_attempts).filter(|n| *n > 0) {
        text.push_str(&wrapped(&added(added_attempts), width.into()));
    }
    text
}

/// Which runs a person took out of the analysis, and the answers with them.
pub fn annotated(findings: &Findings) -> Vec<String> {
    let words = |a: &crate::analysis::annotations::AnnotationFinding| {
        let was = a.outcome_as_run.as_deref().unwrap_or("not there").replace('_', " ");
        format!(
            "{} ({was}) was annotated as invalid by {} at {}: {}",
            a.run,
            a.who,
            super::number::moment(&a.at),
            a.reason
        )
    };
    let runs = findings.annotations.iter().filter(|a| a.holds).map(words);
    let with = findings.as_run.iter().filter(|e| e.cell.is_none());
    runs.chain(with.map(|e| format!("With the annotated runs: {}", e.sentence))).collect()
}

fn of_response(findings: &Findings, response: &str, width: u16) -> String {
    if findings.cells.is_empty() {
        return String::new();
    }
    let effects: BTreeMap<&CellId, &Effect> = findings
        .effects
        .iter()
        .filter(|e| e.response == response)
        .filter_map(|e| Some((e.cell.as_ref()?, e)))
        .collect();
    let unit = findings.cells.iter().flat_map(|c| &c.responses).find(|r| r.response == response);
    let scale = scale(findings, response, unit.map_or("", |r| &r.unit));
    let common = common_confidence(&effects);
    let mut rows: Vec<Vec<String>> = findings
        .cells
        .iter()
        .take(MOST_ROWS)
        .map(|cell| row(cell, response, &effects, &scale, common.is_none()))
        .collect();
    let linear = effects.values().any(|e| e.scale == Linear.word());
    let against = if linear { "difference from control" } else { "ratio to control" };
    let mut heading = vec![
        "cell".to_owned(),
        "n".to_owned(),
        format!("{response}\n{}", scale.heading).trim_end().to_owned(),
        format!("{against}\n[interval, {}]", common.as_deref().unwrap_or("confidence")),
        "verdict".to_owned(),
    ];
    let first = findings.family.responses.first().is_some_and(|r| r == response);
    let more = if first { beside::columns(findings) } else { vec![] };
    let wide =
        |column: &beside::Column| column.texts.iter().chain([&column.heading]).map(|t| widest(t)).max();
    let taken = others(&rows, &heading) + more.iter().filter_map(wide).sum::<usize>();
    let ids = rows.iter().map(|row| widest(&row[0])).max().unwrap_or(0).min(NARROWEST_ID);
    let fits = ids + taken + 3 * (heading.len() + more.len()) < width.into();
    let mut below: Vec<Vec<String>> = rows.iter().map(|row| row[..1].to_vec()).collect();
    let mut heading_below = heading[..1].to_vec();
    let (into, heads) = if fits { (&mut rows, &mut heading) } else { (&mut below, &mut heading_below) };
    for column in more {
        heads.push(column.heading);
        into.iter_mut().zip(column.texts).for_each(|(row, text)| row.push(text));
    }
    let mut text = laid_out(rows, heading, &|at| at == 1 || at == 2 || at > 4, width);
    if heading_below.len() > 1 {
        text.push_str(&laid_out(below, heading_below, &|at| at > 0, width));
    }
    if findings.cells.len() > MOST_ROWS {
        let more = format!("and {} more cells, which the page has", findings.cells.len() - MOST_ROWS);
        text.push_str(&wrapped(&more, width.into()));
    }
    text
}

/// One table with a border; `numbers` tells which columns have their digits below each other.
fn laid_out(
    mut rows: Vec<Vec<String>>,
    heading: Vec<String>,
    numbers: &dyn Fn(usize) -> bool,
    width: u16,
) -> String {
    break_ids(&mut rows, &heading, width.into());
    let columns = heading.len();
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(heading);
    table.add_rows(rows);
    for column in (0..columns).filter(|at| numbers(*at)) {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n", table.trim_fmt())
}

/// The confidence of all intervals where it is the same.
fn common_confidence(effects: &BTreeMap<&CellId, &Effect>) -> Option<String> {
    let mut all: Vec<String> =
        effects.values().filter_map(|e| e.interval).map(|i| confidence(i.confidence)).collect();
    all.dedup();
    if all.len() == 1 { all.pop() } else { None }
}

fn row(
    cell: &CellSummary,
    response: &str,
    effects: &BTreeMap<&CellId, &Effect>,
    scale: &Scale,
    each_confidence: bool,
) -> Vec<String> {
    let name = line(&cell.cell.0);
    let found = cell.responses.iter().find(|r| r.response == response);
    let Some(summary) = found else {
        let fate = if cell.fate == Fate::Live { "not run" } else { cell.fate.name() };
        return vec![name, "0".into(), "–".into(), "–".into(), fate.into()];
    };
    let runs: u64 = cell.outcomes.values().sum();
    let n = if summary.n == runs { runs.to_string() } else { format!("{} of {runs}", summary.n) };
    let median = median(summary, scale, "–");
    let effect = effects.get(&cell.cell);
    let shown = effect.map_or("–".to_owned(), |e| against_control(e, each_confidence));
    let mut verdict = match cell.kind {
        // Where nothing was named as the control, nothing is one.
        ArmKind::Control if cell.arm.is_empty() => "–".to_owned(),
        ArmKind::Control => "control".to_owned(),
        ArmKind::Twin => "control again".to_owned(),
        _ => effect.map_or(String::new(), |e| e.verdict.word().to_owned()),
    };
    if let Some(missing) = unmeasured(&cell.outcomes) {
        verdict = format!("{verdict}; {missing}");
    }
    vec![name, n, median, shown, verdict]
}

fn against_control(effect: &Effect, with_confidence: bool) -> String {
    let bounds = || effect.bounds.map(|b| between(b.low, b.high));
    let value = effect.ratio.or(effect.difference).map(ratio).or_else(bounds);
    let Some(value) = value else { return "–".to_owned() };
    let words = |i: Interval| {
        let attained =
            if with_confidence { format!(", {}", confidence(i.confidence)) } else { String::new() };
        let closed = i.low.is_finite() && i.high.is_finite();
        let ends = match closed {
            // A dash beside a minus sign would not be read as one.
            true if i.low >= 0.0 => format!("{}–{}", ratio(i.low), ratio(i.high)),
            _ => between(i.low, i.high),
        };
        format!("{ends}{attained}")
    };
    format!("{value} [{}]", effect.interval.map_or("no interval".to_owned(), words))
}

/// Characters of the widest line.
fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Width of all columns but the first. Around a column there are two blanks and a border, and one border more.
fn others(rows: &[Vec<String>], heading: &[String]) -> usize {
    (1..heading.len())
        .map(|at| rows.iter().map(|r| widest(&r[at])).chain([widest(&heading[at])]).max().unwrap_or(0))
        .sum()
}

/// Breaks ids that are too long for what the other columns leave, after a slash or comma.
fn break_ids(rows: &mut [Vec<String>], heading: &[String], width: usize) {
    let room = width.saturating_sub(others(rows, heading) + 3 * heading.len() + 1).max(NARROWEST_ID);
    for row in rows {
        let mut lines = vec![String::new()];
        for piece in row[0].split_inclusive(['/', ',']).flat_map(|piece| pieces(piece, room - 2)) {
            let last = lines.last().map_or(0, |l: &String| l.chars().count());
            match lines.last_mut() {
                Some(line) if last == 0 || last + piece.chars().count() <= room => line.push_str(&piece),
                _ => lines.push(format!("  {piece}")),
            }
        }
        row[0] = lines.join("\n");
    }
}
