//! The metrics each workload yields, with unit and better direction.

use super::response::Better;

/// A number that a run of some workload yields. `name` is what a campaign's `responses` may name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    pub name: &'static str,
    pub unit: &'static str,
    pub better: Better,
    pub meaning: &'static str,
    /// What a campaign must ask for to have it.
    pub needs: &'static [Need],
}

/// What a metric of packets hangs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Stamps of received frames.
    Stamps,
    /// Frames in both directions.
    BothWays,
    /// One load during the whole run.
    Steady,
    /// A list of loads, or a search.
    Steps,
    /// Frames that carry the instant of their sending.
    Latency,
    /// Units of work that the workload declares.
    Work,
}

const fn metric(name: &'static str, unit: &'static str, better: Better, meaning: &'static str) -> Metric {
    Metric { name, unit, better, meaning, needs: &[] }
}

const fn needing(
    name: &'static str,
    unit: &'static str,
    better: Better,
    meaning: &'static str,
    needs: &'static [Need],
) -> Metric {
    Metric { name, unit, better, meaning, needs }
}

/// A name with the direction that it is about.
pub const REVERSE: &str = "_reverse";

const RATE: &str = "frames/s";
const STEADY: &[Need] = &[Need::Steady];
const STEADY_BACK: &[Need] = &[Need::Steady, Need::BothWays];
const STAMPED: &[Need] = &[Need::Steady, Need::Stamps];
const STAMPED_BACK: &[Need] = &[Need::Steady, Need::Stamps, Need::BothWays];
const STEPS: &[Need] = &[Need::Steps];
const STEPS_BACK: &[Need] = &[Need::Steps, Need::BothWays];
const BACK: &[Need] = &[Need::BothWays];
const LATENCY: &[Need] = &[Need::Steady, Need::Stamps, Need::Latency];

/// Metrics of the `packets` workload. Rates are per second of the timed window, warm-up excluded, over
/// all streams of one direction. Plain names are of the declared direction, `…_reverse` of the other.
pub const PACKETS: [Metric; 23] = [
    needing(
        "tx_rate",
        RATE,
        Better::Higher,
        "frames that left the sending port, by its kernel counter",
        STEADY,
    ),
    needing("rx_rate", RATE, Better::Higher, "own intact frames that the receiver read", STAMPED),
    needing("handed_rate", RATE, Better::Higher, "frames that the kernel accepted from the sender", STEADY),
    needing(
        "tx_bits_l1",
        "bit/s",
        Better::Higher,
        "tx_rate with frame, FCS, preamble and gap (layer 1)",
        STEADY,
    ),
    metric("lost", "frames", Better::Lower, "frames sent and never received, warm-up included"),
    metric("sender_cpu_time", "s", Better::Lower, "CPU time of the sending process, warm-up included"),
    metric("receiver_cpu_time", "s", Better::Lower, "CPU time of the receiving process, warm-up included"),
    needing("zero_loss_rate", RATE, Better::Higher, "highest load that was sent without loss", STEPS),
    needing(
        "zero_loss_bits_l1",
        "bit/s",
        Better::Higher,
        "zero_loss_rate with frame, FCS, preamble and gap",
        STEPS,
    ),
    needing(
        "zero_loss_bits_l2",
        "bit/s",
        Better::Higher,
        "zero_loss_rate with frame and FCS (layer 2)",
        STEPS,
    ),
    needing("latency_p50", "s", Better::Lower, "median of the one-way latency", LATENCY),
    needing("latency_p99", "s", Better::Lower, "99th percentile of the one-way latency", LATENCY),
    needing("latency_p999", "s", Better::Lower, "99.9th percentile of the one-way latency", LATENCY),
    needing("tx_rate_reverse", RATE, Better::Higher, "tx_rate of the other direction", STEADY_BACK),
    needing("rx_rate_reverse", RATE, Better::Higher, "rx_rate of the other direction", STAMPED_BACK),
    needing("handed_rate_reverse", RATE, Better::Higher, "handed_rate of the other direction", STEADY_BACK),
    needing("tx_bits_l1_reverse", "bit/s", Better::Higher, "tx_bits_l1 of the other direction", STEADY_BACK),
    needing("lost_reverse", "frames", Better::Lower, "lost of the other direction", BACK),
    needing("sender_cpu_time_reverse", "s", Better::Lower, "sender_cpu_time of the other direction", BACK),
    needing(
        "receiver_cpu_time_reverse",
        "s",
        Better::Lower,
        "receiver_cpu_time of the other direction",
        BACK,
    ),
    needing(
        "zero_loss_rate_reverse",
        RATE,
        Better::Higher,
        "zero_loss_rate of the other direction",
        STEPS_BACK,
    ),
    needing(
        "zero_loss_bits_l1_reverse",
        "bit/s",
        Better::Higher,
        "zero_loss_bits_l1 of the other direction",
        STEPS_BACK,
    ),
    needing(
        "zero_loss_bits_l2_reverse",
        "bit/s",
        Better::Higher,
        "zero_loss_bits_l2 of the other direction",
        STEPS_BACK,
    ),
];

