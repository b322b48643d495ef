//! Which names and levels may stand in a campaign.

use crate::model::level::Level;
use crate::yaml::{Complaint, Kind, Loc, Node, Span};

const LONGEST_NAME: usize = 64;
/// Levels of variables stand in cell ids.
pub(super) const LONGEST_LEVEL: usize = 200;
/// Levels of settings do not, and may be whole command lines.
pub(super) const LONGEST_SETTING: usize = 4000;
/// Words that mean something else in a rule.
const RESERVED: [&str; 23] = [
    "hosts",
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
    "arm",
];

/// The name of a campaign or arm: it becomes part of paths and of cell ids.
pub(super) fn label<'a>(node: &'a Node, what: &str, out: &mut Vec<Complaint>) -> Option<Loc<&'a str>> {
    let text = node.text(what, out)?;
    let fits = text.value.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.value.chars().all(|each| each.is_ascii_alphanumeric() || "._-".contains(each))
        && text.value.len() <= LONGEST_NAME;
    if !fits {
        node.expected(what, "letters, digits, `.`, `_` and `-`, first a letter or digit, at most 64", out);
        return None;
    }
    Some(text)
}

/// The name of a variable or setting: rules and `${…}` must be able to say it.
pub(super) fn identifier(name: &Loc<String>, what: &str, out: &mut Vec<Complaint>) -> bool {
    let text = name.value.as_str();
    let fits = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|each| each.is_ascii_alphanumeric() || each == '_')
        && text.len() <= LONGEST_NAME;
    if !fits {
        let message = format!("{what}: expected letters, digits and `_`, at most 64, found `{text}`");
        out.push(Complaint::error(name.span, message).help("rules and `${name}` use this name"));
    } else if RESERVED.contains(&text) {
        let message = format!("{what}: `{text}` has a meaning of its own in rules");
        out.push(Complaint::error(name.span, message).help("choose another name"));
        return false;
    }
    fits
}

/// One level of at most `longest` bytes, spelled as typed.
pub(super) fn level(node: &Node, what: &str, longest: usize, out: &mut Vec<Complaint>) -> Option<Level> {
    let Kind::Scalar { text, quoted } = &node.kind else {
        node.expected(what, "a text or a number", out);
        return None;
    };
    let fits = !text.is_empty() && text.len() <= longest && !text.chars().any(char::is_control);
    if !fits {
        let message = format!("{what}: expected one line of 1 to {longest} characters");
        out.push(
            Complaint::error(node.span, message)
                .help("levels stand in labels, and those of variables in cell ids"),
        );
        return None;
    }
    Some(Level { text: text.clone(), quoted: *quoted })
}

/// A cell id is `variable=level,variable=level/arm`; a level must not read like a part of one.
pub(super) fn reads_like_an_id(level: &Level, span: Span, variables: &[&str], out: &mut Vec<Complaint>) {
    if variables.iter().any(|name| level.text.contains(&format!(",{name}="))) {
        let message = format!("the level `{}` would make cell ids ambiguous", level.text);
        out.push(Complaint::error(span, message).help("take `,variable=` out of it"));
    }
}
