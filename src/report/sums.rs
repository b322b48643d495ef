//! The two outcome sums as bars whose parts lead to what they count.

use serde::Serialize;

use crate::analysis::findings::{Findings, SumsFinding};
use crate::model::outcome::RunOutcome;
use crate::plot::bar::{Part, bar};

/// One of the two sums.
#[derive(Debug, Serialize)]
pub struct SumView {
    pub name: String,
    pub holds: bool,
    pub words: String,
    pub bar: String,
    pub parts: Vec<PartView>,
}

/// One part of a sum, in words.
#[derive(Debug, Serialize)]
pub struct PartView {
    pub name: String,
    pub count: u64,
    pub class: String,
    pub href: String,
    pub filter: String,
}

/// Cells, then runs; nothing for data that say nothing of a plan.
pub fn sums(findings: &Findings) -> Vec<SumView> {
    let Some(sums) = &findings.sums else { return vec![] };
    let [cells, runs] = [cells(sums), runs(sums)];
    let mut words = sums.words.iter();
    let mut sum = |name: &str, holds, parts: Vec<Part>| {
        let words = words.next().cloned().unwrap_or_default();
        SumView {
            name: name.to_owned(),
            holds,
            bar: bar(&words, &parts),
            words,
            parts: parts.into_iter().map(view).collect(),
        }
    };
    vec![sum("Cells", sums.cells_hold, cells), sum("Runs", sums.runs_hold, runs)]
}

fn view(part: Part) -> PartView {
    PartView { name: part.name, count: part.count, class: part.class, href: part.href, filter: part.filter }
}

fn cells(sums: &SumsFinding) -> Vec<Part> {
    let part = |name: &str, count, href: &str| Part {
        name: name.to_owned(),
        count,
        class: format!("o-{name}"),
        href: href.to_owned(),
        filter: name.to_owned(),
    };
    let open = sums.planned_cells.saturating_sub(sums.live + sums.refused + sums.excluded);
    vec![
        part("live", sums.live, "#cells"),
        part("refused", sums.refused, "#rejected"),
        part("excluded", sums.excluded, "#rejected"),
        part("undecided", open, "#answer"),
    ]
}

fn runs(sums: &SumsFinding) -> Vec<Part> {
    let part = |outcome: RunOutcome| Part {
        name: outcome.name().replace('_', " "),
        count: sums.by_outcome.get(outcome.name()).copied().unwrap_or(0),
        class: format!("o-{}", outcome.name()),
        href: match outcome {
            RunOutcome::Measured => "#runs".to_owned(),
            RunOutcome::Rejected => "#rejected".to_owned(),
            _ => "#misfires".to_owned(),
        },
        filter: outcome.name().to_owned(),
    };
    let mut parts: Vec<Part> = RunOutcome::ALL.into_iter().map(part).collect();
    let begun: u64 = parts.iter().map(|p| p.count).sum();
    parts.push(Part {
        name: "not begun".to_owned(),
        count: sums.runs_due.saturating_sub(begun),
        class: "o-undecided".to_owned(),
        href: "#answer".to_owned(),
        filter: String::new(),
    });
    parts
}
