//! Bencher Metric Format: benchmarks with measures, each with a value and the ends of its interval.

use serde_json::{Map, Value, json};

use super::name::measure;
use crate::analysis::findings::Findings;
use crate::model::outcome::Fate;

/// A document in the format, and what could not stand in it, which has no place for a missing value.
pub struct Bencher {
    pub document: Value,
    /// `cell response: why`, one for each value that does not exist.
    pub left_out: Vec<String>,
}

/// One benchmark for each cell, one measure for each response: its median, with the ends of the median's
/// interval as bounds. Names of measures carry the unit, since the format has no place for it either.
pub fn bencher(findings: &Findings) -> Bencher {
    let campaign = findings.campaign.as_deref().unwrap_or("fieldtrial");
    let mut document = Map::new();
    let mut left_out = vec![];
    for cell in &findings.cells {
        if cell.fate != Fate::Live {
            left_out.push(format!("{}: {}", cell.cell, cell.fate.name()));
            continue;
        }
        let mut measures = Map::new();
        for found in &cell.responses {
            let Some(median) = found.median else {
                let why = found.absent.get("median").map_or("no value", |why| why);
                left_out.push(format!("{} {}: {why}", cell.cell, found.response));
                continue;
            };
            let mut value = Map::from_iter([("value".to_owned(), json!(median))]);
            let interval = found.interval.map(|i| [("lower_value", i.low), ("upper_value", i.high)]);
            for (name, end) in interval.into_iter().flatten().filter(|(_, end)| end.is_finite()) {
                value.insert(name.to_owned(), json!(end));
            }
            measures.insert(measure(&found.response, &found.unit), Value::Object(value));
        }
        if !measures.is_empty() {
            document.insert(format!("{campaign}: {}", cell.cell), Value::Object(measures));
        }
    }
    Bencher { document: Value::Object(document), left_out }
}
