//! `retention`: how long `prune` keeps the raw evidence of the campaign's records.

use super::draft::Draft;
use crate::model::retention::Retention;
use crate::yaml::{Complaint, Entry, Fields};

pub(super) const RETENTION_KEYS: [&str; 2] = ["days", "last"];
const MOST_DAYS: u64 = 36_500;
const MOST_RECORDS: u64 = 1_000_000;

/// Reads what is declared; it has to be something.
pub(super) fn read(entry: &Entry, draft: &mut Draft<'_>) -> Option<Retention> {
    draft.note("retention", &entry.key);
    let fields = Fields::open(&entry.value, entry.key.span, "`retention`", &RETENTION_KEYS, &mut draft.out)?;
    let mut count = |key: &str, most: u64| match fields.get(key) {
        None => Some(None),
        Some(own) => own.value.count(&format!("`retention.{key}`"), 1..=most, &mut draft.out).map(Some),
    };
    let (days, last) = (count("days", MOST_DAYS), count("last", MOST_RECORDS));
    let retention = Retention { days: days?, last: last? };
    if retention.is_empty() {
        let help = "write `days: 90`, `last: 10`, or both";
        draft
            .out
            .push(Complaint::error(entry.key.span, "`retention` says nothing of what is kept").help(help));
        return None;
    }
    Some(retention)
}
