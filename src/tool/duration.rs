//! Durations in arguments, always with their unit.

use jiff::SignedDuration;

/// A month: longer is a mistake, and its nanoseconds stay far from overflow.
const LONGEST_S: i64 = 31 * 24 * 3600;

/// Nanoseconds of `500ms`, `1m30s`, `2h`; a bare number has no unit and is refused.
///
/// # Errors
/// Why the text is no duration.
pub fn parse_ns(text: &str) -> Result<u64, String> {
    let hint = "expected a number with its unit, as in 500ms, 20s or 1m30s";
    let duration: SignedDuration = text.parse().map_err(|_| hint.to_owned())?;
    if duration.is_negative() || duration.as_secs() > LONGEST_S {
        return Err(format!("{hint}, from 0s to 31 days"));
    }
    u64::try_from(duration.as_nanos()).map_err(|_| hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit_and_a_sensible_length() {
        assert_eq!(parse_ns("500ms"), Ok(500_000_000));
        assert_eq!(parse_ns("1h5m2s"), Ok(3902 * 1_000_000_000));
        assert_eq!(parse_ns("0s"), Ok(0));
        for wrong in ["30", "", "-1s", "1000h", "abc", "5 parsecs"] {
            let why = parse_ns(wrong).expect_err(wrong);
            assert!(why.contains("500ms"), "{why}");
        }
    }
}
