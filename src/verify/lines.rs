//! Comparison of lines in their order.

use super::answer::{Answer, of_text};
use super::output::Piece;

/// How lines end is no part of them: CRLF is LF, and a last line without an end has one.
///
/// # Errors
/// The output is too large to be read.
pub fn answer(piece: &Piece) -> Result<Answer, String> {
    let mut text: Vec<u8> = Vec::with_capacity(piece.kept.len() + 1);
    for line in piece.whole()?.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        text.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        text.push(b'\n');
    }
    Ok(of_text("output lines", text))
}
