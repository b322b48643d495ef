//! The idle states that processors may use, bounded by the time they take to wake up.

use std::fs;

use super::texts::{Texts, numbered};
use super::{Roots, State};

/// A value is the longest exit latency allowed, in µs, or `all`. Parts are `cpu0/state1`, off with `1`.
pub(super) fn setting(roots: &Roots) -> Texts {
    let mut files = vec![];
    let mut latencies: Vec<u64> = vec![];
    for (cpu, folder) in numbered(&roots.sys.join("devices/system/cpu"), "cpu", "cpuidle") {
        for (state, disable) in numbered(&folder, "state", "disable") {
            let latency = fs::read_to_string(disable.with_file_name("latency")).unwrap_or_default();
            latencies.push(latency.trim().parse().unwrap_or(0));
            files.push((format!("{cpu}/{state}"), disable));
        }
    }
    let mut setting =
        Texts::plain("cstates", files, "its processors offer no idle states (no cpuidle driver)");
    setting.value = Box::new(move |value, number| {
        let longest = value.parse().unwrap_or(u64::MAX);
        let is_off = latencies.get(number).is_some_and(|latency| *latency > longest);
        Ok(if is_off { "1" } else { "0" }.to_owned())
    });
    setting.shown = shown;
    setting
}

fn shown(state: &State) -> String {
    let mut off: Vec<&str> = state
        .iter()
        .filter(|(_, text)| *text != "0")
        .filter_map(|(part, _)| part.split_once('/').map(|(_, state)| state))
        .collect();
    off.sort_unstable();
    off.dedup();
    if off.is_empty() { "all".into() } else { format!("without {}", off.join(", ")) }
}
