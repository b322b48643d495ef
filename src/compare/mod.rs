//! Two records beside each other: what differed, and what moved.

pub mod comparison;
mod facts;
mod numbers;

use std::collections::BTreeMap;

use crate::evidence::fold::Evidence;
use crate::model::cell::CellId;
use crate::model::outcome::Fate;
use comparison::{Comparison, Side, VERSION};

/// Compares an earlier record with a later one. What cannot be compared is told, never left out.
pub fn compare(before: &Evidence, after: &Evidence) -> Comparison {
    let pairs = pairs(before, after);
    let (facts, facts_equal) = facts::differences(before, after, &pairs);
    let numbers = numbers::numbers(before, after, &pairs);
    let alone = |own: &Evidence, taken: &dyn Fn(&Pair) -> &CellId| {
        let paired: Vec<&CellId> = pairs.iter().map(taken).collect();
        own.cells.keys().filter(|cell| !paired.contains(cell)).map(|cell| cell.0.clone()).collect()
    };
    let mut found = Comparison {
        version: VERSION,
        before: side(before),
        after: side(after),
        facts,
        facts_equal,
        numbers,
        only_before: alone(before, &|pair| &pair.before),
        only_after: alone(after, &|pair| &pair.after),
        notes: vec![],
        sentence: String::new(),
    };
    numbers::tell(&mut found, before, after);
    found
}

/// The same cell in both records.
struct Pair {
    /// Its id without the condition of a record.
    name: String,
    before: CellId,
    after: CellId,
    /// Why its numbers must not be compared.
    obstacle: Option<String>,
}

fn side(evidence: &Evidence) -> Side {
    let opening = evidence.opening.as_ref();
    let text = |of: fn(&crate::evidence::event::Opening) -> &str| {
        opening.map_or(String::new(), |o| of(o).to_owned())
    };
    Side {
        record: text(|o| &o.record),
        campaign: text(|o| &o.campaign),
        condition: text(|o| &o.condition),
        at: evidence.opened_at.clone(),
    }
}

fn pairs(before: &Evidence, after: &Evidence) -> Vec<Pair> {
    let known: BTreeMap<String, &CellId> =
        after.cells.keys().map(|cell| (plain(after, cell), cell)).collect();
    let pair = |cell: &CellId| {
        let name = plain(before, cell);
        let other = *known.get(&name)?;
        let obstacle = obstacle(before, cell, "before").or_else(|| obstacle(after, other, "after"));
        let obstacle = obstacle.or_else(|| facts::other_work(before, cell, after, other));
        Some(Pair { name, before: cell.clone(), after: other.clone(), obstacle })
    };
    before.cells.keys().filter_map(pair).collect()
}

/// The id without the condition that its whole record was measured under.
fn plain(evidence: &Evidence, cell: &CellId) -> String {
    let condition = evidence.opening.as_ref().map_or("", |o| o.condition.as_str());
    let suffix = format!("@{condition}");
    cell.0.strip_suffix(&suffix).filter(|_| !condition.is_empty()).unwrap_or(&cell.0).to_owned()
}

fn obstacle(evidence: &Evidence, cell: &CellId, when: &str) -> Option<String> {
    let note = evidence.cells.get(cell)?;
    let why = note.reason.as_deref().unwrap_or("no reason was recorded");
    (note.fate != Fate::Live).then(|| format!("{when}, it was {}: {why}", note.fate.name()))
}
