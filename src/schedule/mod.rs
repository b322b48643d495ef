//! A campaign on a calendar: expressions, the dates that they mean, and units for systemd and cron.

pub mod calendar;
mod cron;
pub mod dates;
mod expression;
pub mod quote;
#[cfg(test)]
mod tests;
pub mod unit;

pub use cron::line as cron_line;

use calendar::Schedule;

/// Reads a calendar expression of systemd (`Mon..Fri 02:00`), or five fields of cron (`0 2 * * 1-5`).
///
/// # Errors
/// What was expected and what was found, in a sentence.
pub fn parse(text: &str) -> Result<Schedule, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let fields = words.len() == 5 && words.iter().all(|word| !word.contains(':') && !word.contains(".."));
    if fields || text.trim_start().starts_with('@') {
        cron::parse(text.trim())
    } else {
        expression::parse(text.trim())
    }
}
