//! The LLDP agent in a card's firmware, which sends frames of its own and takes those that arrive.

use super::{Setting, SettingError, State, refusal, switch};
use crate::nic::card::Card;
use crate::nic::card::request::{GPFLAGS, SPFLAGS};

/// String set of the names of a driver's private flags.
const ETH_SS_PRIV_FLAGS: u32 = 2;
/// Flag, and whether it is on while the agent is: ice has the first, i40e the second.
const FLAGS: [(&str, bool); 2] = [("fw-lldp-agent", true), ("disable-fw-lldp", false)];

pub(super) struct Lldp(pub String);

impl Lldp {
    fn failed(&self, error: &std::io::Error) -> SettingError {
        refusal(&format!("firmware LLDP of {}", self.0), error)
    }

    /// The card, all its flags, and the bit of ours with its meaning.
    fn flag(&self) -> Result<(Card, u32, usize, &'static str, bool), SettingError> {
        let card = Card::open(&self.0).map_err(|e| self.failed(&e))?;
        let names = card.names(ETH_SS_PRIV_FLAGS).map_err(|e| self.failed(&e))?;
        let of = |(flag, meaning): &(&'static str, bool)| {
            Some((names.iter().position(|name| name == flag)?, *flag, *meaning))
        };
        let (bit, flag, meaning) =
            FLAGS.iter().find_map(of).filter(|(bit, ..)| *bit < 32).ok_or_else(|| {
                SettingError::Absent(format!("the driver of {} has no flag for LLDP in the firmware", self.0))
            })?;
        let words = card.get(GPFLAGS, 2).map_err(|e| self.failed(&e))?;
        Ok((card, words[1], bit, flag, meaning))
    }
}

impl Setting for Lldp {
    fn name(&self) -> &'static str {
        "lldp"
    }

    fn read(&self) -> Result<State, SettingError> {
        let (_, flags, bit, flag, _) = self.flag()?;
        Ok(State::from([(flag.to_owned(), switch(flags >> bit & 1 == 1).to_owned())]))
    }

    fn wanted(&self, value: &str, _now: &State) -> Result<State, SettingError> {
        let (_, _, _, flag, meaning) = self.flag()?;
        Ok(State::from([(flag.to_owned(), switch((value == "on") == meaning).to_owned())]))
    }

    fn write(&self, parts: &State) -> Result<(), SettingError> {
        let (card, flags, bit, flag, _) = self.flag()?;
        let Some(text) = parts.get(flag) else { return Ok(()) };
        let flags = if text == "on" { flags | 1 << bit } else { flags & !(1 << bit) };
        card.ethtool(&mut [SPFLAGS, flags]).map_err(|e| self.failed(&e))
    }

    fn shown(&self, state: &State) -> String {
        let is_on = |(flag, meaning): &(&str, bool)| Some((state.get(*flag)? == "on") == *meaning);
        switch(FLAGS.iter().find_map(is_on).unwrap_or(false)).to_owned()
    }
}
