//! How the work of programs is proven, as read from the file.

use super::draft::Draft;
use super::extracts::{compiled, pointer};
use super::work::Field;
use super::workload::blank;
use crate::model::metric::{COMMAND, FIGURES};
use crate::model::verify_rule::{JsonRule, OutputRule, VerifyRule};
use crate::rule::Assertion;
use crate::yaml::{Complaint, Entry, Fields, Kind, Node, unknown};

pub(super) const VERIFY_KEYS: [&str; 5] = ["frames", "output", "of", "files", "effects"];
/// Those that are about programs.
pub(super) const OF_PROGRAMS: [&str; 4] = ["output", "of", "files", "effects"];
pub(super) const OUTPUT_KEYS: [&str; 3] = ["fields", "json", "count"];
pub(super) const FIELDS_KEYS: [&str; 1] = ["ignore"];
pub(super) const JSON_KEYS: [&str; 2] = ["ignore", "tolerance"];

/// Reads `verify` of programs; `names` are those of the roles, where they could be read.
pub(super) fn read<'a>(
    fields: &Fields<'a>,
    names: Option<&[&str]>,
    draft: &mut Draft<'a>,
) -> Option<VerifyRule> {
    let output =
        fields.get("output").map_or(Some(OutputRule::Exact), |entry| output(&entry.value, &mut draft.out));
    let of = fields.get("of").map_or(Some(None), |entry| roles(&entry.value, names, draft).map(Some));
    let files = list(fields.get("files"), "verify.files", Field::Below, draft);
    let effects = list(fields.get("effects"), "verify.effects", Field::Effect, draft);
    let items = fields.get("effects").and_then(|entry| match &entry.value.kind {
        Kind::Sequence(items) => Some(items.as_slice()),
        _ => None,
    });
    for item in items.into_iter().flatten() {
        figures(item, draft);
    }
    Some(VerifyRule { output: output?, of: of?, files: files?, effects: effects? })
}

fn output(node: &Node, out: &mut Vec<Complaint>) -> Option<OutputRule> {
    let what = "`verify.output`";
    if let Kind::Scalar { .. } = &node.kind {
        let words = [
            ("exact", OutputRule::Exact),
            ("lines", OutputRule::Lines),
            ("any_order", OutputRule::AnyOrder),
            ("ignored", OutputRule::Ignored),
        ];
        return node.choice(what, &words, out);
    }
    let fields = Fields::open(node, node.span, what, &OUTPUT_KEYS, out)?;
    let given: Vec<&Entry> = OUTPUT_KEYS.iter().filter_map(|key| fields.get(key)).collect();
    let [only] = given[..] else {
        node.expected(what, "one of `fields`, `json` and `count`", out);
        return None;
    };
    match only.key.value.as_str() {
        "count" => compiled(&only.value, "`count`", out).and_then(|(pattern, groups)| {
            if groups > 1 {
                let wanted = "a pattern with one group (the count) or none (how often it is found)";
                only.value.expected("`count`", wanted, out);
                return None;
            }
            Some(OutputRule::Count(pattern))
        }),
        "json" => json(only, out).map(OutputRule::Json),
        _ => {
            let fields = Fields::open(&only.value, only.key.span, "`fields`", &FIELDS_KEYS, out)?;
            let ignore = fields.need("ignore", "`fields`", out)?;
            let names = ignore.value.items("`ignore`", out)?;
            let names: Vec<Option<String>> = names.iter().map(|name| field_name(name, out)).collect();
            Some(OutputRule::Fields { ignore: names.into_iter().collect::<Option<_>>()? })
        }
    }
}

fn field_name(node: &Node, out: &mut Vec<Complaint>) -> Option<String> {
    let name = node.words("`ignore`", out)?;
    if name.value.contains(|c: char| c.is_whitespace() || c == '=') {
        node.expected("`ignore`", "the name in `name=value`, such as `elapsed_ms`", out);
        return None;
    }
    Some(name.value.to_owned())
}

