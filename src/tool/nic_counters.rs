//! `nic-counters`: an interface's counters over time.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::duration::parse_ns;
use super::stop::Stop;
use super::voice::{Fault, Voice};
use crate::nic::accumulator::{Accumulator, Backward, BackwardStep, forward};
use crate::nic::card::Card;
use crate::nic::clock::monotonic_ns;
use crate::nic::counters::{CounterSource, NAMES, Reading};
use crate::nic::driver_counters::{DriverCounters, by_queue};
use crate::nic::kernel_log::{KernelLog, NewLines};
use crate::nic::sampler::{Sampler, Window};

/// Kernel counters that every result has, moved or not: packets, bytes, errors and drops.
const ALWAYS: usize = 8;

/// Reads an interface's kernel counters. Totals count from the first reading on and only go forward;
/// each reading carries the instant right after it, and rates are between two of those.
///
/// Beside packets and bytes it tells every other counter that moved: the kernel's own, those that the
/// driver offers, and those of single queues where the driver names them. `rx_dropped` also counts frames
/// that no program listens for, so alone it is no loss.
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
    /// Print nothing but `ready` and one result with new lines of the kernel's log; end at a line or at the
    /// end of standard input
    #[arg(long, conflicts_with = "count")]
    pub until_told: bool,
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
    /// The other kernel counters that have moved.
    kernel: BTreeMap<&'static str, u64>,
    /// Counters of the driver that have moved.
    driver: BTreeMap<String, u64>,
    /// The same by queue (`rx 0`), where the driver names queues.
    queues: BTreeMap<String, BTreeMap<String, u64>>,
}

/// All that moved from the first reading to the last.
#[derive(Debug, Serialize)]
struct CountersResult {
    event: &'static str,
    interface: String,
    /// Name of the driver; None where it tells none.
    driver_name: Option<String>,
    span_ns: u64,
    /// Packets, bytes, errors and drops, and every other kernel counter that moved.
    kernel: BTreeMap<&'static str, u64>,
    /// Counters of the driver that moved.
    driver: BTreeMap<String, u64>,
    /// Why the driver has none; None where it has.
    driver_absent: Option<String>,
    queues: BTreeMap<String, BTreeMap<String, u64>>,
    /// Counters that went back. It added nothing to any total.
    backward: Vec<BackwardStep>,
    kernel_log: NewLines,
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
    let mut driver = Driver::open(&args.interface);
    let mut log = KernelLog::open();
    let mut sampler = Sampler::start(|| source.read(), args.every).map_err(Fault::failed)?;
    let start_ns = sampler.totals().total().at_ns();
    if args.until_told {
        voice.say(&json!({"event": "ready"}), || format!("reading {}, Ctrl-C ends it", args.interface));
    } else {
        voice.plain(|| {
            format!(
                "{:>14} {:>14} {:>12} {:>12} {:>10}",
                "rx/s", "tx/s", "rx total", "tx total", "rx dropped"
            )
        });
    }
    for _ in 0..args.count.unwrap_or(u64::MAX) {
        let told = wait(sampler.due_ns(), &mut stop, args.until_told);
        // What passed until we were told belongs to the result as well.
        if told && !args.until_told {
            break;
        }
        let window = sampler.take().map_err(Fault::failed)?;
        let before = driver.totals.clone();
        driver.add(window.to.at_ns());
        if !args.until_told {
            let event = CountersEvent::of(&window, sampler.totals(), &driver);
            voice.say(&event, || plain(&event, &window, &driver.since(&before)));
        }
        if told {
            break;
        }
    }
    if args.until_told {
        let result = CountersResult::of(args, start_ns, sampler.totals(), driver, log.new_lines());
        voice.say(&result, || serde_json::to_string_pretty(&result).unwrap_or_default());
    }
    Ok(())
}

/// Waits until an instant; true when asked to stop, or told where somebody may tell.
fn wait(until_ns: u64, stop: &mut Stop, listen: bool) -> bool {
    loop {
        let now = monotonic_ns();
        if now >= until_ns || stop.asked() {
            return stop.asked();
        }
        let input = if listen { std::io::stdin().as_raw_fd() } else { -1 };
        let mut polls =
            [stop.as_fd().as_raw_fd(), input].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        let left_ms = (until_ns - now).div_ceil(1_000_000).min(60_000);
        // SAFETY: pointer and length describe `polls`.
        unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, left_ms as libc::c_int) };
        if polls[1].revents != 0 {
            return true;
        }
    }
}

/// The driver's own counters with their totals; some drivers have none.
struct Driver {
    source: Result<DriverCounters, String>,
    name: Option<String>,
    last: Vec<u64>,
    totals: Vec<u64>,
    backward: Backward,
}

