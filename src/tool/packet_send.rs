//! `packet-send`: frames out of one interface.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::duration::parse_ns;
use super::sent::{SendResult, Setting};
use super::stop::Stop;
use super::voice::{Fault, Voice};
use super::way_out::WayOutArgs;
use crate::model::frame_size::Sizes;
use crate::nic::clock_identity::ClockIdentity;
use crate::nic::interface::Interface;
use crate::nic::link::{LinkError, wait_until_running};
use crate::packet::batch::MOST_BATCH;
use crate::packet::cpu::CpuError;
use crate::packet::frame::Frames;
use crate::packet::pace::Pace;
use crate::packet::schedule::Extent;
use crate::packet::sender::{Glance, Plan, SendError, Sender, check_mtu};

/// Between two lines of the live table.
const LINE_EVERY_NS: u64 = 1_000_000_000;

/// Sends deterministic frames, as fast as the interface takes them or at a steady rate.
///
/// Every stream has a thread of its own; all start together. What was handed to the kernel and what left
/// by the interface's own count are told apart. The result says what set the rate (`bound_by`): `pace`,
/// if every stream kept it within 1 %; else `interface`, if there was no room for a frame during at least
/// 5 % of the time; else `host`, the sender's own ceiling, which is no limit of the link.
///
/// Example, with a receiver running on the other end:
///   fieldtrial tool packet-send --interface eth1 --frame-size 64 --duration 10s --settle 2s
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct PacketSendArgs {
    /// Interface to send on; never the one that carries your SSH session
    #[arg(long, value_name = "IF")]
    pub interface: String,
    /// Bytes of each frame with its 4 FCS bytes, as RFC 2544 counts, 64 to 1518: one size, a list as in
    /// 64,512,1518 taken in turn, a sweep from-to/step as in 64-1518/64, `imix` (64, 594 and 1518 as
    /// 7:4:1) or `imix-csit` (570 in place of 594)
    #[arg(long, value_name = "SIZES", default_value = "64")]
    pub frame_size: String,
    /// Streams, each with its own sequence and its own ethertype from 0x88b5 on: 1 to 16
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub streams: u16,
    /// Most frames handed to the kernel by one system call: 1 to 1024
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_BATCH)))]
    pub batch: u32,
    #[command(flatten)]
    pub way_out: WayOutArgs,
    /// CPUs that the sending threads are bound to, one for each in the order of the streams, as in 2,3;
    /// without this the scheduler places them. The queue of an AF_PACKET sender follows its CPU (XPS)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub cpus: Vec<usize>,
    /// `max`, or frames per second and stream
    #[arg(long, value_name = "max|PPS", default_value = "max")]
    pub rate: String,
    /// Decides the bytes of the frames; the receiver needs the same
    #[arg(long, value_name = "X", default_value_t = 1)]
    pub seed: u64,
    /// The window that counts, e.g. 20s; traffic lasts settle + duration
    #[arg(long, value_name = "TIME", value_parser = parse_ns, default_value = "1s", conflicts_with = "frames")]
    pub duration: u64,
    /// Traffic before the window, left out of the rates
    #[arg(long, value_name = "TIME", value_parser = parse_ns, default_value = "0s", conflicts_with = "frames")]
    pub settle: u64,
    /// Send exactly so many frames of each stream instead; the window is the whole send
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub frames: Option<u64>,
    /// Digest the bytes handed over (order does not matter); slower, for proofs
    #[arg(long)]
    pub digest: bool,
    /// Frames carry the instant of their writing (CLOCK_REALTIME), for one-way latency; the receiver needs
    /// the same option
    #[arg(long)]
    pub latency: bool,
    /// Longest wait for the link to come up
    #[arg(long, value_name = "TIME", value_parser = parse_ns, default_value = "5s")]
    pub link_limit: u64,
    /// Print JSON lines also on a terminal
    #[arg(long)]
    pub json: bool,
}

/// Runs to the end and returns the exit code.
#[must_use]
pub fn run(args: &PacketSendArgs) -> i32 {
    let voice = Voice::new(args.json);
    voice.end(send(args, voice))
}

