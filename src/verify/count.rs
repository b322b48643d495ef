//! Comparison of one count, taken by a pattern.

use regex::bytes::Regex;

use super::answer::Answer;
use super::extract;
use super::output::Piece;
use crate::model::extract::At;

/// How often the pattern is found, or the number in its group.
///
/// # Errors
/// It is never found: nothing was counted, and so nothing would be proven.
pub fn answer(pattern: &str, piece: &Piece) -> Result<Answer, String> {
    let bytes = piece.whole()?;
    let compiled = Regex::new(pattern).map_err(|why| format!("the pattern cannot be read: {why}"))?;
    let count = match compiled.captures_len() {
        1 => compiled.find_iter(bytes).count() as f64,
        _ => extract::number(&At::Pattern(pattern.to_owned()), bytes)?,
    };
    if compiled.captures_len() == 1 && count == 0.0 {
        return Err(format!("`{pattern}` is nowhere in its output, so nothing is counted"));
    }
    let facts = [(format!("count of `{pattern}`"), count.to_string())];
    Ok(Answer { facts: facts.into(), ..Answer::default() })
}