impl Driver {
    fn open(interface: &str) -> Self {
        let name = Card::open(interface).and_then(|card| card.driver()).ok();
        let source = DriverCounters::open(interface).and_then(|source| Ok((source.read()?, source)));
        let (last, source) = match source {
            Ok((last, source)) => (last, Ok(source)),
            Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                (vec![], Err("it offers none".to_owned()))
            }
            Err(e) => (vec![], Err(e.to_string())),
        };
        Self { source, name, totals: vec![0; last.len()], last, backward: Backward::default() }
    }

    fn add(&mut self, at_ns: u64) {
        let Ok(source) = &self.source else { return };
        match source.read() {
            Ok(new) => {
                forward(&mut self.totals, &self.last, &new, source.names(), at_ns, &mut self.backward);
                self.last = new;
            }
            Err(e) => self.source = Err(e.to_string()),
        }
    }

    /// Totals by name, of those that moved.
    fn moved(&self) -> BTreeMap<String, u64> {
        self.since(&[])
    }

    /// What was added to earlier totals, of those that moved.
    fn since(&self, before: &[u64]) -> BTreeMap<String, u64> {
        let Ok(source) = &self.source else { return BTreeMap::new() };
        let names = source.names().iter().zip(&self.totals).enumerate();
        names
            .map(|(at, (name, total))| {
                (name.clone(), total.saturating_sub(before.get(at).copied().unwrap_or(0)))
            })
            .filter(|(_, change)| *change > 0)
            .collect()
    }
}

fn queues(driver: &BTreeMap<String, u64>) -> BTreeMap<String, BTreeMap<String, u64>> {
    by_queue(driver.iter().map(|(name, value)| (name.as_str(), *value)))
}

/// Kernel counters of a reading from place `from` on; before `always` also those that are zero.
fn kernel(total: &Reading, from: usize, always: usize) -> BTreeMap<&'static str, u64> {
    let all = NAMES.into_iter().zip(total.counters().values()).enumerate().skip(from);
    all.filter(|(at, (_, value))| *at < always || *value > 0).map(|(_, named)| named).collect()
}

impl CountersEvent {
    fn of(window: &Window, totals: &Accumulator, driver: &Driver) -> Self {
        let total = window.to.counters();
        let driver = driver.moved();
        Self {
            event: "counters",
            at_ns: window.to.at_ns(),
            rx_packets: total.rx_packets,
            tx_packets: total.tx_packets,
            rx_bytes: total.rx_bytes,
            tx_bytes: total.tx_bytes,
            rx_errors: total.rx_errors,
            tx_errors: total.tx_errors,
            rx_dropped: total.rx_dropped,
            tx_dropped: total.tx_dropped,
            rx_per_second: window.rate(|c| c.rx_packets),
            tx_per_second: window.rate(|c| c.tx_packets),
            backward_steps: totals.backward_steps(),
            kernel: kernel(&window.to, ALWAYS, ALWAYS),
            queues: queues(&driver),
            driver,
        }
    }
}

impl CountersResult {
    fn of(
        args: &NicCountersArgs,
        start_ns: u64,
        totals: &Accumulator,
        driver: Driver,
        kernel_log: NewLines,
    ) -> Self {
        let moved = driver.moved();
        let backward = [totals.backward().events(), driver.backward.events()].concat();
        Self {
            event: "result",
            interface: args.interface.clone(),
            span_ns: totals.total().at_ns() - start_ns,
            kernel: kernel(&totals.total(), 0, ALWAYS),
            queues: queues(&moved),
            driver: moved,
            driver_name: driver.name,
            driver_absent: driver.source.err(),
            backward,
            kernel_log,
        }
    }
}

/// One row, and below it what else moved since the row before.
fn plain(event: &CountersEvent, window: &Window, driver: &BTreeMap<String, u64>) -> String {
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
    let mut text = format!(
        "{:>14} {:>14} {:>12} {:>12} {:>10}",
        rate(event.rx_per_second),
        rate(event.tx_per_second),
        event.rx_packets,
        event.tx_packets,
        event.rx_dropped
    );
    let (from, to) = (window.from.counters().values(), window.to.counters().values());
    let others = NAMES.into_iter().zip(from.into_iter().zip(to)).enumerate();
    let others = others.filter(|(at, (name, (from, to)))| {
        to > from && (*at >= ALWAYS || name.ends_with("errors") || *name == "tx_dropped")
    });
    let mut moved: Vec<String> =
        others.map(|(_, (name, (from, to)))| format!("{name} +{}", to - from)).collect();
    moved.extend(driver.iter().map(|(name, change)| format!("{name} +{change}")));
    if !moved.is_empty() {
        text.push_str("\n    ");
        text.push_str(&moved.join(", "));
    }
    text
}
