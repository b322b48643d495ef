//! From an output to the facts that two of them are compared by.

use std::collections::BTreeMap;

use super::output::Piece;
use super::{any_order, count, exact, fields, json, lines};
use crate::model::digest;
use crate::model::proof::Near;
use crate::model::verify_rule::OutputRule;

/// What an output says, as far as a rule compares it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Fact to text; equal answers have equal facts.
    pub facts: BTreeMap<String, String>,
    /// Numbers that need only be near each other.
    pub near: BTreeMap<String, Near>,
    /// The compared text itself, to show where two differ.
    pub text: Option<Text>,
}

/// A text that can be shown line by line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    pub bytes: Vec<u8>,
    /// False where only the set of lines counts.
    pub ordered: bool,
    /// False where bytes are missing at the end.
    pub whole: bool,
}

impl Text {
    /// Drops what lies beyond `most` bytes.
    pub fn cut(&mut self, most: usize) {
        if self.bytes.len() > most {
            self.bytes.truncate(most);
            self.bytes.shrink_to_fit();
            self.whole = false;
        }
    }
}

/// Reads an output by a rule.
///
/// # Errors
/// A sentence: there is nothing in it that the rule could compare.
pub fn answer(rule: &OutputRule, piece: &Piece) -> Result<Answer, String> {
    match rule {
        OutputRule::Exact => Ok(exact::answer(piece)),
        OutputRule::AnyOrder => Ok(any_order::answer(piece)),
        OutputRule::Lines => lines::answer(piece),
        OutputRule::Fields { ignore } => fields::answer(ignore, piece),
        OutputRule::Json(rule) => json::answer(rule, piece),
        OutputRule::Count(pattern) => count::answer(pattern, piece),
        OutputRule::Ignored => Ok(Answer::default()),
    }
}

/// An answer that is a text of which everything counts, by its size and digest.
pub(super) fn of_text(what: &str, bytes: Vec<u8>) -> Answer {
    let facts = [
        (format!("{what} bytes"), bytes.len().to_string()),
        (format!("{what} sha256"), digest::of_bytes(&bytes)),
    ];
    let text = Text { bytes, ordered: true, whole: true };
    Answer { facts: facts.into(), near: BTreeMap::new(), text: Some(text) }
}
