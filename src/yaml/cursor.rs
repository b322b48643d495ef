//! Walking a tree: each step checks one thing and collects what is wrong.

use std::ops::RangeInclusive;

use super::complaint::Complaint;
use super::quantity;
use super::source::{Loc, Span};
use super::tree::{Entry, Kind, Node};

/// The keys of one mapping whose known keys are fixed.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    entries: &'a [Entry],
    /// Where a missing key is complained about.
    pub at: Span,
}

impl<'a> Fields<'a> {
    /// Opens `node` as a mapping; complains about another kind and about every key not in `known`.
    /// `what` names the mapping in texts, `at` is where a missing key is missed.
    pub fn open(
        node: &'a Node,
        at: Span,
        what: &str,
        known: &[&str],
        out: &mut Vec<Complaint>,
    ) -> Option<Fields<'a>> {
        let entries = node.entries(what, out)?;
        for Entry { key, .. } in entries {
            if !known.contains(&key.value.as_str()) {
                let message = format!("unknown key `{}` in {what}", key.value);
                out.push(unknown(key.span, message, &key.value, known.iter().copied()));
            }
        }
        Some(Fields { entries, at })
    }

    /// The entry of a key, where it is given.
    pub fn get(&self, key: &str) -> Option<&'a Entry> {
        self.entries.iter().find(|entry| entry.key.value == key)
    }

    /// Like `get`, with a complaint when the key is missing.
    pub fn need(&self, key: &str, what: &str, out: &mut Vec<Complaint>) -> Option<&'a Entry> {
        let entry = self.get(key);
        if entry.is_none() {
            out.push(Complaint::error(self.at, format!("{what} lacks the key `{key}`")).label("missed here"));
        }
        entry
    }
}

/// The known name nearest to `given`, when it is near enough to be meant.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let score =
        |name: &'a str| (strsim::damerau_levenshtein(&given.to_lowercase(), &name.to_lowercase()), name);
    let (distance, name) = known.into_iter().map(score).min()?;
    (distance <= (given.chars().count() / 3).max(1)).then_some(name)
}

/// A complaint about a name that is not known: the nearest known one, or all when they are few.
pub fn unknown<'a>(
    span: Span,
    message: String,
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Complaint {
    let known: Vec<&str> = known.into_iter().collect();
    let complaint = Complaint::error(span, message);
    match nearest(given, known.iter().copied()) {
        Some(name) => complaint.label(format!("did you mean `{name}`?")),
        None if known.is_empty() => complaint.help("none is known here"),
        None => complaint.help(format!("known here: {}", shown(&known))),
    }
}

fn shown(known: &[&str]) -> String {
    const MOST: usize = 24;
    let mut text = known.iter().take(MOST).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if known.len() > MOST {
        text.push_str(&format!(" and {} more", known.len() - MOST));
    }
    text
}

impl Node {
    /// What was found, for texts: the value itself where it is short.
    pub fn found(&self) -> String {
        match &self.kind {
            Kind::Null => "nothing".to_owned(),
            Kind::Scalar { text, quoted } => {
                let cut: String = text.chars().take(40).collect();
                let dots = if cut.len() < text.len() { "…" } else { "" };
                if *quoted { format!("the text \"{cut}{dots}\"") } else { format!("`{cut}{dots}`") }
            }
            Kind::Sequence(_) => "a list".to_owned(),
            Kind::Mapping(_) => "a mapping".to_owned(),
        }
    }

    /// Where byte `offset` of a scalar's text stands in the file, when it can be told.
    pub fn inside(&self, offset: usize, source: &str) -> Span {
        let Kind::Scalar { text, quoted } = &self.kind else { return self.span };
        let start = self.span.start + usize::from(*quoted);
        if source.get(start..start + text.len()) != Some(text.as_str()) {
            return self.span;
        }
        let at = start + offset.min(text.len());
        Span { start: at, end: at + text[offset.min(text.len())..].chars().next().map_or(0, char::len_utf8) }
    }

