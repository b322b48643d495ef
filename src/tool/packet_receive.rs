//! `packet-receive`: frames into one interface, each accounted for.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use clap::Args;
use serde_json::json;

use super::duration::parse_ns;
use super::input::{Heard, Input, Word};
use super::latency::{Clocks, ground};
use super::packet_send::running;
use super::receive_result::{CountResult, ReceiveResult, Setting};
use super::receive_view::{LiveTable, plain, plain_count};
use super::stop::Stop;
use super::voice::{Fault, Voice};
use super::way_in::{Opened, PathIn, StampsArg, XdpGot, open};
use crate::model::frame_size::Sizes;
use crate::nic::clock::monotonic_ns;
use crate::nic::clock_identity::ClockIdentity;
use crate::packet::frame::Frames;
use crate::packet::ingress::StampSource;
use crate::packet::receiver::{Plan, Received, Receiver};
use crate::packet::ring::RETIRE_MS;
use crate::packet::sender::check_mtu;
use crate::xdp::options::{Attach, Copying};

const MS: u64 = 1_000_000;
/// Once everything has arrived, quiet of this long shows that no duplicate follows: three times the
/// time after which the kernel hands over a block that is not full.
const COMPLETE_QUIET_NS: u64 = 3 * RETIRE_MS as u64 * MS;
/// Draining ends after this long even if frames keep coming.
const LONGEST_DRAIN_NS: u64 = 10_000 * MS;
const POLL_MS: i32 = 50;
const POLL_ENDING_MS: i32 = 5;
const SECOND_NS: u64 = 1000 * MS;

/// Receives the frames of `packet-send` and accounts for every one of them: lost, doubled, out of
/// order, damaged (every byte is compared) or not ours.
///
/// It ends when standard input says what was sent ({"sent":{"0":1000}}, one number a stream) and that
/// has arrived or nothing more comes; also at the end of input, by Ctrl-C, or after --duration.
///
/// Rates and times come from the stamp of each frame. Every output says whose stamps they are: the
/// card's (hardware), or the kernel's or this program's (software).
///
/// Example:
///   fieldtrial tool packet-receive --interface eth2 --frame-size 64
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct PacketReceiveArgs {
    /// Interface to receive on; it is set promiscuous meanwhile
    #[arg(long, value_name = "IF")]
    pub interface: String,
    /// How frames come from the kernel
    #[arg(long, value_enum, value_name = "PATH", default_value = "af_packet")]
    pub path: PathIn,
    /// Queues to receive from, e.g. 0,1, each by a thread of its own; frames of others pass by. Default: all that the
    /// interface has. Only with af_xdp; the other paths hear all queues as one
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub queues: Vec<u32>,
    /// Where the program that steers frames to af_xdp runs
    #[arg(long, value_enum, value_name = "WHERE")]
    pub attach: Option<Attach>,
    /// How frames cross between the driver and af_xdp's memory
    #[arg(long, value_enum, value_name = "HOW")]
    pub xdp_copy: Option<Copying>,
    /// Bytes of each frame with its 4 FCS bytes, one size or several, as the sender's
    #[arg(long, value_name = "SIZES", default_value = "64")]
    pub frame_size: String,
    /// Streams, as the sender's
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub streams: u16,
    /// Decides the bytes of the frames, as the sender's
    #[arg(long, value_name = "X", default_value_t = 1)]
    pub seed: u64,
    /// Digest the bytes received (order does not matter); slower, for proofs
    #[arg(long, conflicts_with = "count_only")]
    pub digest: bool,
    /// Only count frames by their ethertype: no compare, no ledger. It shows what a receiver costs and proves nothing
    #[arg(long)]
    pub count_only: bool,
    /// Whose stamps give rates and times
    #[arg(long, value_enum, value_name = "WHOSE", default_value = "software")]
    pub stamps: StampsArg,
    /// Tell the time from send stamp to receive stamp, if both are of one clock or its offset is bounded; the sender needs it too
    #[arg(long, conflicts_with = "count_only")]
    pub latency: bool,
    /// The sender's clock and this one differ by at most this, e.g. 5us; recorded beside the latency
    #[arg(long, value_name = "TIME", value_parser = parse_ns, requires = "latency")]
    pub clock_offset_bound: Option<u64>,
    /// After the end of sending, wait this long for frames still under way
    #[arg(long, value_name = "TIME", value_parser = parse_ns, default_value = "500ms")]
    pub drain: u64,
    /// End by itself this long after the first frame, settle time excluded, whatever the sender says
    #[arg(long, value_name = "TIME", value_parser = parse_ns)]
    pub duration: Option<u64>,
    /// Traffic at the start that is left out of the rate; loss in it still counts
    #[arg(long, value_name = "TIME", value_parser = parse_ns, default_value = "0s")]
    pub settle: u64,
    /// Memory of the ring or receive buffer, in MiB, for each queue with af_xdp; less is taken where there is not so
    /// much. Default: 64
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(4..=4096))]
    pub ring: Option<u32>,
    /// Longest wait for the link to come up
    #[arg(long, value_name = "TIME", value_parser = parse_ns, default_value = "5s")]
    pub link_limit: u64,
    /// Print JSON lines also on a terminal
    #[arg(long)]
    pub json: bool,
}

