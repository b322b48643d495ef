//! Which received frames get a hardware time stamp.

use super::{Setting, SettingError, State, refusal};
use crate::nic::card::Card;
use crate::nic::card::request::GET_TS_INFO;

/// `HWTSTAMP_FILTER_…` of linux/net_tstamp.h by their numbers, as `ethtool -T` names them.
const FILTERS: [&str; 16] = [
    "none",
    "all",
    "some",
    "ptpv1-l4-event",
    "ptpv1-l4-sync",
    "ptpv1-l4-delay-req",
    "ptpv2-l4-event",
    "ptpv2-l4-sync",
    "ptpv2-l4-delay-req",
    "ptpv2-l2-event",
    "ptpv2-l2-sync",
    "ptpv2-l2-delay-req",
    "ptpv2-event",
    "ptpv2-sync",
    "ptpv2-delay-req",
    "ntp-all",
];

pub(super) struct RxFilter(pub String);

impl RxFilter {
    fn failed(&self, error: &std::io::Error) -> SettingError {
        refusal(&format!("hardware time stamps of {}", self.0), error)
    }
}

/// The filters that a port can have, by name; empty where it has no hardware stamps.
pub fn possible(interface: &str) -> Vec<&'static str> {
    let Ok(words) = Card::open(interface).and_then(|card| card.get(GET_TS_INFO, 11)) else { return vec![] };
    // Word 7 of `struct ethtool_ts_info` has one bit for each filter.
    FILTERS.iter().enumerate().filter(|(bit, _)| words[7] >> bit & 1 == 1).map(|(_, name)| *name).collect()
}

impl Setting for RxFilter {
    fn name(&self) -> &'static str {
        "rx_filter"
    }

    fn read(&self) -> Result<State, SettingError> {
        let config = Card::open(&self.0).and_then(|card| card.stamps()).map_err(|e| self.failed(&e))?;
        let filter = usize::try_from(config[2]).ok().and_then(|n| FILTERS.get(n));
        let filter = filter.map_or(config[2].to_string(), |name| (*name).to_owned());
        Ok(State::from([("tx_type".to_owned(), config[1].to_string()), ("rx_filter".to_owned(), filter)]))
    }

    fn wanted(&self, value: &str, _now: &State) -> Result<State, SettingError> {
        let can = possible(&self.0);
        if !can.contains(&value) {
            let can = if can.is_empty() { "nothing but none".to_owned() } else { can.join(", ") };
            return Err(SettingError::Refused(format!("rx_filter of {} can be {can}, not {value}", self.0)));
        }
        Ok(State::from([("rx_filter".to_owned(), value.to_owned())]))
    }

    fn write(&self, parts: &State) -> Result<(), SettingError> {
        let card = Card::open(&self.0).map_err(|e| self.failed(&e))?;
        let mut config = card.stamps().map_err(|e| self.failed(&e))?;
        if let Some(text) = parts.get("rx_filter") {
            let named = FILTERS.iter().position(|name| name == text).map(|n| n as i32);
            config[2] = named.or(text.parse().ok()).unwrap_or(config[2]);
        }
        if let Some(kind) = parts.get("tx_type").and_then(|text| text.parse().ok()) {
            config[1] = kind;
        }
        card.set_stamps(config).map_err(|e| self.failed(&e))
    }

    fn shown(&self, state: &State) -> String {
        state.get("rx_filter").cloned().unwrap_or_default()
    }
}
