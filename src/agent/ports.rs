//! Facts of one network interface, read in the namespace that the agent lives in.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::facts::text;
use crate::model::setting::Scope;
use crate::nic::card::request::{GCHANNELS, GDRVINFO, GFECPARAM, GRINGPARAM};
use crate::nic::card::{self, Card};
use crate::setting::{self, Roots};

/// What is known of `interface`; `present` is false when this host has none of that name.
pub fn facts(interface: &str) -> Value {
    let mut port = Map::new();
    port.insert("interface".into(), interface.into());
    let Ok(card) = Card::open(interface) else { return port.into() };
    let present = card.index().is_ok();
    port.insert("present".into(), present.into());
    if !present {
        return port.into();
    }
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            port.insert(name.to_owned(), value);
        }
    };
    put("mac", card.mac().ok().map(Value::from));
    put("carrier", card.running().ok().map(Value::from));
    for (name, value) in driver(&card) {
        put(name, (!value.is_empty() && value != "N/A").then(|| value.into()));
    }
    put("speed_mbps", speed_mbps(&card).map(Value::from));
    if let Some(dir) = sysfs(&card) {
        put("rx_queues", count(&dir.join("queues"), "rx-").map(Value::from));
        put("tx_queues", count(&dir.join("queues"), "tx-").map(Value::from));
        put("numa_node", number(dir.join("device/numa_node")).filter(|n| *n >= 0).map(Value::from));
        put("pcie_width", number(dir.join("device/current_link_width")).filter(|n| *n > 0).map(Value::from));
        put("pcie_width_max", number(dir.join("device/max_link_width")).filter(|n| *n > 0).map(Value::from));
        put("pcie_speed", text(dir.join("device/current_link_speed")).map(Value::from));
        put("pcie_speed_max", text(dir.join("device/max_link_speed")).map(Value::from));
    }
    // What stands in words 1 to 4 of both structures is how many there can be.
    let most = |request, words: &[usize]| {
        let told = card.get(request, 9).ok()?;
        words.iter().map(|at| told[*at]).find(|most| *most > 0).map(Value::from)
    };
    put("fec_active", fec_active(&card).map(Value::from));
    put("queues_max", most(GCHANNELS, &[4, 1]));
    put("rings_max", most(GRINGPARAM, &[1]));
    put("rx_filter_can", Some(setting::possible_rx_filters(interface).into()));
    for name in setting::names(Scope::Port) {
        put(name, setting_text(name, Some(interface)).map(|text| number_or_text(&text)));
    }
    port.into()
}

/// The correction that the link agreed on, as `ethtool --show-fec` names it.
fn fec_active(card: &Card) -> Option<&'static str> {
    let bits = card.get(GFECPARAM, 4).ok()?[1];
    let modes = [(4, "off"), (8, "rs"), (16, "baser"), (32, "llrs")];
    modes.into_iter().find(|(bit, _)| bits & bit != 0).map(|(_, name)| name)
}

/// What of a port may move while a campaign runs.
pub fn look(interface: &str) -> Value {
    let mut port = Map::new();
    let Ok(card) = Card::open(interface) else { return port.into() };
    if let Ok(running) = card.running() {
        port.insert("carrier".into(), running.into());
    }
    if let Some(speed) = speed_mbps(&card) {
        port.insert("speed_mbps".into(), speed.into());
    }
    if let Some(changes) = sysfs(&card).and_then(|dir| number(dir.join("carrier_changes"))) {
        port.insert("carrier_changes".into(), changes.into());
    }
    port.into()
}

/// The text that a setting has now; None where it is absent or cannot be read.
pub fn setting_text(name: &str, interface: Option<&str>) -> Option<String> {
    let setting = setting::find(name, interface, &Roots::default())?;
    setting.read().ok().map(|state| setting.shown(&state)).filter(|text| !text.is_empty())
}

/// Facts that are whole numbers are told as such, so that rules can count with them.
fn number_or_text(text: &str) -> Value {
    text.parse::<u64>().map_or_else(|_| text.into(), Value::from)
}

/// Megabits per second; None when the link has no speed, as while it is down.
pub fn speed_mbps(card: &Card) -> Option<u32> {
    let speed = card.link_settings().ok()?[1];
    (speed != 0 && speed != u32::MAX && speed != u32::from(u16::MAX)).then_some(speed)
}

/// The texts of `struct ethtool_drvinfo` of linux/ethtool.h.
fn driver(card: &Card) -> Vec<(&'static str, String)> {
    let Ok(words) = card.get(GDRVINFO, 49) else { return vec![] };
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    [("driver", 4), ("driver_version", 36), ("firmware", 68), ("bus", 100)]
        .map(|(name, at)| (name, card::text(&bytes[at..at + 32])))
        .into()
}

fn number(path: PathBuf) -> Option<i64> {
    text(path)?.parse().ok()
}

/// The interface's folder, only when it is this very interface: a `/sys` mounted in another network
/// namespace shows that one's.
fn sysfs(card: &Card) -> Option<PathBuf> {
    let dir = Path::new("/sys/class/net").join(card.name());
    let same_index = text(dir.join("ifindex"))?.parse().ok() == card.index().ok();
    let same_address = text(dir.join("address")) == card.mac().ok();
    (same_index && same_address).then_some(dir)
}

fn count(dir: &Path, prefix: &str) -> Option<usize> {
    let n = std::fs::read_dir(dir)
        .ok()?
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with(prefix))
        .count();
    (n > 0).then_some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_known_and_a_missing_interface_is_said_to_be_missing() {
        let lo = facts("lo");
        assert_eq!((&lo["present"], &lo["mac"]), (&Value::from(true), &Value::from("00:00:00:00:00:00")));
        assert_eq!(facts("nothere0")["present"], Value::from(false));
        assert_eq!(facts("a name/that cannot be").get("present"), None);
    }
}