fn json(entry: &Entry, out: &mut Vec<Complaint>) -> Option<JsonRule> {
    let fields = Fields::open(&entry.value, entry.key.span, "`json`", &JSON_KEYS, out)?;
    let mut rule = JsonRule::default();
    if let Some(ignore) = fields.get("ignore") {
        for item in ignore.value.items("`ignore`", out)? {
            let pointer = pointer(item, "`ignore`", out)?;
            if pointer.is_empty() {
                let message = "`ignore`: the whole document would be ignored, and nothing compared";
                out.push(
                    Complaint::error(item.span, message).help("write `output: ignored` where that is meant"),
                );
            }
            rule.ignore.push(pointer);
        }
    }
    if let Some(tolerance) = fields.get("tolerance") {
        for Entry { key, value } in tolerance.value.entries("`tolerance`", out)? {
            if !key.value.starts_with('/') {
                let message =
                    format!("`tolerance`: expected a JSON pointer like `/rate`, found `{}`", key.value);
                out.push(Complaint::error(key.span, message));
            }
            rule.tolerance.push((key.value.clone(), value.percent("`tolerance`", out)?));
        }
    }
    Some(rule)
}

/// The name of one role, where there is one.
pub(super) fn one_role(
    entry: Option<&Entry>,
    names: Option<&[&str]>,
    draft: &mut Draft<'_>,
) -> Option<Option<String>> {
    let Some(entry) = entry else { return Some(None) };
    role(&entry.value, names, draft).map(Some)
}

/// The name of a role, or a list of some.
fn roles(node: &Node, names: Option<&[&str]>, draft: &mut Draft<'_>) -> Option<Vec<String>> {
    let items = match &node.kind {
        Kind::Sequence(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let read: Vec<Option<String>> = items.iter().map(|item| role(item, names, draft)).collect();
    read.into_iter().collect()
}

fn role(node: &Node, names: Option<&[&str]>, draft: &mut Draft<'_>) -> Option<String> {
    let name = node.text("`of`", &mut draft.out)?;
    let names = names?;
    if !names.contains(&name.value) {
        let message = format!("`of`: no role is called `{}`", name.value);
        draft.out.push(unknown(name.span, message, name.value, names.iter().copied()));
        return None;
    }
    Some(name.value.to_owned())
}

fn list<'a>(
    entry: Option<&'a Entry>,
    what: &str,
    field: Field,
    draft: &mut Draft<'a>,
) -> Option<Vec<String>> {
    let Some(entry) = entry else { return Some(vec![]) };
    let items = entry.value.items(&format!("`{what}`"), &mut draft.out)?;
    let read: Vec<Option<String>> = items.iter().map(|item| blank(item, what, field, draft)).collect();
    read.into_iter().collect()
}

/// Effects are about what the work does, which a busy machine does not change.
fn figures(node: &Node, draft: &mut Draft<'_>) {
    let Kind::Scalar { text, .. } = &node.kind else { return };
    let Ok(assertion) = Assertion::parse(text) else { return };
    for name in assertion.names() {
        let known = FIGURES.into_iter().chain(["peak_rss"]);
        let known: Vec<&str> = known.chain(draft.values.iter().map(|value| value.name.as_str())).collect();
        if known.contains(&name.as_str()) {
            continue;
        }
        let complaint = match COMMAND.iter().find(|metric| metric.name == name) {
            Some(metric) => {
                let message =
                    format!("`{name}` ({}) is no figure that an effect can be asserted on", metric.unit);
                Complaint::error(node.span, message)
                    .help("effects are about the work itself; make a time a response, with a margin")
            }
            None if name == "rchar" => {
                Complaint::error(node.span, "`rchar` is called `bytes_read` here").label("write `bytes_read`")
            }
            None => {
                let message = format!("`{name}` is no figure of a program, and no value is called so");
                unknown(node.span, message, &name, known)
            }
        };
        draft.out.push(complaint);
    }
}
