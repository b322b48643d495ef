//! Whether a port receives frames to any address.

use super::{Setting, SettingError, State, refusal, shared, switch};
use crate::nic::card::Card;

/// The flag of the administrator; what packet sockets ask for is counted apart by the kernel.
pub(super) struct Promiscuous(pub String);

impl Promiscuous {
    fn failed(&self, error: &std::io::Error) -> SettingError {
        refusal(&format!("promiscuous mode of {}", self.0), error)
    }
}

impl Setting for Promiscuous {
    fn name(&self) -> &'static str {
        "promiscuous"
    }

    fn read(&self) -> Result<State, SettingError> {
        let flags = Card::open(&self.0).and_then(|card| card.flags()).map_err(|e| self.failed(&e))?;
        Ok(State::from([("flag".to_owned(), switch(flags & libc::IFF_PROMISC != 0).to_owned())]))
    }

    fn wanted(&self, value: &str, _now: &State) -> Result<State, SettingError> {
        Ok(State::from([("flag".to_owned(), value.to_owned())]))
    }

    fn write(&self, parts: &State) -> Result<(), SettingError> {
        let Some(value) = parts.get("flag") else { return Ok(()) };
        Card::open(&self.0)
            .and_then(|card| card.set_flag(libc::IFF_PROMISC, value == "on"))
            .map_err(|e| self.failed(&e))
    }

    fn shown(&self, state: &State) -> String {
        shared(state)
    }
}
