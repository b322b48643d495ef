//! The whole dead-ends file, entry by entry.

use indexmap::IndexMap;

use super::entry::DeadEnd;
use crate::rule::{Condition, Rule};
use crate::yaml::{self, Complaint, Entry, Fields, Source, has_errors};

pub(super) const KEYS: [&str; 1] = ["dead_ends"];
pub(super) const ENTRY_KEYS: [&str; 6] = ["what", "change", "facts", "measured", "again", "source"];

/// What came of a dead-ends file.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// None where a complaint is an error.
    pub dead_ends: Option<Vec<DeadEnd>>,
    /// Everything that is wrong, in no order.
    pub complaints: Vec<Complaint>,
}

/// Reads a dead-ends file and complains about all that is wrong with it at once.
pub fn parse(source: &Source) -> Parsed {
    let mut out = Vec::new();
    let entries = yaml::read(source, &mut out).and_then(|root| {
        let what = "the dead-ends file";
        let fields = Fields::open(&root, root.span, what, &KEYS, &mut out)?;
        let declared = fields.need("dead_ends", what, &mut out)?;
        let entries = declared.value.entries("`dead_ends`", &mut out)?;
        Some(entries.iter().filter_map(|each| entry(each, source, &mut out)).collect())
    });
    Parsed { dead_ends: entries.filter(|_| !has_errors(&out)), complaints: out }
}

fn entry(entry: &Entry, source: &Source, out: &mut Vec<Complaint>) -> Option<DeadEnd> {
    let name = &entry.key.value;
    let what = format!("the dead end `{name}`");
    let fields = Fields::open(&entry.value, entry.key.span, &what, &ENTRY_KEYS, out)?;
    let mut words = |key: &str| {
        let entry = fields.need(key, &what, out)?;
        Some(entry.value.words(&format!("`{key}`"), out)?.value.to_owned())
    };
    // Every key is read before the first failure counts, so that all are complained about.
    let texts = [words("what"), words("measured"), words("again")];
    let change = fields.need("change", &what, out).and_then(|entry| rule(entry, source, out));
    let mut facts = IndexMap::new();
    for fact in fields.get("facts").and_then(|entry| entry.value.entries("`facts`", out)).unwrap_or(&[]) {
        let Some(text) = fact.value.words(&format!("`facts.{}`", fact.key.value), out) else { continue };
        if Condition::parse(text.value).is_some() || rule(fact, source, out).is_some() {
            facts.insert(fact.key.value.clone(), text.value.to_owned());
        }
    }
    let origin = match fields.get("source") {
        Some(entry) => Some(entry.value.words("`source`", out)?.value.to_owned()),
        None => None,
    };
    let [what, measured, again] = texts;
    let (what, measured, again) = (what?, measured?, again?);
    Some(DeadEnd { name: name.clone(), what, change: change?, facts, measured, again, source: origin })
}

fn rule(entry: &Entry, source: &Source, out: &mut Vec<Complaint>) -> Option<Rule> {
    let text = entry.value.words(&format!("`{}`", entry.key.value), out)?;
    match Rule::parse(text.value) {
        Ok(rule) => Some(rule),
        Err(error) => {
            let span = entry.value.inside(error.offset, &source.text);
            let help = "write a condition like `batch > 64` or `driver == 'ice'`";
            out.push(Complaint::error(span, error.to_string()).help(help));
            None
        }
    }
}
