//! The two sums of the glossary, checked against the blocks' own orders.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::findings::SumsFinding;
use crate::evidence::fold::Evidence;
use crate::model::cell::CellId;
use crate::model::outcome::{Fate, RunOutcome};

/// Counts both sums and says whether they hold. Runs that a block had in its order and that never
/// began are counted apart: an unfinished record is short of them, and its sum says so.
pub fn count(evidence: &Evidence) -> SumsFinding {
    let sums = evidence.sums();
    let is_live = |cell: &CellId| evidence.cells.get(cell).is_some_and(|c| c.fate == Fate::Live);
    let planned = evidence.blocks.values().filter(|b| b.rerun_of.is_none());
    let due: BTreeSet<(u32, &CellId)> = planned
        .clone()
        .flat_map(|b| b.order.iter().map(|cell| (b.block, cell)))
        .filter(|(_, cell)| is_live(cell))
        .collect();
    let mut by_outcome: BTreeMap<String, u64> =
        RunOutcome::ALL.iter().map(|o| (o.name().to_owned(), 0)).collect();
    let mut begun = BTreeSet::new();
    for row in evidence.planned_runs().into_iter().filter(|r| is_live(&r.note.run.cell)) {
        *by_outcome.entry(row.note.outcome.name().to_owned()).or_default() += 1;
        begun.insert((row.note.run.block, &row.note.run.cell));
    }
    let counted: u64 = by_outcome.values().sum();
    let cells = sums.excluded + sums.refused + sums.live;
    let cells_hold = cells == sums.planned_cells;
    let runs_hold = begun == due && counted == due.len() as u64;
    let waiting = match &evidence.opening {
        Some(opening) if !evidence.complete => {
            u64::from(opening.blocks).saturating_sub(planned.count() as u64)
        }
        _ => 0,
    };
    let missing = due.difference(&begun).count() as u64;
    let words = vec![
        cells_in_words(&sums, cells, evidence.complete),
        runs_in_words(
            due.len(),
            &by_outcome,
            missing,
            begun.difference(&due).count() as u64,
            waiting,
            evidence.complete,
        ),
    ];
    SumsFinding {
        planned_cells: sums.planned_cells,
        excluded: sums.excluded,
        refused: sums.refused,
        live: sums.live,
        cells_hold,
        runs_due: due.len() as u64,
        by_outcome,
        runs_hold,
        added_attempts: sums.added_attempts,
        words,
    }
}

fn cells_in_words(sums: &crate::evidence::fold::Sums, cells: u64, complete: bool) -> String {
    let planned = sums.planned_cells;
    let name = if planned == 1 { "planned cell" } else { "planned cells" };
    let parts = format!("{} excluded + {} refused + {} live", sums.excluded, sums.refused, sums.live);
    match cells.cmp(&planned) {
        Ordering::Equal => format!("{planned} {name} = {parts}: holds"),
        Ordering::Greater => format!("{planned} {name} ≠ {parts}: does not hold"),
        Ordering::Less => {
            let open = match (planned - cells, complete) {
                (1, false) => "does not hold yet, 1 cell is not decided".to_owned(),
                (n, false) => format!("does not hold yet, {n} cells are not decided"),
                (1, true) => "does not hold, 1 cell was never decided".to_owned(),
                (n, true) => format!("does not hold, {n} cells were never decided"),
            };
            format!("{planned} {name} ≠ {parts}: {open}")
        }
    }
}

/// `missing` runs of begun blocks never began, `beyond` are in no block's order, and `waiting`
/// blocks have not begun.
fn runs_in_words(
    due: usize,
    by_outcome: &BTreeMap<String, u64>,
    missing: u64,
    beyond: u64,
    waiting: u64,
    complete: bool,
) -> String {
    let part = |o: &RunOutcome| {
        let name = o.name();
        format!("{} {}", by_outcome.get(name).copied().unwrap_or(0), name.replace('_', " "))
    };
    let parts = RunOutcome::ALL.iter().map(part).collect::<Vec<_>>().join(" + ");
    let name = if due == 1 { "run of live cells" } else { "runs of live cells" };
    let sum = match (missing, beyond) {
        (0, 0) => format!("{due} {name} = {parts}: holds"),
        (1, 0) if !complete => format!("{due} {name} ≠ {parts}: does not hold yet, 1 run has not begun"),
        (n, 0) if !complete => format!("{due} {name} ≠ {parts}: does not hold yet, {n} runs have not begun"),
        (1, 0) => format!("{due} {name} ≠ {parts}: does not hold, 1 run never began"),
        (n, 0) => format!("{due} {name} ≠ {parts}: does not hold, {n} runs never began"),
        (_, 1) => format!("{due} {name} ≠ {parts}: does not hold, 1 run is in no block's order"),
        (_, n) => format!("{due} {name} ≠ {parts}: does not hold, {n} runs are in no block's order"),
    };
    match waiting {
        0 => sum,
        1 => format!("{sum}; 1 planned block has not begun"),
        n => format!("{sum}; {n} planned blocks have not begun"),
    }
}
