//! Comparison of `name=value` words, some of which may differ.

use super::answer::{Answer, of_text};
use super::output::Piece;

/// Stands where an ignored value stood.
const IGNORED: &[u8] = b"(ignored)";

/// The text with every ignored value taken out; all else counts, spaces included.
///
/// # Errors
/// Nothing but ignored fields is in it, or it is too large to be read.
pub fn answer(ignore: &[String], piece: &Piece) -> Result<Answer, String> {
    let mut text: Vec<u8> = Vec::with_capacity(piece.kept.len());
    let (mut ignored, mut kept) = (0, 0);
    for word in piece.whole()?.split_inclusive(u8::is_ascii_whitespace) {
        let body = word.trim_ascii_end();
        let name = field(body).map(|(name, _)| name);
        match name.filter(|name| ignore.iter().any(|each| each.as_bytes() == *name)) {
            Some(name) => {
                ignored += 1;
                text.extend_from_slice(name);
                text.push(b'=');
                text.extend_from_slice(IGNORED);
                text.extend_from_slice(&word[body.len()..]);
            }
            None => {
                kept += usize::from(!body.is_empty());
                text.extend_from_slice(word);
            }
        }
    }
    if ignored > 0 && kept == 0 {
        return Err("all of its output is ignored, so nothing would be compared; \
                    write `output: ignored` where that is meant"
            .to_owned());
    }
    Ok(of_text("output fields", text))
}

/// Name and value of a word like `elapsed_ms=31`.
pub fn field(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = word.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
    Some((&word[..at], &word[at + 1..]))
}