/// Runs to the end and returns the exit code.
#[must_use]
pub fn run(args: &PacketReceiveArgs) -> i32 {
    let voice = Voice::new(args.json);
    voice.end(receive(args, voice))
}

fn receive(args: &PacketReceiveArgs, voice: Voice) -> Result<(), Fault> {
    let sizes: Sizes = args.frame_size.parse().map_err(Fault::bad_input)?;
    let frames =
        Frames::new(&sizes, args.streams, args.seed).map_err(Fault::bad_input)?.stamped(args.latency);
    let plan = Plan { digest: args.digest, count_only: args.count_only };
    let interface = running(&args.interface, args.link_limit)?;
    check_mtu(&interface, &frames).map_err(Fault::refused)?;
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(Fault::failed)?;
    let stop = Stop::install().map_err(Fault::failed)?;
    let Opened { ways, ring_bytes, xdp, held } = open(args, &interface)?;
    // Opening may have reset the link.
    running(&args.interface, args.link_limit)?;
    let receiver = Receiver::start(ways, frames, plan).map_err(Fault::failed)?;
    voice.say(&json!({"event": "ready"}), || format!("listening on {}, Ctrl-C ends it", interface.name));
    let mut watch = Watching::new(args, receiver, input, stop);
    let ended_by = watch.watch(voice)?;
    let (received, told) = watch.end()?;
    drop(held);
    let setting = setting(args, &received, &told, (ring_bytes, xdp, ended_by));
    if args.count_only {
        let result = CountResult::new(&received, &setting);
        voice.say(&result, || plain_count(&result));
    } else {
        let result = ReceiveResult::new(&received, &setting);
        voice.say(&result, || plain(&result));
    }
    Ok(())
}

fn setting<'a>(
    args: &PacketReceiveArgs,
    received: &Received,
    told: &'a Told,
    (ring_bytes, xdp, ended_by): (usize, Option<XdpGot>, &'static str),
) -> Setting<'a> {
    let latency = if args.latency {
        ground(&Clocks {
            card_stamps: received.stamps == StampSource::Hardware,
            receiver: ClockIdentity::read().ok(),
            sender: told.clock.clone(),
            offset_bound_ns: args.clock_offset_bound,
        })
    } else {
        Err("not asked for (--latency)".to_owned())
    };
    Setting {
        path: args.path.name(),
        xdp,
        ring_bytes,
        stamps: args.stamps.into(),
        settle_ns: args.settle,
        sent: &told.sent,
        ended_by,
        latency,
    }
}

/// The sender's word so far.
struct Told {
    /// Frames of each stream.
    sent: Vec<Option<u64>>,
    /// Of the stamps in its frames.
    clock: Option<ClockIdentity>,
}

