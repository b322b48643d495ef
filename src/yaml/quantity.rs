//! Numbers with their units, read from the text that a user typed.

use std::ops::RangeInclusive;

use jiff::SignedDuration;

use crate::model::size;

/// A whole number in plain decimal digits. The error says what was expected.
pub fn count(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    match text.parse::<u64>() {
        Ok(value) if plain && !padded && range.contains(&value) => Ok(value),
        _ => Err(format!("a whole number from {} to {}, in plain digits", range.start(), range.end())),
    }
}

/// A duration such as `30s`, `200ms` or `1h5m2s`, in whole milliseconds. A bare number is refused.
pub fn duration_ms(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let expected = || {
        format!(
            "a duration with its unit, from {} to {} (like `30s`)",
            span(*range.start()),
            span(*range.end())
        )
    };
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(expected());
    }
    let parsed: SignedDuration = text.parse().map_err(|_| expected())?;
    let whole = parsed.subsec_nanos() % 1_000_000 == 0;
    match u64::try_from(parsed.as_millis()) {
        Ok(value) if whole && range.contains(&value) => Ok(value),
        _ => Err(expected()),
    }
}

/// Milliseconds as a person would write them.
fn span(milliseconds: u64) -> String {
    match milliseconds {
        ms if ms >= 3_600_000 && ms % 3_600_000 == 0 => format!("{}h", ms / 3_600_000),
        ms if ms >= 60_000 && ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    }
}

/// A percentage above 0 and below 100, such as `2%`, as a fraction (0.02).
pub fn percent(text: &str) -> Result<f64, String> {
    let value = text.strip_suffix('%').and_then(|number| decimal(number.trim_end()));
    match value {
        Some(value) if value > 0.0 && value < 100.0 => Ok(value / 100.0),
        _ => Err("a percentage above 0% and below 100% (like `2%`)".to_owned()),
    }
}

/// A rate per second such as `200000/s`, or `max` for None.
pub fn rate(text: &str) -> Result<Option<f64>, String> {
    if text == "max" {
        return Ok(None);
    }
    let value = text.strip_suffix("/s").and_then(|number| decimal(number.trim_end()));
    match value {
        Some(value) if value > 0.0 => Ok(Some(value)),
        _ => Err("frames per second and stream (like `200000/s`) or `max`".to_owned()),
    }
}

/// A size in bytes with its unit, such as `512B`, `64KiB` or `10MB`. `64K` could be either and is refused.
pub fn bytes(text: &str) -> Result<u64, String> {
    size::bytes(text)
        .ok_or_else(|| "a size with its unit: B, kB, MB, GB (1000) or KiB, MiB, GiB (1024)".to_owned())
}

/// Digits with at most one point: no exponent, no sign, no underscores.
fn decimal(text: &str) -> Option<f64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let starts = text.starts_with(|first: char| first.is_ascii_digit());
    if digits && starts { text.parse().ok() } else { None }
}
