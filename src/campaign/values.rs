//! Responses that are taken from the output of a role.

use super::draft::Draft;
use super::{extracts, naming};
use crate::model::extract::{Range, ValueRule};
use crate::model::metric::COMMAND;
use crate::model::response::Better;
use crate::yaml::{Complaint, Entry, Fields, Node};

pub(super) const VALUE_KEYS: [&str; 7] = ["json", "pattern", "from", "unit", "better", "range", "intervals"];
pub(super) const BETTER: [(&str, Better); 2] = [("higher", Better::Higher), ("lower", Better::Lower)];

/// Reads `values`; None when too little of one of them could be read.
pub(super) fn read(entry: &Entry, draft: &mut Draft<'_>) -> Option<Vec<ValueRule>> {
    let mut values = Some(vec![]);
    for Entry { key, value } in entry.value.entries("`values`", &mut draft.out)? {
        naming::identifier(key, "the name of a value", &mut draft.out);
        if COMMAND.iter().any(|metric| metric.name == key.value) {
            let message = format!("`{}` is measured already, so a value needs another name", key.value);
            draft.out.push(Complaint::error(key.span, message));
        }
        if draft.values.iter().any(|other| other.name == key.value) {
            let message = format!("the value `{}` is given twice", key.value);
            draft.out.push(Complaint::error(key.span, message).help("names are unique over all roles"));
        }
        match (one(&key.value, value, &mut draft.out), values.as_mut()) {
            (Some(rule), Some(values)) => {
                draft.values.push(rule.clone());
                values.push(rule);
            }
            _ => values = None,
        }
    }
    values
}

fn one(name: &str, node: &Node, out: &mut Vec<Complaint>) -> Option<ValueRule> {
    let what = format!("the value `{name}`");
    let fields = Fields::open(node, node.span, &what, &VALUE_KEYS, out)?;
    let extract = extracts::read(&fields, &what, out);
    let unit = fields.need("unit", &what, out).and_then(|entry| entry.value.words("`unit`", out));
    let better =
        fields.need("better", &what, out).and_then(|entry| entry.value.choice("`better`", &BETTER, out));
    let range = fields.get("range").map(|entry| range(&entry.value, out));
    let intervals = fields.get("intervals").map(|entry| extracts::whole(&entry.value, "`intervals`", out));
    let unit = unit?.value.to_owned();
    // A rate that nobody bounds is one of something that happened.
    let range = range.unwrap_or(Some(Range { above_zero: unit.ends_with("/s"), ..Range::default() }));
    let intervals = intervals.map_or(Some(None), |read| read.map(|extract| Some(extract.at)));
    Some(ValueRule {
        name: name.to_owned(),
        better: better?,
        extract: extract?,
        range: range?,
        intervals: intervals?,
        unit,
    })
}

/// `0..`, `..100` or `0..100`.
fn range(node: &Node, out: &mut Vec<Complaint>) -> Option<Range> {
    let text = node.text("`range`", out)?;
    let end = |text: &str| -> Option<Option<f64>> {
        match text.trim() {
            "" => Some(None),
            number => number.parse::<f64>().ok().filter(|end| end.is_finite()).map(Some),
        }
    };
    let ends = text.value.split_once("..").and_then(|(low, high)| Some((end(low)?, end(high)?)));
    match ends {
        Some((low, high))
            if low.zip(high).is_none_or(|(low, high)| low <= high) && (low, high) != (None, None) =>
        {
            Some(Range { low, high, above_zero: false })
        }
        _ => {
            node.expected("`range`", "a range like `0..`, `..100` or `0..100`", out);
            None
        }
    }
}
