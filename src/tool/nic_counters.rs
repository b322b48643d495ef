//! `nic-counters`: an interface's counters over time.

use clap::Args;
use serde::Serialize;

use super::duration::parse_ns;
use super::stop::Stop;
use super::voice::{Fault, Voice};
use crate::nic::accumulator::{Accumulator, rate_per_second};
use crate::nic::clock::{monotonic_ns, sleep_until_ns};
use crate::nic::counters::{CounterSource, Reading};

/// Between two looks at whether Ctrl-C was pressed.
const NAP_NS: u64 = 100_000_000;

/// Reads an interface's kernel counters. Totals count from the first reading on and only go forward;
/// each reading carries the instant right after it, and rates are between two of those.
///
/// Example:
///   fieldtrial tool nic-counters --interface eth1 --every 1s --count 10
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct NicCountersArgs {
    /// Interface to read
    #[arg(long, value_name = "IF")]
    pub interface: String,
    /// Time between two readings
    #[arg(long, value_name = "TIME", value_parser = parse_ns, default_value = "1s")]
    pub every: u64,
    /// Readings after the first one; without it, until Ctrl-C
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// Print JSON lines also on a terminal
    #[arg(long)]
    pub json: bool,
}

/// One reading. Totals are since the first reading; rates since the one before.
#[derive(Debug, Serialize)]
struct CountersEvent {
    event: &'static str,
    /// CLOCK_MONOTONIC right after the counters were read.
    at_ns: u64,
    rx_packets: u64,
    tx_packets: u64,
    rx_bytes: u64,
    tx_bytes: u64,
    rx_errors: u64,
    tx_errors: u64,
    rx_dropped: u64,
    tx_dropped: u64,
    rx_per_second: Option<f64>,
    tx_per_second: Option<f64>,
    backward_steps: u64,
}

/// Runs to the end and returns the exit code.
#[must_use]
pub fn run(args: &NicCountersArgs) -> i32 {
    let voice = Voice::new(args.json);
    voice.end(watch(args, voice))
}

fn watch(args: &NicCountersArgs, voice: Voice) -> Result<(), Fault> {
    if args.every < 1_000_000 {
        return Err(Fault::bad_input("--every is too short: expected at least 1ms"));
    }
    let mut source = CounterSource::open(&args.interface).map_err(Fault::bad_input)?;
    let mut stop = Stop::install().map_err(Fault::failed)?;
    let baseline = source.read().map_err(Fault::failed)?;
    let mut totals = Accumulator::new(baseline);
    let mut before = totals.total();
    voice.plain(|| {
        format!("{:>14} {:>14} {:>12} {:>12} {:>10}", "rx/s", "tx/s", "rx total", "tx total", "rx dropped")
    });
    for n in 1..=args.count.unwrap_or(u64::MAX) {
        if wait(baseline.at_ns().saturating_add(args.every.saturating_mul(n)), &mut stop) {
            break;
        }
        totals.add(source.read().map_err(Fault::failed)?);
        let event = CountersEvent::between(&before, &totals);
        voice.say(&event, || event.plain());
        before = totals.total();
    }
    Ok(())
}

/// Waits until an instant; true when asked to stop.
fn wait(until_ns: u64, stop: &mut Stop) -> bool {
    loop {
        let now = monotonic_ns();
        if stop.asked() || now >= until_ns {
            return stop.asked();
        }
        sleep_until_ns(until_ns.min(now + NAP_NS));
    }
}

impl CountersEvent {
    fn between(before: &Reading, totals: &Accumulator) -> Self {
        let now = totals.total();
        let (old, new) = (before.counters(), now.counters());
        let rate = |old: u64, new: u64| rate_per_second((old, before.at_ns()), (new, now.at_ns()));
        Self {
            event: "counters",
            at_ns: now.at_ns(),
            rx_packets: new.rx_packets,
            tx_packets: new.tx_packets,
            rx_bytes: new.rx_bytes,
            tx_bytes: new.tx_bytes,
            rx_errors: new.rx_errors,
            tx_errors: new.tx_errors,
            rx_dropped: new.rx_dropped,
            tx_dropped: new.tx_dropped,
            rx_per_second: rate(old.rx_packets, new.rx_packets),
            tx_per_second: rate(old.tx_packets, new.tx_packets),
            backward_steps: totals.backward_steps(),
        }
    }

    fn plain(&self) -> String {
        let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
        format!(
            "{:>14} {:>14} {:>12} {:>12} {:>10}",
            rate(self.rx_per_second),
            rate(self.tx_per_second),
            self.rx_packets,
            self.tx_packets,
            self.rx_dropped
        )
    }
}
