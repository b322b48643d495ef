//! `gate`: how far below its published level a response may fall.

use indexmap::IndexMap;

use super::draft::Draft;
use crate::model::gate::{GateRule, OwnRule, TOLERANCE};
use crate::model::response::Response;
use crate::yaml::{Complaint, Entry, Fields, Node, unknown};

pub(super) const GATE_KEYS: [&str; 3] = ["against", "tolerance", "responses"];
pub(super) const OWN_KEYS: [&str; 2] = ["tolerance", "limit"];

/// Reads the rule; responses are checked once they are known.
pub(super) fn read(entry: &Entry, responses: &[Response], draft: &mut Draft<'_>) -> Option<GateRule> {
    draft.note("gate", &entry.key);
    let fields = Fields::open(&entry.value, entry.key.span, "`gate`", &GATE_KEYS, &mut draft.out)?;
    if let Some(against) = fields.get("against") {
        against.value.choice("`gate.against`", &[("published", ())], &mut draft.out);
    }
    let tolerance = fields
        .get("tolerance")
        .map_or(Some(TOLERANCE), |entry| entry.value.percent("`tolerance`", &mut draft.out));
    let mut own = IndexMap::new();
    for Entry { key, value } in fields
        .get("responses")
        .map_or(Some(&[][..]), |entry| entry.value.entries("`gate.responses`", &mut draft.out))?
    {
        if !responses.iter().any(|response| response.name == key.value) {
            let message = format!("`{}` is no response of this campaign", key.value);
            let known = responses.iter().map(|response| response.name.as_str());
            draft.out.push(unknown(key.span, message, &key.value, known));
        }
        let what = format!("`gate.responses.{}`", key.value);
        let Some(fields) = Fields::open(value, key.span, &what, &OWN_KEYS, &mut draft.out) else { continue };
        let own_tolerance =
            fields.get("tolerance").map(|entry| entry.value.percent("`tolerance`", &mut draft.out));
        let limit = fields.get("limit").map(|entry| limit(&entry.value, draft));
        if let (Some(_), Some(_)) = (&own_tolerance, &limit) {
            let message = format!("{what}: expected one of `tolerance` and `limit`, found both");
            let help = "`limit` is the worst value allowed, and leaves nothing for a tolerance to decide";
            draft.out.push(Complaint::error(key.span, message).help(help));
        }
        own.insert(key.value.clone(), OwnRule { tolerance: own_tolerance.flatten(), limit: limit.flatten() });
    }
    Some(GateRule { tolerance: tolerance?, responses: own })
}

fn limit(node: &Node, draft: &mut Draft<'_>) -> Option<f64> {
    let text = node.text("`limit`", &mut draft.out)?;
    let limit = text.value.parse::<f64>().ok().filter(|limit| limit.is_finite());
    if limit.is_none() {
        node.expected("`limit`", "a number in the unit of the response", &mut draft.out);
    }
    limit
}
