//! `packet-send`: frames out of one interface.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::duration::parse_ns;
use super::result::SendResult;
use super::stop::Stop;
use super::voice::{Fault, Voice};
use crate::nic::interface::Interface;
use crate::nic::link::{LinkError, wait_until_running};
use crate::packet::batch::MOST_BATCH;
use crate::packet::frame::Frames;
use crate::packet::pace::Pace;
use crate::packet::sender::{Plan, SendError, Sender};
use crate::packet::size::Sizes;
use crate::packet::watch::Extent;

/// Sends deterministic frames by AF_PACKET, as fast as the interface takes them or at a steady rate.
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
    let plan = plan(args)?;
    let interface = running(&args.interface, args.link_limit)?;
    let mut stop = Stop::install().map_err(Fault::failed)?;
    let mut sender = Sender::open(&interface, frames).map_err(fault)?;
    voice.say(&json!({"event": "ready"}), || {
        format!("sending {}-byte frames on {}, Ctrl-C ends it", args.frame_size, interface.name)
    });
    let sent = sender.run(&plan, || stop.asked()).map_err(fault)?;
    let result = SendResult::new(&sent, plan.pace.is_some());
    voice.say(&result, || plain(&result));
    Ok(())
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
        SendError::Interface(_) => Fault::bad_input(error),
        _ => Fault::failed(error),
    }
}

fn plain(result: &SendResult) -> String {
    let handed: u64 = result.streams.values().map(|stream| stream.handed).sum();
    let mut lines =
        vec![format!("handed to the kernel  {handed} frames, {} left the interface", result.left_total)];
    if let Some(left) = result.left {
        lines.push(format!(
            "rate in the window    {:.0} frames/s over {:.3} s",
            left.per_second, left.seconds
        ));
    }
    lines.push(format!("no room, sent again   {} calls", result.retries.enobufs));
    if result.counter_backward {
        lines.push("a counter of the interface went back: the rate is a lower bound".into());
    }
    if result.cut_short {
        lines.push("cut short: not all that was planned was handed over".into());
    }
    lines.join("\n")
}
