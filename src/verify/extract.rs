//! One number read from an output, or why there is none: what is missing is never 0.

use regex::bytes::Regex;
use serde_json::Value;

use super::output::Output;
use super::{json, pointer};
use crate::model::extract::{At, Extract, Range, ValueRule};

/// The value of a declared response.
///
/// # Errors
/// A sentence that begins with the name of the value.
pub fn value(rule: &ValueRule, output: &Output) -> Result<f64, String> {
    let read = || -> Result<f64, String> {
        let bytes = output.piece(&rule.extract.from)?.whole()?;
        let value = number(&rule.extract.at, bytes)?;
        within(value, &rule.range)?;
        if let Some(at) = &rule.intervals {
            working(&numbers(at, bytes)?)?;
        }
        Ok(value)
    };
    read().map_err(|why| format!("{} has no value from {}: {why}", rule.name, rule.extract.from.words()))
}

/// A whole number of units.
///
/// # Errors
/// A sentence: there is none, or it is no count.
pub fn count(extract: &Extract, output: &Output) -> Result<u64, String> {
    let read = || -> Result<u64, String> {
        let value = number(&extract.at, output.piece(&extract.from)?.whole()?)?;
        if value < 0.0 || value.fract() != 0.0 || value > 9e15 {
            return Err(format!("{value} is no count"));
        }
        Ok(value as u64)
    };
    read().map_err(|why| format!("{}: {why}", extract.from.words()))
}

/// The one finite number at a place.
///
/// # Errors
/// A sentence: none, an empty place, several, not a number, not finite.
pub fn number(at: &At, bytes: &[u8]) -> Result<f64, String> {
    match numbers(at, bytes)?[..] {
        [one] => Ok(one),
        [] => Err(format!("none: {} is not in it", shown(at))),
        [first, second, ..] => Err(format!("ambiguous: {} gives {first} and {second}", shown(at))),
    }
}

/// Every number at a place that may be there several times.
fn numbers(at: &At, bytes: &[u8]) -> Result<Vec<f64>, String> {
    if bytes.trim_ascii().is_empty() {
        return Err("none: it is empty".to_owned());
    }
    match at {
        At::Json(path) => {
            let document = json::document(bytes)?;
            pointer::all(&document, path).into_iter().map(|found| of_json(path, found)).collect()
        }
        At::Pattern(pattern) => {
            let compiled = Regex::new(pattern).map_err(|why| format!("the pattern cannot be read: {why}"))?;
            let found = compiled.captures_iter(bytes).filter_map(|all| all.get(1));
            found.map(|found| of_text(&String::from_utf8_lossy(found.as_bytes()))).collect()
        }
    }
}

fn of_json(path: &str, found: &Value) -> Result<f64, String> {
    match found {
        Value::Number(number) => finite(number.as_f64().unwrap_or(f64::NAN), &number.to_string()),
        Value::Null => Err(format!("empty: {path} is null")),
        other => Err(format!("{path} is {}, which is no number", brief(&other.to_string()))),
    }
}

fn of_text(text: &str) -> Result<f64, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("empty: the pattern is there, and no number is in its group".to_owned());
    }
    let number = text.parse().map_err(|_| format!("`{}` is no number", brief(text)))?;
    finite(number, text)
}

fn finite(number: f64, text: &str) -> Result<f64, String> {
    if number.is_finite() { Ok(number) } else { Err(format!("not finite: {}", brief(text))) }
}

fn within(value: f64, range: &Range) -> Result<(), String> {
    if range.above_zero && value <= 0.0 {
        return Err(format!("it is {value}, so nothing was done"));
    }
    let below = range.low.is_some_and(|low| value < low);
    let above = range.high.is_some_and(|high| value > high);
    if below || above {
        let end = |end: Option<f64>| end.map_or(String::new(), |end| end.to_string());
        let declared = format!("{}..{}", end(range.low), end(range.high));
        return Err(format!("out of range: {value} is not in {declared}"));
    }
    Ok(())
}

