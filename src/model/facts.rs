//! Facts of a host, as its agent read them.

use std::collections::BTreeMap;

use serde_json::Value;

/// Fact name (`kernel`, `cpu_count`, `governor`, …) to value. `ports` holds one object per declared
/// port. A fact that could not be read is absent, never guessed.
pub type Facts = BTreeMap<String, Value>;

/// Facts that every agent tells where its host has them; `hold` and rules may name these.
pub const KNOWN: [&str; 33] = [
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
    "programs",
    "smt",
    "throttled",
    "transparent_hugepages",
    "turbo",
    "uid",
    "uptime_s",
];

/// Facts that move by themselves; they never make two hosts, or two visits to one host, differ.
pub const MOVING: [&str; 6] =
    ["load_1m", "uptime_s", "memory_available_bytes", "agent_pid", "gathered_at", "throttled"];
