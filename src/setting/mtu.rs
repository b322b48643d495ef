//! The largest packet of a port.

use super::{Setting, SettingError, State, refusal, shared};
use crate::nic::card::Card;

/// At least 1280 bytes: below, the kernel takes IPv6 off the port, and its addresses would be lost.
pub(super) struct Mtu(pub String);

impl Mtu {
    fn failed(&self, error: &std::io::Error) -> SettingError {
        refusal(&format!("MTU of {}", self.0), error)
    }
}

impl Setting for Mtu {
    fn name(&self) -> &'static str {
        "mtu"
    }

    fn read(&self) -> Result<State, SettingError> {
        let mtu = Card::open(&self.0).and_then(|card| card.mtu()).map_err(|e| self.failed(&e))?;
        Ok(State::from([("mtu".to_owned(), mtu.to_string())]))
    }

    fn wanted(&self, value: &str, _now: &State) -> Result<State, SettingError> {
        Ok(State::from([("mtu".to_owned(), value.to_owned())]))
    }

    fn write(&self, parts: &State) -> Result<(), SettingError> {
        let Some(mtu) = parts.get("mtu").and_then(|text| text.parse().ok()) else { return Ok(()) };
        Card::open(&self.0).and_then(|card| card.set_mtu(mtu)).map_err(|e| self.failed(&e))
    }

    fn shown(&self, state: &State) -> String {
        shared(state)
    }
}