/// No part of the run may stand still.
fn working(intervals: &[f64]) -> Result<(), String> {
    let still = intervals.iter().filter(|each| **each <= 0.0).count();
    match (still, intervals.len()) {
        (_, 0) => Err("none: the run tells no intervals".to_owned()),
        (0, _) => Ok(()),
        (still, all) if still == all => Err(format!("nothing was done in any of {all} intervals")),
        (still, all) => Err(format!("nothing was done in {still} of {all} intervals")),
    }
}

fn shown(at: &At) -> String {
    match at {
        At::Json(pointer) => pointer.clone(),
        At::Pattern(pattern) => format!("`{pattern}`"),
    }
}

fn brief(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::extract::Written;
    use crate::model::job::Captured;
    use crate::model::response::Better;
    use crate::verify::output::Piece;

    fn rule(at: At) -> ValueRule {
        ValueRule {
            name: "rate".into(),
            unit: "bit/s".into(),
            better: Better::Higher,
            extract: Extract { from: Written::Stdout, at },
            range: Range { low: Some(0.0), ..Range::default() },
            intervals: None,
        }
    }

    fn told(rule: &ValueRule, text: &str) -> Result<f64, String> {
        let account = Captured { bytes: text.len() as u64, ..Captured::default() };
        let stdout = Piece { account, kept: text.into() };
        value(rule, &Output { stdout, ..Output::default() })
    }

    #[test]
    fn five_outputs_without_a_usable_number_have_five_reasons_and_none_is_zero() {
        // Case E11.
        let rule = rule(At::Pattern(r"rate=(\S*)".into()));
        for (text, why) in [
            ("", "none: it is empty"),
            ("rate=\n", "empty"),
            ("rate=10 rate=12\n", "ambiguous: `rate=(\\S*)` gives 10 and 12"),
            ("rate=1e400\n", "not finite: 1e400"),
            ("rate=-5\n", "out of range: -5 is not in 0.."),
        ] {
            let error = told(&rule, text).unwrap_err();
            assert!(error.contains(why), "{text:?}: {error}");
        }
        assert!(told(&rule, "speed=3").unwrap_err().contains("none: `rate=(\\S*)` is not in it"));
        assert_eq!(told(&rule, "x\nrate=10.5 ms\n"), Ok(10.5));
    }

    #[test]
    fn a_json_pointer_leads_to_one_number() {
        let rule = rule(At::Json("/end/bps".into()));
        assert_eq!(told(&rule, r#"{"end": {"bps": 1e9}}"#), Ok(1e9));
        assert_eq!(told(&rule, "{\"event\":\"ready\"}\n{\"end\": {\"bps\": 7}}\n"), Ok(7.0), "the last line");
        for (text, why) in [
            (r#"{"end": {}}"#, "none: /end/bps is not in it"),
            (r#"{"end": {"bps": null}}"#, "empty"),
            (r#"{"end": {"bps": "7"}}"#, "no number"),
            ("iperf3: error", "no JSON document"),
        ] {
            let error = told(&rule, text).unwrap_err();
            assert!(error.contains(why), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_rate_of_zero_is_no_rate_and_neither_is_one_that_stopped() {
        // Case V07.
        let intervals = Some(At::Json("/intervals/*".into()));
        let rule = ValueRule {
            range: Range { above_zero: true, ..Range::default() },
            intervals,
            ..rule(At::Json("/rate".into()))
        };
        let error = told(&rule, r#"{"rate": 0, "intervals": [0, 0, 0, 0]}"#).unwrap_err();
        assert!(error.contains("nothing was done"), "{error}");
        let error = told(&rule, r#"{"rate": 356, "intervals": [900, 880, 0, 0, 0]}"#).unwrap_err();
        assert!(error.contains("nothing was done in 3 of 5 intervals"), "{error}");
        assert_eq!(told(&rule, r#"{"rate": 890, "intervals": [900, 880]}"#), Ok(890.0));
    }
}
