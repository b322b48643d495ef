//! What two proofs disagree on, in words for a person.

use std::collections::BTreeMap;

use super::answer::Text;
use super::first_lines::differing;
use crate::model::proof::{Near, Proof};

/// Why a cell is refused or a run rejected: one sentence, then the facts line by line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub reason: String,
    pub evidence: Vec<String>,
}

/// Compared texts by whose they are; empty where only digests are compared.
pub type Texts = BTreeMap<String, Text>;

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

/// Where the answers of two proofs differ: facts, numbers that are not near, and the first lines.
pub fn answers(reference_name: &str, reference: (&Proof, &Texts), own: (&Proof, &Texts)) -> Vec<String> {
    let mut lines = compare(reference_name, &reference.0.answer, "this", &own.0.answer);
    let near = far(reference_name, &reference.0.near, &own.0.near);
    if !lines.is_empty() {
        for (whose, text) in reference.1 {
            let Some(ours) = own.1.get(whose).filter(|ours| *ours != text) else { continue };
            lines.extend(differing((reference_name, text), ("this", ours)));
        }
    }
    lines.extend(near);
    lines
}

fn far(name: &str, reference: &BTreeMap<String, Near>, own: &BTreeMap<String, Near>) -> Vec<String> {
    let mut lines = vec![];
    for (key, near) in reference {
        match own.get(key) {
            Some(ours) if near.holds(ours.value) => {}
            Some(ours) => lines.push(format!(
                "{key}: {name} has {}, this has {}, which is more than {} % away",
                near.value,
                ours.value,
                near.tolerance * 100.0
            )),
            None => lines.push(format!("{key}: {name} has {}, this has (absent)", near.value)),
        }
    }
    for key in own.keys().filter(|key| !reference.contains_key(*key)) {
        lines.push(format!("{key}: {name} has (absent), this has {}", own[key].value));
    }
    lines
}