/// Load that was asked for in one step of a list or search, over all streams of one direction; there are
/// samples of it and no response.
pub const OFFERED_RATE: &str = "offered_rate";

/// Unit of a metric of packets as outputs show it: what follows from software stamps says so.
pub fn unit_shown(metric: &Metric, software_stamps: bool) -> String {
    match software_stamps && metric.needs.contains(&Need::Stamps) {
        true => format!("{}, software stamps", metric.unit),
        false => metric.unit.to_owned(),
    }
}

/// Unit of sizes.
pub const BYTES: &str = "B";
/// Response of a workload that declares its units of work: what was done and proven, by its wall time.
pub const USEFUL_RATE: &str = "useful_rate";
/// Counted in the proof only, since counting them slows a program down.
pub const SYSTEM_CALLS: &str = "system_calls";

/// Figures of the work itself rather than of its speed: the same work gives much the same figure on a busy
/// machine.
pub const FIGURES: [&str; 7] = [
    "bytes_read",
    "bytes_written",
    "page_faults",
    "minor_faults",
    "major_faults",
    "instructions",
    SYSTEM_CALLS,
];

/// A rise of a figure over the control's is told where it is this much, in the figure's own unit, and a tenth
/// of the control's as well: programs that do the same differ by a few pages and calls.
pub const RISES: [(&str, f64); 5] = [
    ("bytes_read", 4096.0),
    ("bytes_written", 4096.0),
    ("page_faults", 64.0),
    ("instructions", 1_000_000.0),
    (SYSTEM_CALLS, 16.0),
];

/// Of a setup that is declared as a response.
pub const SETUP_TIME: &str = "setup_time";

/// Metrics of a workload of programs.
pub const COMMAND: [Metric; 13] = [
    metric(
        "wall_time",
        "s",
        Better::Lower,
        "from just before the program starts until it has ended; of several invocations in a run the median",
    ),
    metric(SETUP_TIME, "s", Better::Lower, "how long the setup of a run takes"),
    metric(
        "cpu_time",
        "s",
        Better::Lower,
        "user and system time of the program and the children it waited for",
    ),
    metric("user_time", "s", Better::Lower, "user part of cpu_time"),
    metric("system_time", "s", Better::Lower, "system part of cpu_time"),
    metric(
        "peak_rss",
        BYTES,
        Better::Lower,
        "largest resident set of the program or of a child it waited for",
    ),
    metric(
        "bytes_read",
        BYTES,
        Better::Lower,
        "bytes passed by read calls (rchar), waited-for children included; mapped files are not in it",
    ),
    metric(
        "bytes_written",
        BYTES,
        Better::Lower,
        "bytes passed by write calls (wchar), waited-for children included",
    ),
    metric("page_faults", "faults", Better::Lower, "minor_faults and major_faults"),
    metric("minor_faults", "faults", Better::Lower, "pages that were mapped without reading a disk"),
    metric("major_faults", "faults", Better::Lower, "pages that had to be read from a disk"),
    metric(
        "instructions",
        "instructions",
        Better::Lower,
        "instructions of the whole tree in user mode, where the machine counts them",
    ),
    needing(
        USEFUL_RATE,
        "units/s",
        Better::Higher,
        "units of the declared work that were done and proven, by wall_time",
        &[Need::Work],
    ),
];
