//! The metrics each workload yields, with unit and better direction.

use super::response::Better;

/// A number that a run of some workload yields. `name` is what a campaign's `responses` may name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    pub name: &'static str,
    pub unit: &'static str,
    pub better: Better,
    pub meaning: &'static str,
}

const fn metric(name: &'static str, unit: &'static str, better: Better, meaning: &'static str) -> Metric {
    Metric { name, unit, better, meaning }
}

/// Metrics of the `packets` workload. Rates are per second of the timed window, warm-up excluded.
pub const PACKETS: [Metric; 6] = [
    metric("tx_rate", "frames/s", Better::Higher, "frames that left the sending port, by its kernel counter"),
    metric("rx_rate", "frames/s", Better::Higher, "own intact frames that the receiver read"),
    metric("handed_rate", "frames/s", Better::Higher, "frames that the kernel accepted from the sender"),
    metric("tx_bits_l1", "bit/s", Better::Higher, "tx_rate with frame, FCS, preamble and gap (layer 1)"),
    metric("lost", "frames", Better::Lower, "frames sent and never received, warm-up included"),
    metric("sender_cpu_time", "s", Better::Lower, "CPU time of the sending process, warm-up included"),
];

/// Metrics of the `command` workload.
pub const COMMAND: [Metric; 7] = [
    metric("wall_time", "s", Better::Lower, "from just before the program starts until it has ended"),
    metric(
        "cpu_time",
        "s",
        Better::Lower,
        "user and system time of the program and the children it waited for",
    ),
    metric("user_time", "s", Better::Lower, "user part of cpu_time"),
    metric("system_time", "s", Better::Lower, "system part of cpu_time"),
    metric("peak_rss", "B", Better::Lower, "largest resident set of the program or of a child it waited for"),
    metric(
        "bytes_read",
        "B",
        Better::Lower,
        "bytes passed by read calls (rchar), waited-for children included",
    ),
    metric(
        "bytes_written",
        "B",
        Better::Lower,
        "bytes passed by write calls (wchar), waited-for children included",
    ),
];
