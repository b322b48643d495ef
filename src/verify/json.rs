//! Comparison of JSON documents, parts of which may differ or need only be near.

use std::collections::BTreeMap;

use serde_json::Value;

use super::answer::{Answer, of_text};
use super::output::Piece;
use super::pointer;
use crate::model::proof::Near;
use crate::model::verify_rule::JsonRule;

/// What stands where a number was taken out that need only be near.
const NEAR: &str = "(near)";
/// A float holds every whole number below this.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// The document without what is ignored, one value a line, with keys in order and `1.0` as `1`.
///
/// # Errors
/// It is no JSON, what may differ is no number, or nothing is left of it.
pub fn answer(rule: &JsonRule, piece: &Piece) -> Result<Answer, String> {
    let mut document = document(piece.whole()?)?;
    let mut taken = 0;
    for each in &rule.ignore {
        taken += pointer::change(&mut document, each, &mut |_, _| None);
    }
    let mut near = BTreeMap::new();
    let mut wrong = None;
    for (each, tolerance) in &rule.tolerance {
        pointer::change(&mut document, each, &mut |path, value| {
            match value.as_f64() {
                Some(value) => {
                    near.insert(format!("output {path}"), Near { value, tolerance: *tolerance });
                }
                None => wrong = Some(format!("{path} has a tolerance and is {value}, which is no number")),
            }
            Some(Value::from(NEAR))
        });
    }
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    let mut text = vec![];
    flatten(&document, "", &mut text);
    if taken > 0 && near.is_empty() && text.is_empty() {
        return Err("all of its output is ignored, so nothing would be compared; \
                    write `output: ignored` where that is meant"
            .to_owned());
    }
    Ok(Answer { near, ..of_text("output json", text) })
}

/// The one JSON document of an output; of an output with one document a line, the last.
///
/// # Errors
/// A sentence: it is neither.
pub fn document(bytes: &[u8]) -> Result<Value, String> {
    let whole = match serde_json::from_slice(bytes) {
        Ok(document) => return Ok(document),
        Err(why) => why,
    };
    if bytes.trim_ascii().is_empty() {
        return Err("it is empty".to_owned());
    }
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let documents: Result<Vec<Value>, _> = lines.map(serde_json::from_slice).collect();
    match documents {
        Ok(mut documents) => Ok(documents.pop().unwrap_or_default()),
        Err(_) => Err(format!("it is no JSON document: {whole}")),
    }
}

/// One line for each leaf, `/path: value`, so that a difference can be shown where it is.
fn flatten(value: &Value, path: &str, out: &mut Vec<u8>) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            let sorted: BTreeMap<&String, &Value> = object.iter().collect();
            for (key, value) in sorted {
                let key = key.replace('~', "~0").replace('/', "~1");
                flatten(value, &format!("{path}/{key}"), out);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for (at, value) in list.iter().enumerate() {
                flatten(value, &format!("{path}/{at}"), out);
            }
        }
        // An empty root is what ignoring everything leaves.
        Value::Object(_) | Value::Array(_) if path.is_empty() => {}
        leaf => out.extend_from_slice(format!("{path}: {}\n", shown(leaf)).as_bytes()),
    }
}

fn shown(leaf: &Value) -> String {
    match leaf.as_f64() {
        Some(number) if leaf.is_f64() && number.fract() == 0.0 && number.abs() < WHOLE => {
            format!("{number:.0}")
        }
        _ => leaf.to_string(),
    }
}
