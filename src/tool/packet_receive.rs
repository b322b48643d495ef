//! `packet-receive`: frames into one interface, each accounted for.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use clap::Args;
use serde_json::json;

use super::duration::parse_ns;
use super::input::{Heard, Input};
use super::packet_send::running;
use super::result::{ReceiveBucket, ReceiveResult, ReceivedStream};
use super::stop::Stop;
use super::voice::{Fault, Voice};
use crate::model::frame_size::Sizes;
use crate::nic::clock::monotonic_ns;
use crate::packet::frame::Frames;
use crate::packet::receiver::Receiver;
use crate::packet::ring::{BLOCK_BYTES, RETIRE_MS};

const MS: u64 = 1_000_000;
/// Once everything has arrived, quiet of this long shows that no duplicate follows: three times the
/// time after which the kernel hands over a block that is not full.
const COMPLETE_QUIET_NS: u64 = 3 * RETIRE_MS as u64 * MS;
/// Draining ends after this long even if frames keep coming.
const LONGEST_DRAIN_NS: u64 = 10_000 * MS;
const POLL_MS: i32 = 50;
const POLL_ENDING_MS: i32 = 5;
const SECOND_NS: u64 = 1000 * MS;
/// Blocks taken in a row before signals and input are looked at.
const MOST_BLOCKS: usize = 64;

/// Receives the frames of `packet-send` by an AF_PACKET ring and accounts for every one of them.
///
/// It ends when standard input says what was sent ({"sent":{"0":1000}}, one number a stream) and that
/// has arrived or nothing more comes; also at the end of input, by Ctrl-C, or after --duration.
///
/// Example:
///   fieldtrial tool packet-receive --interface eth2 --frame-size 64
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct PacketReceiveArgs {
    /// Interface to receive on; it is set promiscuous meanwhile
    #[arg(long, value_name = "IF")]
    pub interface: String,
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
    #[arg(long)]
    pub digest: bool,
    /// After the end of sending, wait this long for frames still under way
    #[arg(long, value_name = "TIME", value_parser = parse_ns, default_value = "500ms")]
    pub drain: u64,
    /// End by itself this long after the first frame, settle time excluded, whatever the sender says
    #[arg(long, value_name = "TIME", value_parser = parse_ns)]
    pub duration: Option<u64>,
    /// Traffic at the start that is left out of the rate; loss in it still counts
    #[arg(long, value_name = "TIME", value_parser = parse_ns, default_value = "0s")]
    pub settle: u64,
    /// Memory shared with the kernel, in MiB; less is taken where there is not so much
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(4..=4096))]
    pub ring: u32,
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
    let frames = Frames::new(&sizes, args.streams, args.seed).map_err(Fault::bad_input)?;
    let interface = running(&args.interface, args.link_limit)?;
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(Fault::failed)?;
    let stop = Stop::install().map_err(Fault::failed)?;
    let ring_bytes = args.ring as usize * BLOCK_BYTES;
    let receiver = Receiver::open(&interface, frames, ring_bytes, args.digest).map_err(Fault::failed)?;
    // Opening may have reset the link.
    running(&args.interface, args.link_limit)?;
    voice.say(&json!({"event": "ready"}), || format!("listening on {}, Ctrl-C ends it", interface.name));
    let mut watch = Listening::new(args, receiver, input, stop);
    let ended_by = watch.listen(voice)?;
    let result = watch.result(ended_by)?;
    voice.say(&result, || plain(&result));
    Ok(())
}

/// A receiver and all that may end it.
struct Listening<'a> {
    args: &'a PacketReceiveArgs,
    receiver: Receiver,
    input: Input,
    stop: Stop,
    sent: Vec<Option<u64>>,
    own: u64,
    first_own_ns: Option<u64>,
    last_own_ns: u64,
    /// Since when and why no more frames are expected.
    ending: Option<(u64, &'static str)>,
    next_second_ns: u64,
    link_errors: u64,
}

impl<'a> Listening<'a> {
    fn new(args: &'a PacketReceiveArgs, receiver: Receiver, input: OwnedFd, stop: Stop) -> Self {
        Self {
            args,
            receiver,
            input: Input::new(input),
            stop,
            sent: vec![None; usize::from(args.streams)],
            own: 0,
            first_own_ns: None,
            last_own_ns: 0,
            ending: None,
            next_second_ns: monotonic_ns() + SECOND_NS,
            link_errors: 0,
        }
    }

