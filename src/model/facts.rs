//! Facts of a host, as its agent read them.

use std::collections::BTreeMap;

use serde_json::Value;

/// Fact name (`kernel`, `cpu_count`, `governor`, …) to value. `ports` holds one object per declared
/// port. A fact that could not be read is absent, never guessed.
pub type Facts = BTreeMap<String, Value>;

/// Facts that move by themselves; they never make two hosts, or two visits to one host, differ.
pub const MOVING: [&str; 5] = ["load_1m", "uptime_s", "memory_available_bytes", "agent_pid", "gathered_at"];
