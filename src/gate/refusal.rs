//! What speaks against making a record official, or against counting it in the history.

use super::floor::{FEWEST, level, lowest_base, stale_above, worse};
use super::history::{self, Line};
use super::key;
use super::measured::Measured;
use super::publication::{Baseline, Book};
use crate::evidence::fold::Evidence;
use crate::model::arm::ArmKind;
use crate::model::cell::CellId;
use crate::model::facts::MOVING;
use crate::model::outcome::{Fate, RunOutcome};

/// Why a record is no valid trial; empty where it is one. Only valid trials have a line in the history.
pub fn invalid(evidence: &Evidence) -> Vec<String> {
    let mut why = vec![];
    if !evidence.complete {
        why.push("the trial is not complete".to_owned());
    }
    if evidence.opening.as_ref().is_some_and(|opening| opening.pilot) {
        why.push("it is a pilot, which decides nothing".to_owned());
    }
    for (host, stuck) in evidence.stuck() {
        why.push(format!("{host} could not be put back as it was: {}", stuck.join("; ")));
    }
    let tools: std::collections::BTreeSet<&str> =
        evidence.sessions.iter().map(|(_, session)| session.tool_sha256.as_str()).collect();
    if tools.len() > 1 {
        why.push(format!("{} different fieldtrial programs worked on it", tools.len()));
    }
    why
}

/// Why a record should not become official; empty where nothing speaks against it. `expected` are cells whose
/// refusal the campaign declared.
pub fn against(evidence: &Evidence, measured: &Measured, expected: &dyn Fn(&CellId) -> bool) -> Vec<String> {
    let mut why = invalid(evidence);
    let sums = evidence.sums();
    if sums.planned_cells != sums.excluded + sums.refused + sums.live {
        let decided = sums.excluded + sums.refused + sums.live;
        why.push(format!("{} cells were planned and only {decided} are decided", sums.planned_cells));
    }
    for note in evidence.cells.values().filter(|note| note.fate == Fate::Refused && !expected(&note.cell)) {
        why.push(format!(
            "{} was refused: {}",
            note.cell,
            note.reason.as_deref().unwrap_or("no reason given")
        ));
    }
    for row in evidence.planned_runs().iter().filter(|row| row.note.outcome != RunOutcome::Measured) {
        let reason =
            row.note.reason.as_deref().and_then(|reason| reason.lines().next()).unwrap_or("no reason given");
        why.push(format!("{} is {}: {reason}", row.note.run, row.note.outcome.name()));
    }
    for (_, moved) in evidence.changes.iter().filter(|(_, moved)| !MOVING.contains(&moved.fact.as_str())) {
        why.push(format!("{} of {} was {} and then {}", moved.fact, moved.host, moved.was, moved.now));
    }
    if measured.cells.is_empty() {
        why.push("nothing was measured".to_owned());
    }
    for cell in measured.cells.iter().filter(|cell| cell.kind != ArmKind::Twin) {
        for (response, band) in &measured.responses {
            let values = cell.values.get(&response.name).map(|values| values.numbers()).unwrap_or_default();
            let Some(level) = level(response.better, &values).filter(|level| level.n >= FEWEST) else {
                why.push(format!(
                    "{} has {} of at least {FEWEST} replicates of {}",
                    cell.cell,
                    values.len(),
                    response.name
                ));
                continue;
            };
            let lowest = lowest_base(response.better, level.median, band.tolerance);
            if band.limit.is_none() && worse(response.better, level.base, lowest) {
                why.push(format!(
                    "{}: the replicate that makes the floor of {} ({}) is more than a quarter of the tolerance \
                     worse than the median ({}): too much spread for an official number",
                    cell.cell, response.name, level.base, level.median
                ));
            }
        }
    }
    why
}

/// Floors that would be lowered, and levels reached before that a new one stays below: both need a reason.
pub fn lowered(new: &[Baseline], book: Option<&Book>, history: &[Line], record: &str) -> Vec<String> {
    let mut why = vec![];
    for own in new {
        let before = book.and_then(Book::active).and_then(|published| published.of(&own.cell, &own.response));
        if let Some(before) = before.filter(|before| worse(own.better, own.floor, before.floor)) {
            let ever =
                book.and_then(|book| book.strictest_floor(&own.cell, &own.response)).unwrap_or(before.floor);
            why.push(format!(
                "{}: the floor of {} falls from {} to {}{}",
                own.cell,
                own.response,
                before.floor,
                own.floor,
                distance(own.floor, ever)
            ));
            continue;
        }
        let key = key::name(&own.key);
        let lines = history::of(history, &own.cell, &own.response, &key).into_iter();
        let above = stale_above(own.better, own.median, own.tolerance);
        let higher = lines
            .filter(|(line, _)| line.record != record)
            .rfind(|(_, reached)| worse(own.better, above, reached.worst));
        if let Some((line, reached)) = higher {
            why.push(format!(
                "{}: {} reached {} in {}, and would be published as {}",
                own.cell, own.response, reached.median, line.record, own.median
            ));
        }
    }
    why
}

/// How far a floor is from the strictest there ever was, in words.
fn distance(floor: f64, strictest: f64) -> String {
    match strictest != 0.0 {
        true => {
            format!(" ({:+.1} % from the strictest floor there ever was)", 100.0 * (floor / strictest - 1.0))
        }
        false => String::new(),
    }
}
