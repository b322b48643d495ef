//! One dead end, and whether a cell repeats it.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::Value;

use crate::rule::{Condition, Rule, Scope};

/// Names that rules see, with their values.
pub type Values = BTreeMap<String, Value>;

/// A change that was measured and lost.
#[derive(Debug, Clone)]
pub struct DeadEnd {
    pub name: String,
    /// The change in words.
    pub what: String,
    /// True of a cell that makes the change.
    pub change: Rule,
    /// What was so when it was measured: name to a plain condition or a rule.
    pub facts: IndexMap<String, String>,
    pub measured: String,
    /// What would have to be so for trying it again.
    pub again: String,
    pub source: Option<String>,
}

/// A cell that makes the change where nothing is known to differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    /// The dead end with its outcome, in one line.
    pub reason: String,
    /// What the cell shares with the dead end, line by line.
    pub evidence: Vec<String>,
    /// What could not be told; then nothing shows that the facts differ.
    pub untold: bool,
}

enum Standing {
    Same,
    Differs,
    Untold(String),
}

impl DeadEnd {
    /// Whether a cell repeats it: `cell` is what it does, `ends` what is known of each place that it uses.
    pub fn repeated(&self, cell: &Values, ends: &[Values]) -> Option<Repeat> {
        if !self.change.names().iter().all(|name| cell.contains_key(name)) {
            return None;
        }
        let made = match self.change.eval(&scope(cell)) {
            Ok(false) => return None,
            Ok(true) => None,
            Err(why) => Some(format!("whether it makes the change cannot be told: {why}")),
        };
        let (mut evidence, mut untold) =
            ends.iter().filter_map(|end| self.shared(end)).min_by_key(|(_, untold)| *untold)?;
        untold |= made.is_some();
        evidence.extend(made);
        let reason = format!(
            "repeats the dead end `{}` ({}): {}",
            self.name,
            self.what,
            self.measured.trim_end_matches('.')
        );
        Some(Repeat { reason, evidence, untold })
    }

    /// What to do about a repeat.
    pub fn next_step(&self) -> String {
        format!(
            "it may be tried again given: {}; or say why it is tried here: `reattempt: {{{}: REASON}}`",
            self.again, self.name
        )
    }

    /// The facts of one place beside those of the dead end; None where one is known to differ.
    fn shared(&self, end: &Values) -> Option<(Vec<String>, bool)> {
        let (mut lines, mut any) = (vec![], false);
        for (name, text) in &self.facts {
            match standing(text, end) {
                Standing::Differs => return None,
                Standing::Same => lines.push(format!("{name}: {text}, here too")),
                Standing::Untold(why) => {
                    any = true;
                    lines.push(format!("{name}: {text}; nothing shows that it differs here: {why}"));
                }
            }
        }
        Some((lines, any))
    }
}

fn standing(text: &str, end: &Values) -> Standing {
    let answer = match Condition::parse(text) {
        Some(condition) => condition.eval(&|name| end.get(name)),
        None => Rule::parse(text).map_err(|error| error.to_string()).and_then(|rule| rule.eval(&scope(end))),
    };
    match answer {
        Ok(true) => Standing::Same,
        Ok(false) => Standing::Differs,
        Err(why) => Standing::Untold(why),
    }
}

fn scope(values: &Values) -> Scope {
    let mut scope = Scope::new();
    for (name, value) in values {
        scope.value(name, value);
    }
    scope
}
