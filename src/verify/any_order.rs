//! Comparison of lines as a multiset.

use super::answer::{Answer, Text};
use super::output::Piece;

/// Number of lines, and the sum of their digests: equal for the same lines in any order, each as often.
pub fn answer(piece: &Piece) -> Answer {
    let account = &piece.account;
    let facts = [
        ("output lines".to_owned(), account.lines.to_string()),
        ("output lines digest".to_owned(), account.lines_sha256.clone()),
    ];
    let text = Text { bytes: piece.kept.clone(), ordered: false, whole: piece.is_whole() };
    Answer { facts: facts.into(), text: Some(text), ..Answer::default() }
}