    /// Complains that `what` is not what was wanted.
    pub fn expected(&self, what: &str, wanted: &str, out: &mut Vec<Complaint>) {
        out.push(Complaint::error(self.span, format!("{what}: expected {wanted}, found {}", self.found())));
    }

    /// The entries of a mapping with keys of the user's own.
    pub fn entries(&self, what: &str, out: &mut Vec<Complaint>) -> Option<&[Entry]> {
        match &self.kind {
            Kind::Mapping(entries) => Some(entries),
            _ => {
                self.expected(what, "a mapping (`key: value`)", out);
                None
            }
        }
    }

    /// The items of a list.
    pub fn items(&self, what: &str, out: &mut Vec<Complaint>) -> Option<&[Node]> {
        match &self.kind {
            Kind::Sequence(items) => Some(items),
            _ => {
                self.expected(what, "a list (`[a, b]`)", out);
                None
            }
        }
    }

    /// Text or number, as it is spelled in the file.
    pub fn text(&self, what: &str, out: &mut Vec<Complaint>) -> Option<Loc<&str>> {
        match &self.kind {
            Kind::Scalar { text, .. } => Some(Loc::new(text, self.span)),
            _ => {
                self.expected(what, "text", out);
                None
            }
        }
    }

    /// Text that says something: not empty, not only blanks.
    pub fn words(&self, what: &str, out: &mut Vec<Complaint>) -> Option<Loc<&str>> {
        let text = self.text(what, out)?;
        if text.value.trim().is_empty() {
            self.expected(what, "text that is not empty", out);
            return None;
        }
        Some(text)
    }

    /// A plain whole number; `1e3`, `1_000`, `3.0` and `"5"` are none.
    pub fn count(&self, what: &str, range: RangeInclusive<u64>, out: &mut Vec<Complaint>) -> Option<u64> {
        self.measure(what, out, true, |text| quantity::count(text, range.clone()))
    }

    /// A duration with its unit, in milliseconds.
    pub fn duration_ms(
        &self,
        what: &str,
        range: RangeInclusive<u64>,
        out: &mut Vec<Complaint>,
    ) -> Option<u64> {
        self.measure(what, out, false, |text| quantity::duration_ms(text, range.clone()))
    }

    /// A percentage such as `2%`, as a fraction.
    pub fn percent(&self, what: &str, out: &mut Vec<Complaint>) -> Option<f64> {
        self.measure(what, out, false, quantity::percent)
    }

    fn measure<T>(
        &self,
        what: &str,
        out: &mut Vec<Complaint>,
        plain: bool,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let (text, quoted) = match &self.kind {
            Kind::Scalar { text, quoted } => (text.as_str(), *quoted),
            _ => ("", false),
        };
        match read(text) {
            Ok(value) if !(plain && quoted) => Some(value),
            Ok(_) => {
                let wanted = read("").err().unwrap_or_else(|| "a number".to_owned());
                self.expected(what, &format!("{wanted}, without quotes"), out);
                None
            }
            Err(wanted) => {
                self.expected(what, &wanted, out);
                None
            }
        }
    }

    /// `true` or `false`, without quotes.
    pub fn flag(&self, what: &str, out: &mut Vec<Complaint>) -> Option<bool> {
        match &self.kind {
            Kind::Scalar { text, quoted: false } if text == "true" => Some(true),
            Kind::Scalar { text, quoted: false } if text == "false" => Some(false),
            _ => {
                self.expected(what, "`true` or `false`", out);
                None
            }
        }
    }

    /// One of a few words.
    pub fn choice<T: Clone>(&self, what: &str, words: &[(&str, T)], out: &mut Vec<Complaint>) -> Option<T> {
        let names: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let wanted = names.join(" or ");
        let Kind::Scalar { text, .. } = &self.kind else {
            self.expected(what, &wanted, out);
            return None;
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| word == text) {
            return Some(value.clone());
        }
        let message = format!("{what}: expected {wanted}, found {}", self.found());
        let near = nearest(text, words.iter().map(|(word, _)| *word));
        let complaint = Complaint::error(self.span, message);
        out.push(match near {
            Some(word) => complaint.label(format!("did you mean `{word}`?")),
            None => complaint,
        });
        None
    }
}