fn send(args: &PacketSendArgs, voice: Voice) -> Result<(), Fault> {
    let sizes: Sizes = args.frame_size.parse().map_err(Fault::bad_input)?;
    let frames = Frames::new(&sizes, args.streams, args.seed).map_err(Fault::bad_input)?;
    let frames = Arc::new(frames.stamped(args.latency));
    let plan = plan(args)?;
    let interface = running(&args.interface, args.link_limit)?;
    let mut stop = Stop::install().map_err(Fault::failed)?;
    check_mtu(&interface, &frames).map_err(fault)?;
    let out = args.way_out.open(&interface, &frames)?;
    // A driver may reset its link when it is given AF_XDP memory.
    running(&args.interface, args.link_limit)?;
    let mut sender = Sender::new(&interface, frames, out.ways, args.cpus.clone()).map_err(fault)?;
    voice.say(&json!({"event": "ready"}), || {
        format!("sending frames of {sizes} bytes on {}, Ctrl-C ends it", interface.name)
    });
    let mut table = Table::default();
    let sent = sender.run(&plan, |glance| {
        if let Some(line) = table.line(glance) {
            voice.plain(|| line);
        }
        stop.asked()
    });
    let setting = Setting {
        path: args.way_out.path,
        sizes,
        queues: out.queues,
        cpus: args.cpus.clone(),
        xdp: out.xdp,
        clock: if args.latency { Some(ClockIdentity::read().map_err(Fault::failed)?) } else { None },
    };
    let result = SendResult::new(setting, &sent.map_err(fault)?, plan.pace.is_some());
    voice.say(&result, || result.plain());
    Ok(())
}

/// The live table: rates since the line before.
#[derive(Default)]
struct Table {
    at_ns: u64,
    handed: Vec<u64>,
    left: u64,
}

impl Table {
    /// The next line, once a second.
    fn line(&mut self, glance: Glance<'_>) -> Option<String> {
        let span_ns = glance.at_ns - self.at_ns;
        if span_ns < LINE_EVERY_NS {
            return None;
        }
        let rate = |now: u64, before: u64| (now - before) as f64 * 1e9 / span_ns as f64;
        let before = self.handed.iter().copied().chain(std::iter::repeat(0));
        let streams = glance.handed.iter().zip(before).enumerate();
        let streams = streams.map(|(n, (now, before))| format!("  stream {n} {:>9.0}", rate(*now, before)));
        let line = format!(
            "{:>6.0} s  left {:>9.0}/s  handed:{}",
            glance.at_ns as f64 / 1e9,
            rate(glance.left, self.left),
            streams.collect::<String>()
        );
        *self = Self { at_ns: glance.at_ns, handed: glance.handed.to_vec(), left: glance.left };
        Some(line)
    }
}

fn plan(args: &PacketSendArgs) -> Result<Plan, Fault> {
    let pace = match args.rate.as_str() {
        "max" => None,
        text => {
            let rate = text.parse().map_err(|_| {
                Fault::bad_input(format!(
                    "--rate {text:?}: expected `max` or frames per second and stream, as in 10000"
                ))
            })?;
            Some(Pace::new(rate, args.streams).map_err(Fault::bad_input)?)
        }
    };
    if args.frames.is_none() && args.duration == 0 {
        return Err(Fault::bad_input("--duration 0s: expected a window longer than nothing, as in 1s"));
    }
    let extent = match args.frames {
        Some(frames) => Extent::Frames(frames),
        None => Extent::Time { settle_ns: args.settle, duration_ns: args.duration },
    };
    Ok(Plan { batch: args.batch, pace, extent, digest: args.digest })
}

/// The interface, once its link is up.
pub(super) fn running(name: &str, limit_ns: u64) -> Result<Interface, Fault> {
    wait_until_running(name, Duration::from_nanos(limit_ns)).map_err(|e| match e {
        LinkError::Interface(_) => Fault::bad_input(e),
        _ => Fault::failed(e),
    })
}

fn fault(error: SendError) -> Fault {
    match error {
        SendError::Interface(_) | SendError::Cpu(CpuError::Few { .. }) => Fault::bad_input(error),
        SendError::Mtu { .. } | SendError::Cpu(_) => Fault::refused(error),
        _ => Fault::failed(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_live_table_has_a_line_a_second_with_the_rates_of_that_second() {
        let mut table = Table::default();
        let mut line = |at_ns, handed: &[u64], left| table.line(Glance { at_ns, handed, left });
        assert_eq!(line(900_000_000, &[9, 9], 18), None);
        assert_eq!(
            line(2_000_000_000, &[2000, 4000], 5000).as_deref(),
            Some("     2 s  left      2500/s  handed:  stream 0      1000  stream 1      2000")
        );
        assert_eq!(line(2_900_000_000, &[2000, 4000], 5000), None);
    }
}
