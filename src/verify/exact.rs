//! Comparison of every byte.

use super::answer::{Answer, Text};
use super::output::Piece;

/// Size and digest of all bytes, however many.
pub fn answer(piece: &Piece) -> Answer {
    let account = &piece.account;
    let facts = [
        ("output bytes".to_owned(), account.bytes.to_string()),
        ("output sha256".to_owned(), account.sha256.clone()),
    ];
    let text = Text { bytes: piece.kept.clone(), ordered: true, whole: piece.is_whole() };
    Answer { facts: facts.into(), text: Some(text), ..Answer::default() }
}
