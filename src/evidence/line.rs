//! One line of a journal: an event with its number, time and checksum.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::event::{Event, RunNote, VERSION};
use crate::model::digest;

/// A line that was read back whole.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Version of the journal's shape.
    pub v: u32,
    /// Number of the line, counted from 0.
    pub seq: u64,
    /// RFC 3339 in UTC.
    pub at: String,
    pub event: Event,
}

/// Why a line cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error(
        "expected a line that ends with its checksum, found one that breaks off after {bytes} bytes; only this line is lost"
    )]
    Torn { bytes: usize },
    #[error("expected checksum {expected}, computed {found}: this line was changed after it was written")]
    Sum { expected: String, found: String },
    #[error(
        "expected journal version {known} or older, found {found}: a newer fieldtrial wrote this record; read it with that one"
    )]
    Newer { found: u32, known: u32 },
    #[error("expected a journal event, found something else though its checksum holds: {0}")]
    Shape(String),
}

#[derive(Serialize)]
struct Unsummed<'a> {
    v: u32,
    seq: u64,
    at: &'a str,
    event: &'a Event,
}

#[derive(Deserialize)]
struct Head {
    v: u32,
}

/// Hex digits of the checksum: 64 bits of SHA-256, ample against accidents, none against forgers.
const SUM_DIGITS: usize = 16;
const SUM_KEY: &str = ",\"sum\":\"";
const SUM_END: &str = "\"}";

/// The text of one line, without its line feed. Numbers that are not finite have no place in JSON;
/// they leave a run's `values` and are named in its `absent`, so that the line can be read again.
pub fn encode(seq: u64, at: &str, event: &Event) -> String {
    let event = finite(event);
    let body = match serde_json::to_string(&Unsummed { v: VERSION, seq, at, event: &event }) {
        Ok(body) => body,
        // All keys are text and all types are plain, so serde_json has no ground to refuse.
        Err(e) => unreachable!("an event cannot be written as JSON: {e}"),
    };
    let sum = checksum(&body);
    let open = &body[..body.len() - 1];
    format!("{open}{SUM_KEY}{sum}{SUM_END}")
}

/// Reads one line, with or without its line feed.
///
/// # Errors
/// The line is torn, was changed, has a newer version, or holds no event.
pub fn decode(line: &str) -> Result<Line, LineError> {
    let line = line.trim_end_matches(['\n', '\r']);
    let Some((body, expected)) = split_sum(line) else {
        return Err(newer(line).unwrap_or(LineError::Torn { bytes: line.len() }));
    };
    let found = checksum(&body);
    if found != expected {
        return Err(newer(&body).unwrap_or(LineError::Sum { expected: expected.to_owned(), found }));
    }
    if let Some(error) = newer(&body) {
        return Err(error);
    }
    serde_json::from_str(&body).map_err(|e| LineError::Shape(e.to_string()))
}

/// The object without its sum, and the sum.
fn split_sum(line: &str) -> Option<(String, &str)> {
    let rest = line.strip_suffix(SUM_END)?;
    let cut = rest.len().checked_sub(SUM_DIGITS).filter(|cut| rest.is_char_boundary(*cut))?;
    let (open, sum) = rest.split_at(cut);
    let open = open.strip_suffix(SUM_KEY)?;
    sum.bytes().all(|b| b.is_ascii_hexdigit()).then(|| (format!("{open}}}"), sum))
}

/// A later version may have another checksum, so its number is looked at even where ours fails.
fn newer(text: &str) -> Option<LineError> {
    let found = serde_json::from_str::<Head>(text).ok()?.v;
    (found > VERSION).then_some(LineError::Newer { found, known: VERSION })
}

fn checksum(body: &str) -> String {
    digest::of_bytes(body.as_bytes())[..SUM_DIGITS].to_owned()
}

fn finite(event: &Event) -> Cow<'_, Event> {
    match event {
        Event::RunEnded(note) if !is_finite(note) => {
            let mut note = note.clone();
            for (metric, value) in note.values.iter().filter(|(_, value)| !value.is_finite()) {
                note.absent.insert(metric.clone(), format!("not a finite number: {value}"));
            }
            note.values.retain(|_, value| value.is_finite());
            for sample in note.samples.iter().filter(|s| !s.value.is_finite()) {
                let text =
                    format!("a sample at {} ns is not a finite number: {}", sample.at_ns, sample.value);
                note.absent.entry(format!("{} sample", sample.metric)).or_insert(text);
            }
            note.samples.retain(|s| s.value.is_finite());
            Cow::Owned(Event::RunEnded(note))
        }
        other => Cow::Borrowed(other),
    }
}

fn is_finite(note: &RunNote) -> bool {
    note.values.values().all(|v| v.is_finite()) && note.samples.iter().all(|s| s.value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::example;

    fn event() -> Event {
        Event::RunEnded(Box::new(example::run("frame_size=64/<b>\"x\"", 3, 1234.5678901234567)))
    }

    #[test]
    fn a_line_reads_back_as_it_was_written() {
        let line = encode(7, "2026-11-30T10:00:00Z", &event());
        assert!(!line.contains('\n'));
        let back = decode(&(line + "\n")).expect("whole line");
        assert_eq!((back.v, back.seq, back.at.as_str()), (VERSION, 7, "2026-11-30T10:00:00Z"));
        assert_eq!(back.event, event());
    }

    #[test]
    fn a_line_torn_at_any_byte_is_refused() {
        let line = encode(7, "2026-11-30T10:00:00Z", &event());
        for cut in (0..line.len()).filter(|cut| line.is_char_boundary(*cut)) {
            assert!(decode(&line[..cut]).is_err(), "cut at {cut}");
        }
        assert!(matches!(decode("{\"cell\": \"c4\", \"valu"), Err(LineError::Torn { bytes: 20 })));
    }

    #[test]
    fn any_flipped_byte_is_noticed() {
        let line = encode(7, "2026-11-30T10:00:00Z", &event());
        for at in 0..line.len() {
            let mut bytes = line.clone().into_bytes();
            bytes[at] ^= 1;
            if let Ok(text) = String::from_utf8(bytes) {
                assert!(decode(&text).is_err(), "byte {at}: {text}");
            }
        }
    }

    #[test]
    fn a_newer_version_is_refused_with_words_even_with_another_checksum() {
        let line = encode(1, "2026-11-30T10:00:00Z", &event());
        let newer = line.replacen("{\"v\":3,", "{\"v\":4,", 1);
        let error = decode(&newer).expect_err("version 4");
        assert_eq!(error, LineError::Newer { found: 4, known: VERSION });
        assert!(error.to_string().contains("newer fieldtrial"), "{error}");
        assert_eq!(decode("{\"v\":9,\"crc\":1}"), Err(LineError::Newer { found: 9, known: VERSION }));
    }

    #[test]
    fn a_number_that_is_not_finite_is_named_and_the_line_stays_readable() {
        let mut note = example::run("/control", 1, f64::NAN);
        note.values.insert("other".into(), 2.5);
        let back = decode(&encode(0, "t", &Event::RunEnded(Box::new(note)))).expect("readable");
        let Event::RunEnded(note) = back.event else { panic!("another event") };
        assert_eq!(note.values.get("other"), Some(&2.5));
        assert!(note.absent["wall_time"].contains("NaN"), "{:?}", note.absent);
    }
}