    fn listen(&mut self, voice: Voice) -> Result<&'static str, Fault> {
        loop {
            self.take();
            let now = monotonic_ns();
            if now >= self.next_second_ns {
                self.each_second(now, voice)?;
            }
            if let Some((since_ns, why)) = self.ending
                && self.drained(now, since_ns)
            {
                return Ok(why);
            }
            if let Some(first) = self.first_own_ns
                && self
                    .args
                    .duration
                    .is_some_and(|d| now >= first.saturating_add(self.args.settle).saturating_add(d))
            {
                self.end(now, "duration");
            }
            self.wait(now)?;
        }
    }

    fn take(&mut self) {
        for _ in 0..MOST_BLOCKS {
            let Some(own) = self.receiver.take_block() else { return };
            if own > 0 {
                self.own += own;
                self.last_own_ns = monotonic_ns();
                self.first_own_ns.get_or_insert(self.last_own_ns);
            }
        }
    }

    fn drained(&self, now: u64, since_ns: u64) -> bool {
        let quiet_ns = now.saturating_sub(self.last_own_ns.max(since_ns));
        let since_frame_ns = now.saturating_sub(self.last_own_ns);
        let complete = since_frame_ns >= COMPLETE_QUIET_NS && self.receiver.complete(&self.sent);
        complete || quiet_ns >= self.args.drain || now.saturating_sub(since_ns) >= LONGEST_DRAIN_NS
    }

    fn end(&mut self, now: u64, why: &'static str) {
        self.ending.get_or_insert((now, why));
    }

    fn wait(&mut self, now: u64) -> Result<(), Fault> {
        let fds = [self.receiver.as_fd().as_raw_fd(), self.input.poll_fd(), self.stop.as_fd().as_raw_fd()];
        let mut polls = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        let timeout = if self.ending.is_some() { POLL_ENDING_MS } else { POLL_MS };
        // SAFETY: pointer and length describe `polls`.
        unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout) };
        let [ring, input, stop] = polls.map(|poll| poll.revents);
        if ring & libc::POLLERR != 0 {
            // Reading the error clears it; without that poll would return at once for ever.
            self.link_errors += u64::from(self.receiver.take_error());
        }
        if stop != 0 && self.stop.asked() {
            self.end(now, "signal");
        }
        if input != 0 {
            match self.input.read().map_err(Fault::BadInput)? {
                Heard::Nothing => {}
                Heard::End => self.end(now, "input"),
                Heard::Sent(word) => {
                    self.hear(&word)?;
                    self.end(now, "sent");
                }
            }
        }
        Ok(())
    }

    fn hear(&mut self, word: &BTreeMap<u16, u64>) -> Result<(), Fault> {
        let streams = self.args.streams;
        for (&stream, &sent) in word {
            let place = self.sent.get_mut(usize::from(stream)).ok_or_else(|| {
                Fault::bad_input(format!(
                    "standard input speaks of stream {stream}, expected 0 to {}",
                    streams - 1
                ))
            })?;
            *place = Some(sent);
        }
        Ok(())
    }

    fn each_second(&mut self, now: u64, voice: Voice) -> Result<(), Fault> {
        self.next_second_ns = now + SECOND_NS;
        let drops = self.receiver.statistics().map_err(Fault::failed)?.drops;
        let (own, foreign) = (self.own, self.receiver.foreign());
        voice.plain(|| format!("{own:>14} frames  {foreign:>8} foreign  {drops:>8} dropped by the kernel"));
        Ok(())
    }

    fn result(&mut self, ended_by: &'static str) -> Result<ReceiveResult, Fault> {
        let kernel_drops = self.receiver.statistics().map_err(Fault::failed)?.drops;
        let streams = self.receiver.close(&self.sent);
        let clock_was_set = self.receiver.clock_was_set();
        let intact = self.receiver.intact();
        Ok(ReceiveResult {
            event: "result",
            streams: (0..).zip(streams.iter().map(ReceivedStream::from)).collect(),
            foreign: self.receiver.foreign(),
            kernel_drops,
            rx_rate: intact.window(self.args.settle).filter(|_| !clock_was_set).map(Into::into),
            buckets: intact.buckets(self.args.settle).into_iter().map(ReceiveBucket::from).collect(),
            ring_bytes: self.receiver.ring_bytes(),
            stamps: "software",
            clock_was_set,
            ended_by,
            link_errors: self.link_errors,
        })
    }
}

fn plain(result: &ReceiveResult) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["stream", "sent", "intact", "lost", "duplicated", "reordered", "corrupted"]);
    for (stream, s) in &result.streams {
        let sent = s.sent.map_or_else(|| "?".to_owned(), |sent| sent.to_string());
        let counts = [s.intact, s.lost, s.duplicated, s.reordered, s.corrupted].map(|n| n.to_string());
        table.add_row([stream.to_string(), sent].into_iter().chain(counts));
    }
    let rate = result.rx_rate.map_or_else(
        || "no rate: the traffic filled no whole tenth of a second after settling".to_owned(),
        |rate| format!("{:.0} frames/s over {:.1} s", rate.per_second, rate.seconds),
    );
    format!("{table}\n{rate}; {} foreign, {} dropped by the kernel", result.foreign, result.kernel_drops)
}
