//! What a user names in a record, and what is near where it is not there.

/// Names that are searched for near ones.
pub const SEARCHED: u64 = 100_000;
const SHOWN: usize = 5;

/// Nothing has this name; the nearest that there are.
pub fn unknown(what: &str, asked: &str, known: impl Iterator<Item = String>) -> String {
    let mut near: Vec<(f64, String)> =
        known.take(SEARCHED as usize).map(|id| (strsim::jaro_winkler(asked, &id), id)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    if near.is_empty() {
        return format!("the selection `{asked}` matches no {what} of this record, which has none");
    }
    let near: Vec<String> = near.into_iter().take(SHOWN).map(|(_, id)| format!("  {id}")).collect();
    format!("the selection `{asked}` matches no {what} of this record; the nearest are\n{}", near.join("\n"))
}
