//! Settings that are numbers in one structure of ethtool, read by one request and written by another.

use super::{Setting, SettingError, State, refusal};
use crate::nic::card::Card;

/// Parts with the numbers that a value asks for.
pub(super) type Parts = Vec<(&'static str, u32)>;

/// Fields of a structure that together are one setting.
pub(super) struct Numbers {
    pub name: &'static str,
    pub interface: String,
    /// Requests that read and write it, and its length in words.
    pub get: u32,
    pub set: u32,
    pub words: usize,
    /// Part and index of its word. A field that the card does not have is left out by `has`.
    pub fields: &'static [(&'static str, usize)],
    pub has: fn(&[u32], usize) -> bool,
    /// The fields of a value; an error is a sentence.
    pub value: fn(&str, &[u32]) -> Result<Parts, String>,
    pub shown: fn(&State) -> String,
    pub disturbs: &'static [&'static str],
}

impl Numbers {
    fn whose(&self) -> String {
        format!("{} of {}", self.name, self.interface)
    }

    fn structure(&self) -> Result<(Card, Vec<u32>), SettingError> {
        let failed = |e| refusal(&self.whose(), &e);
        let card = Card::open(&self.interface).map_err(failed)?;
        let words = card.get(self.get, self.words).map_err(failed)?;
        Ok((card, words))
    }
}

impl Setting for Numbers {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read(&self) -> Result<State, SettingError> {
        let (_, words) = self.structure()?;
        let fields = self.fields.iter().filter(|(_, at)| (self.has)(&words, *at));
        Ok(fields.map(|(part, at)| ((*part).to_owned(), words[*at].to_string())).collect())
    }

    fn wanted(&self, value: &str, _now: &State) -> Result<State, SettingError> {
        let (_, words) = self.structure()?;
        let wanted = (self.value)(value, &words)
            .map_err(|why| SettingError::Refused(format!("{} cannot be {value}: {why}", self.whose())))?;
        Ok(wanted.into_iter().map(|(part, number)| (part.to_owned(), number.to_string())).collect())
    }

    fn write(&self, parts: &State) -> Result<(), SettingError> {
        let (card, mut words) = self.structure()?;
        words[0] = self.set;
        for (part, at) in self.fields {
            if let Some(number) = parts.get(*part).and_then(|text| text.parse().ok()) {
                words[*at] = number;
            }
        }
        card.ethtool(&mut words).map_err(|e| refusal(&self.whose(), &e))
    }

    fn shown(&self, state: &State) -> String {
        (self.shown)(state)
    }

    fn disturbs(&self) -> &'static [&'static str] {
        self.disturbs
    }
}

/// A part as a number; 0 where it is not there.
pub(super) fn number(state: &State, part: &str) -> u32 {
    state.get(part).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The value as a number up to `most`.
pub(super) fn count(value: &str, most: u32) -> Result<u32, String> {
    match value.parse::<u32>() {
        Ok(n) if n <= most => Ok(n),
        Ok(_) => Err(format!("it has at most {most}")),
        Err(_) => Err("expected a whole number".into()),
    }
}

/// Every field is there.
pub(super) fn all(_words: &[u32], _at: usize) -> bool {
    true
}