/// A receiver and all that may end it.
struct Watching<'a> {
    args: &'a PacketReceiveArgs,
    receiver: Receiver,
    input: Input,
    stop: Stop,
    told: Told,
    /// Since when and why no more frames are expected.
    ending: Option<(u64, &'static str)>,
    next_second_ns: u64,
    live: LiveTable,
}

impl<'a> Watching<'a> {
    fn new(args: &'a PacketReceiveArgs, receiver: Receiver, input: OwnedFd, stop: Stop) -> Self {
        Self {
            args,
            receiver,
            input: Input::new(input),
            stop,
            told: Told { sent: vec![None; usize::from(args.streams)], clock: None },
            ending: None,
            next_second_ns: monotonic_ns() + SECOND_NS,
            live: LiveTable::default(),
        }
    }

    fn watch(&mut self, voice: Voice) -> Result<&'static str, Fault> {
        loop {
            let now = monotonic_ns();
            if now >= self.next_second_ns {
                self.next_second_ns = now + SECOND_NS;
                voice.plain(|| self.live.row(self.receiver.progress(), self.receiver.gaps()));
            }
            if let Some((since_ns, why)) = self.ending
                && self.drained(now, since_ns)
            {
                return Ok(why);
            }
            if self.receiver.failed() {
                // Its fault is told by the end.
                return Ok("fault");
            }
            if let Some(duration) = self.args.duration
                && let Some(first) = self.receiver.progress().first_own_ns
                && now >= first.saturating_add(self.args.settle).saturating_add(duration)
            {
                self.expect_no_more(now, "duration");
            }
            self.wait(now)?;
        }
    }

    /// Ends all threads; returns what they saw, and the sender's word.
    fn end(self) -> Result<(Received, Told), Fault> {
        Ok((self.receiver.stop().map_err(Fault::failed)?, self.told))
    }

    fn drained(&self, now: u64, since_ns: u64) -> bool {
        let last_own_ns = self.receiver.progress().last_own_ns.unwrap_or(0);
        let quiet_ns = now.saturating_sub(last_own_ns.max(since_ns));
        let complete =
            now.saturating_sub(last_own_ns) >= COMPLETE_QUIET_NS && self.receiver.complete(&self.told.sent);
        complete || quiet_ns >= self.args.drain || now.saturating_sub(since_ns) >= LONGEST_DRAIN_NS
    }

    fn expect_no_more(&mut self, now: u64, why: &'static str) {
        self.ending.get_or_insert((now, why));
    }

    fn wait(&mut self, now: u64) -> Result<(), Fault> {
        let fds = [self.input.poll_fd(), self.stop.as_fd().as_raw_fd()];
        let mut polls = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        let timeout = if self.ending.is_some() { POLL_ENDING_MS } else { POLL_MS };
        // SAFETY: pointer and length describe `polls`.
        unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout) };
        let [input, stop] = polls.map(|poll| poll.revents);
        if stop != 0 && self.stop.asked() {
            self.expect_no_more(now, "signal");
        }
        if input != 0 {
            match self.input.read().map_err(Fault::BadInput)? {
                Heard::Nothing => {}
                Heard::End => self.expect_no_more(now, "input"),
                Heard::Sent(word) => {
                    self.hear(word)?;
                    self.expect_no_more(now, "sent");
                }
            }
        }
        Ok(())
    }

    fn hear(&mut self, word: Word) -> Result<(), Fault> {
        let streams = self.args.streams;
        for (stream, sent) in word.sent {
            let place = self.told.sent.get_mut(usize::from(stream)).ok_or_else(|| {
                Fault::bad_input(format!(
                    "standard input speaks of stream {stream}, expected 0 to {}",
                    streams - 1
                ))
            })?;
            *place = Some(sent);
        }
        self.told.clock = word.clock.or(self.told.clock.take());
        Ok(())
    }
}
