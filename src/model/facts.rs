//! Facts of a host, as its agent read them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::setting::{self, Scope};

/// Fact name (`kernel`, `cpu_count`, `governor`, …) to value. `ports` holds one object per declared
/// port. A fact that could not be read is absent, never guessed.
pub type Facts = BTreeMap<String, Value>;

/// Facts that every agent tells where its host has them; `hold` and rules may name these.
pub const KNOWN: [&str; 35] = [
    "agent_pid",
    "arch",
    "boot_id",
    "clocksource",
    "core_types",
    "cmdline",
    "cpu_count",
    "cpu_model",
    "cpus_allowed",
    "cstates",
    "energy_preference",
    "freq_hardware_max_khz",
    "freq_max_khz",
    "freq_min_khz",
    "governor",
    "governor_can",
    "hostname",
    "interfaces",
    "kernel",
    "load_1m",
    "management_interfaces",
    "memory_available_bytes",
    "memory_bytes",
    "not_put_back",
    "numa_nodes",
    "ports",
    "power_mode",
    "power_mode_can",
    "programs",
    "smt",
    "throttled",
    "transparent_hugepages",
    "turbo",
    "uid",
    "uptime_s",
];

/// Facts of ports, besides the settings that a port has.
pub const OF_PORTS: [&str; 21] = [
    "bus",
    "carrier",
    "driver",
    "driver_version",
    "firmware",
    "interface",
    "mac",
    "numa_node",
    "pcie_speed",
    "pcie_speed_max",
    "pcie_width",
    "pcie_width_max",
    "present",
    "queues_max",
    "rings_max",
    "rx_filter_can",
    "rx_queues",
    "speed_mbps",
    "tx_queues",
    "fec_active",
    "carrier_changes",
];

/// Every name of a fact, of hosts and of their ports.
pub fn names() -> impl Iterator<Item = &'static str> {
    let settings = setting::KNOWN.iter().filter(|known| known.scope == Scope::Port).map(|known| known.name);
    KNOWN.into_iter().chain(OF_PORTS).chain(settings)
}

/// Whether a host or port may tell a fact of this name, where it has it.
pub fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

/// Facts that move by themselves; they never make two hosts, or two visits to one host, differ.
pub const MOVING: [&str; 6] =
    ["load_1m", "uptime_s", "memory_available_bytes", "agent_pid", "gathered_at", "throttled"];
