//! A plain condition where the text is one, and a rule of CEL where it is more.

use std::collections::BTreeMap;

use serde_json::Value;

use super::condition::Condition;
use super::scope::Scope;
use super::text::{Rule, RuleError};

/// Something that is true or false of named values.
#[derive(Debug, Clone)]
pub enum Assertion {
    Plain(Condition),
    Rule(Rule),
}

impl Assertion {
    /// Reads `bytes_read <= 1MiB` or `bytes_read < 4096 && page_faults < 200`.
    ///
    /// # Errors
    /// The text is neither.
    pub fn parse(text: &str) -> Result<Assertion, RuleError> {
        match Condition::parse(text) {
            Some(condition) => Ok(Assertion::Plain(condition)),
            None => Rule::parse(text).map(Assertion::Rule),
        }
    }

    /// The names that it is about.
    pub fn names(&self) -> Vec<String> {
        match self {
            Assertion::Plain(condition) => vec![condition.fact.clone()],
            Assertion::Rule(rule) => rule.names().iter().cloned().collect(),
        }
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// A sentence: a name has no value, or values cannot be compared.
    pub fn eval(&self, values: &BTreeMap<String, Value>) -> Result<bool, String> {
        match self {
            Assertion::Plain(condition) => condition.eval(&|name| values.get(name)),
            Assertion::Rule(rule) => {
                let mut scope = Scope::new();
                values.iter().for_each(|(name, value)| scope.value(name, value));
                rule.eval(&scope)
            }
        }
    }
}
