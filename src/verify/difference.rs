//! What two proofs disagree on, in words for a person.

use std::collections::BTreeMap;

/// Why a cell is refused or a run rejected: one sentence, then the facts line by line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub reason: String,
    pub evidence: Vec<String>,
}

/// Facts in which `own` differs from `reference`, one line each; empty when equal.
pub fn compare(
    reference_name: &str,
    reference: &BTreeMap<String, String>,
    own_name: &str,
    own: &BTreeMap<String, String>,
) -> Vec<String> {
    let absent = "(absent)".to_owned();
    let mut lines = Vec::new();
    for key in reference.keys().chain(own.keys().filter(|k| !reference.contains_key(*k))) {
        let (theirs, ours) = (reference.get(key).unwrap_or(&absent), own.get(key).unwrap_or(&absent));
        if theirs != ours {
            lines.push(format!("{key}: {reference_name} has {theirs}, {own_name} has {ours}"));
        }
    }
    lines
}
