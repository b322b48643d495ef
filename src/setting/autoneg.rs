//! Autonegotiation of the link; off, it keeps the speed that it has.

use super::{Setting, SettingError, State, refusal};
use crate::nic::card::request::SLINKSETTINGS;
use crate::nic::card::{Card, LINK_HEADER, byte, set_byte};

// Words and bytes of `struct ethtool_link_settings`.
const SPEED: usize = 1;
const DUPLEX: usize = 8;
const AUTONEG: usize = 11;

pub(super) struct Autoneg(pub String);

impl Autoneg {
    fn failed(&self, error: &std::io::Error) -> SettingError {
        refusal(&format!("autonegotiation of {}", self.0), error)
    }

    fn settings(&self) -> Result<(Card, Vec<u32>), SettingError> {
        let card = Card::open(&self.0).map_err(|e| self.failed(&e))?;
        let words = card.link_settings().map_err(|e| self.failed(&e))?;
        Ok((card, words))
    }
}

/// The advertised modes stand after the supported ones.
fn advertised(words: &[u32]) -> std::ops::Range<usize> {
    let length = (words.len() - LINK_HEADER) / 3;
    LINK_HEADER + length..LINK_HEADER + 2 * length
}

impl Setting for Autoneg {
    fn name(&self) -> &'static str {
        "autoneg"
    }

    fn read(&self) -> Result<State, SettingError> {
        let (_, words) = self.settings()?;
        let modes: Vec<String> = words[advertised(&words)].iter().map(|word| format!("{word:08x}")).collect();
        let on = byte(&words, AUTONEG) == 1;
        let mut state = State::from([
            ("autoneg".to_owned(), super::switch(on).to_owned()),
            ("advertised".to_owned(), modes.join(",")),
        ]);
        if !on {
            state.insert("speed".into(), words[SPEED].to_string());
            state.insert("duplex".into(), byte(&words, DUPLEX).to_string());
        }
        Ok(state)
    }

    fn wanted(&self, value: &str, _now: &State) -> Result<State, SettingError> {
        let (_, words) = self.settings()?;
        if words[LINK_HEADER..advertised(&words).start].iter().all(|word| *word == 0) {
            return Err(SettingError::Absent(format!(
                "the link of {} has no modes to negotiate about",
                self.0
            )));
        }
        Ok(State::from([("autoneg".to_owned(), value.to_owned())]))
    }

    fn write(&self, parts: &State) -> Result<(), SettingError> {
        let (card, mut words) = self.settings()?;
        words[0] = SLINKSETTINGS;
        if let Some(value) = parts.get("autoneg") {
            set_byte(&mut words, AUTONEG, u8::from(value == "on"));
        }
        if let Some(speed) = parts.get("speed").and_then(|text| text.parse().ok()) {
            words[SPEED] = speed;
        }
        if let Some(duplex) = parts.get("duplex").and_then(|text| text.parse().ok()) {
            set_byte(&mut words, DUPLEX, duplex);
        }
        let range = advertised(&words);
        let modes =
            parts.get("advertised").map(|text| text.split(',').map(|word| u32::from_str_radix(word, 16)));
        for (word, mode) in words[range].iter_mut().zip(modes.into_iter().flatten().flatten()) {
            *word = mode;
        }
        card.ethtool(&mut words).map_err(|e| self.failed(&e))
    }

    fn shown(&self, state: &State) -> String {
        state.get("autoneg").cloned().unwrap_or_default()
    }
}
