//! The two sums of the glossary, checked against the blocks' own orders.

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
    let words = vec![
        cells_in_words(&sums, cells),
        runs_in_words(due.len(), &by_outcome, due.difference(&begun).count(), begun.difference(&due).count()),
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

fn cells_in_words(sums: &crate::evidence::fold::Sums, cells: u64) -> String {
    let planned = sums.planned_cells;
    let parts = format!("{} excluded + {} refused + {} live", sums.excluded, sums.refused, sums.live);
    match cells.cmp(&planned) {
        std::cmp::Ordering::Equal => format!("{planned} planned cells = {parts}: holds"),
        std::cmp::Ordering::Less => {
            let short = planned - cells;
            format!(
                "{planned} planned cells ≠ {parts}: does not hold, {short} undecided when the record ended"
            )
        }
        std::cmp::Ordering::Greater => format!("{planned} planned cells ≠ {parts}: does not hold"),
    }
}

fn runs_in_words(due: usize, by_outcome: &BTreeMap<String, u64>, missing: usize, beyond: usize) -> String {
    let part = |o: &RunOutcome| {
        let name = o.name();
        format!("{} {}", by_outcome.get(name).copied().unwrap_or(0), name.replace('_', " "))
    };
    let parts = RunOutcome::ALL.iter().map(part).collect::<Vec<_>>().join(" + ");
    match (missing, beyond) {
        (0, 0) => format!("{due} runs of live cells = {parts}: holds"),
        (_, 0) => format!("{due} runs of live cells ≠ {parts}: does not hold, {missing} never began"),
        _ => format!("{due} runs of live cells ≠ {parts}: does not hold, {beyond} are in no block's order"),
    }
}
