//! The answer as Markdown, for the page of a pipeline or a pull request.

use std::fmt::Write;

use crate::analysis::findings::{CellSummary, Effect, Findings};
use crate::analysis::verdict::{between, confidence, ratio};
use crate::evidence::fold::Evidence;
use crate::report::cells::{median, scale, unmeasured};
use crate::report::gate_files::escaped;
use crate::report::ledger::{misfires, rejected};
use crate::report::number::Scale;
use crate::report::table::annotated;
use crate::report::view::word;

/// Cells in one table; a pipeline's page has a limit.
const MOST_CELLS: usize = 500;
/// Entries in the list of what was turned down.
const MOST_ENTRIES: usize = 100;

/// Question, answers, a table for each primary response, the two sums, what could be wrong, and what was turned
/// down. Everything from outside is escaped, so that it is neither markup nor a mention.
pub fn markdown(evidence: &Evidence, findings: &Findings) -> String {
    let mut text = String::new();
    let campaign = findings.campaign.as_deref().unwrap_or("fieldtrial");
    let record = findings.record.as_deref().unwrap_or("");
    let _ = writeln!(text, "## {} {}\n", escaped(campaign), escaped(record));
    let opening = evidence.opening.as_ref();
    if let Some(question) = opening.and_then(|o| o.question.as_ref()) {
        let _ = writeln!(text, "{}\n", escaped(question));
    }
    if let Some(hypothesis) = opening.and_then(|o| o.hypothesis.as_ref()) {
        let _ = writeln!(text, "> Expected before measuring, not evidence: {}\n", escaped(hypothesis));
    }
    if findings.pilot {
        text.push_str("Pilot: describes, decides nothing.\n\n");
    }
    for answer in findings.answers.iter().filter(|a| !a.exploratory) {
        let _ = writeln!(text, "- **{}**: {}", answer.verdict.word(), escaped(&answer.sentence));
    }
    for words in annotated(findings) {
        let _ = writeln!(text, "- {}", escaped(&words));
    }
    for response in &findings.family.responses {
        text.push('\n');
        cells(findings, response, &mut text);
    }
    text.push('\n');
    for words in findings.sums.iter().flat_map(|s| &s.words) {
        let _ = writeln!(text, "- {}", escaped(words));
    }
    let cautions: Vec<&String> = findings.cautions.iter().chain(&findings.run_cautions).collect();
    if !cautions.is_empty() {
        text.push_str("\n### What could be wrong\n\n");
        cautions.iter().for_each(|caution| {
            let _ = writeln!(text, "- {}", escaped(caution));
        });
    }
    turned_down(evidence, findings, &mut text);
    text
}

fn cells(findings: &Findings, response: &str, text: &mut String) {
    let unit = findings.cells.iter().flat_map(|c| &c.responses).find(|r| r.response == response);
    let scale = scale(findings, response, unit.map_or("", |r| &r.unit));
    let _ = writeln!(
        text,
        "| cell | n | {} {} | interval | effect | verdict |\n|---|---:|---:|---|---|---|",
        escaped(response),
        escaped(&scale.heading)
    );
    for cell in findings.cells.iter().take(MOST_CELLS) {
        let effect =
            findings.effects.iter().find(|e| e.response == response && e.cell.as_ref() == Some(&cell.cell));
        let fields = row(cell, response, effect, &scale);
        let _ = writeln!(text, "| {} |", fields.map(|field| escaped(&field)).join(" | "));
    }
    if findings.cells.len() > MOST_CELLS {
        let _ =
            writeln!(text, "\nand {} more cells, which the record has", findings.cells.len() - MOST_CELLS);
    }
}

fn row(cell: &CellSummary, response: &str, effect: Option<&Effect>, scale: &Scale) -> [String; 6] {
    let name = cell.cell.0.clone();
    let Some(found) = cell.responses.iter().find(|r| r.response == response) else {
        return [
            name,
            "0".to_owned(),
            "–".to_owned(),
            "–".to_owned(),
            "–".to_owned(),
            cell.fate.name().to_owned(),
        ];
    };
    let runs: u64 = cell.outcomes.values().sum();
    let n = if found.n == runs { runs.to_string() } else { format!("{} of {runs}", found.n) };
    let interval =
        found.interval.map(|i| format!("{} at {}", scale.between(i.low, i.high), confidence(i.confidence)));
    let shown = effect.and_then(|e| {
        let value = e.ratio.or(e.difference)?;
        let ends = e.interval.map_or(String::new(), |i| format!(" [{}]", between(i.low, i.high)));
        Some(format!("{}{ends}", ratio(value)))
    });
    let verdict = effect.map_or_else(|| word(cell.kind), |e| e.verdict.word().to_owned());
    let verdict =
        unmeasured(&cell.outcomes).map_or(verdict.clone(), |missing| format!("{verdict}; {missing}"));
    let dash = || "–".to_owned();
    [name, n, median(found, scale, "–"), interval.unwrap_or_else(dash), shown.unwrap_or_else(dash), verdict]
}

fn turned_down(evidence: &Evidence, findings: &Findings, text: &mut String) {
    let all: Vec<_> = rejected(evidence, findings).into_iter().chain(misfires(evidence)).collect();
    if all.is_empty() {
        return;
    }
    text.push_str("\n### Turned down, and runs that did not come to their end\n\n| what | stage | reason |\n|---|---|---|\n");
    for entry in all.iter().take(MOST_ENTRIES) {
        let mut lines: Vec<String> = vec![escaped(&entry.reason)];
        lines.extend(entry.evidence.iter().map(|line| escaped(line)));
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            escaped(&entry.what),
            escaped(&entry.stage),
            lines.join("<br>")
        );
    }
    if all.len() > MOST_ENTRIES {
        let _ =
            writeln!(text, "\nand {} more, which rejected.csv and runs.csv have", all.len() - MOST_ENTRIES);
    }
}
