//! Where numbers stand in an output, as read from the file.

use regex::bytes::Regex;

use super::work::Field;
use crate::model::extract::{At, Extract, Written};
use crate::yaml::{Complaint, Fields, Kind, Node};

/// Keys of a place in an output.
pub(super) const EXTRACT_KEYS: [&str; 3] = ["json", "pattern", "from"];
pub(super) const FILE_KEYS: [&str; 1] = ["file"];

/// Reads `json` or `pattern`, and `from`, among the fields of something else.
pub(super) fn read(fields: &Fields<'_>, what: &str, out: &mut Vec<Complaint>) -> Option<Extract> {
    let at = at(fields, what, out);
    let from = match fields.get("from") {
        Some(entry) => written(&entry.value, out),
        None => Some(Written::Stdout),
    };
    Some(Extract { at: at?, from: from? })
}

/// Reads a mapping that is a place and nothing else.
pub(super) fn whole(node: &Node, what: &str, out: &mut Vec<Complaint>) -> Option<Extract> {
    read(&Fields::open(node, node.span, what, &EXTRACT_KEYS, out)?, what, out)
}

fn at(fields: &Fields<'_>, what: &str, out: &mut Vec<Complaint>) -> Option<At> {
    match (fields.get("json"), fields.get("pattern")) {
        (Some(json), None) => pointer(&json.value, "`json`", out).map(At::Json),
        (None, Some(entry)) => pattern(&entry.value, out).map(At::Pattern),
        (Some(json), Some(pattern)) => {
            let message = format!("{what}: expected one of `json` and `pattern`, found both");
            out.push(Complaint::error(pattern.key.span, message).also(json.key.span, "the other one"));
            None
        }
        (None, None) => {
            let help = "`json: /end/rate` leads into a JSON document, `pattern: 'rate=(\\d+)'` into any text";
            out.push(Complaint::error(fields.at, format!("{what} lacks `json` or `pattern`")).help(help));
            None
        }
    }
}

/// A JSON pointer (RFC 6901).
pub(super) fn pointer(node: &Node, what: &str, out: &mut Vec<Complaint>) -> Option<String> {
    let text = node.text(what, out)?;
    if !text.value.is_empty() && !text.value.starts_with('/') {
        node.expected(what, "a JSON pointer like `/end/sum/rate`", out);
        return None;
    }
    Some(text.value.to_owned())
}

/// A pattern whose one group is a number.
fn pattern(node: &Node, out: &mut Vec<Complaint>) -> Option<String> {
    let (text, groups) = compiled(node, "`pattern`", out)?;
    if groups != 1 {
        let message = format!("`pattern`: expected one group, which holds the number, found {groups}");
        let help = "write the number as `(\\d+)`; a group that is none begins with `(?:`";
        out.push(Complaint::error(node.span, message).help(help));
        return None;
    }
    Some(text)
}

/// A regular expression and how many groups it has.
pub(super) fn compiled(node: &Node, what: &str, out: &mut Vec<Complaint>) -> Option<(String, usize)> {
    let text = node.words(what, out)?;
    match Regex::new(text.value) {
        Ok(pattern) => Some((text.value.to_owned(), pattern.captures_len() - 1)),
        Err(_) => {
            node.expected(what, "a regular expression (of the Rust crate regex)", out);
            None
        }
    }
}

fn written(node: &Node, out: &mut Vec<Complaint>) -> Option<Written> {
    if let Kind::Scalar { .. } = &node.kind {
        return node.choice("`from`", &[("stdout", Written::Stdout), ("stderr", Written::Stderr)], out);
    }
    let fields = Fields::open(node, node.span, "`from`", &FILE_KEYS, out)?;
    let file = fields.need("file", "`from`", out)?;
    let path = file.value.words("`file`", out)?;
    if let Err(expected) = Field::Below.check(path.value) {
        file.value.expected("`file`", &expected, out);
        return None;
    }
    Some(Written::File(path.value.to_owned()))
}
