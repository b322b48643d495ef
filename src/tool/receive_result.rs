//! The JSON shapes of `packet-receive`'s result.

use std::collections::BTreeMap;

use serde::Serialize;

use super::latency::Ground;
use super::result::Rate;
use super::way_in::XdpGot;
use crate::packet::buckets::{StampBucket, StampBuckets};
use crate::packet::digest::FrameDigest;
use crate::packet::foreign::Foreign;
use crate::packet::histogram::{Histogram, PERCENTILES};
use crate::packet::ingress::{StampSource, Stamps};
use crate::packet::receiver::Received;
use crate::packet::tally::Stream;

/// Buckets told of each stream; those of all streams together are finer.
const MOST_STREAM_BUCKETS: usize = 256;

/// Last line of `packet-receive`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReceiveResult {
    pub event: &'static str,
    pub path: &'static str,
    /// What AF_XDP came to; None on AF_PACKET.
    pub xdp: Option<XdpGot>,
    pub streams: BTreeMap<u16, ReceivedStream>,
    /// Frames that were not ours.
    pub foreign: u64,
    pub foreign_kinds: BTreeMap<&'static str, u64>,
    /// `all`, or `own ethertypes` where the kernel shows us no others.
    pub foreign_seen: &'static str,
    /// Own frames by queue and stream; None where a way in hears all queues as one.
    pub queues: Option<BTreeMap<u32, BTreeMap<u16, u64>>>,
    /// Frames for which ring or buffer had no room; each of ours is also among `lost`.
    pub kernel_drops: u64,
    /// New intact frames from the settle time to the last bucket that the traffic filled; None where
    /// no whole bucket lies between, or frames carry no stamps, or their clock was set meanwhile.
    pub rx_rate: Option<Rate>,
    pub buckets: Vec<ReceiveBucket>,
    pub ring_bytes: usize,
    /// `hardware` only where the card stamped; else `software` or `none`.
    pub stamps: &'static str,
    /// `card`, `kernel` (its driver's hand-over) or `program` (when it took a batch).
    pub stamped_by: Option<&'static str>,
    /// Own frames without the stamp that was asked for; they are accounted, but in no rate or time.
    pub unstamped: u64,
    pub clock_was_set: bool,
    /// Why no stream has an inter-arrival.
    pub inter_arrival_absent: Option<String>,
    /// Why no stream has a latency.
    pub latency_absent: Option<String>,
    /// `one machine` or `offset bound`: why the latency may be told.
    pub latency_clock: Option<&'static str>,
    /// Each latency may be wrong by so much, either way.
    pub clock_offset_bound_ns: Option<u64>,
    /// What ended it: `sent`, `input`, `signal` or `duration`.
    pub ended_by: &'static str,
    /// How often the interface reported going down.
    pub link_errors: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReceivedStream {
    pub sent: Option<u64>,
    pub received: u64,
    pub intact: u64,
    pub lost: u64,
    pub duplicated: u64,
    pub reordered: u64,
    pub corrupted: u64,
    /// Too old to be told from duplicates; only beyond 65,536 frames of reordering.
    pub too_late: u64,
    /// Sequence numbers beyond what was sent: the counts contradict each other.
    pub excess: u64,
    pub digest: Option<String>,
    /// Earliest and latest stamp of an own frame, nanoseconds since 1970 unless the card stamps.
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
    /// As `rx_rate`, of this stream alone.
    pub rate: Option<Rate>,
    pub buckets: StreamBuckets,
    pub inter_arrival: Option<Distribution>,
    pub latency: Option<Distribution>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReceiveBucket {
    pub at_ns: u64,
    pub span_ns: u64,
    pub frames: u64,
    pub settling: bool,
}

/// New intact frames in spans that follow each other from the run's first stamp on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamBuckets {
    pub span_ns: u64,
    pub frames: Vec<u64>,
}

/// Times in nanoseconds, each percentile at most a 64th too high.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Distribution {
    pub count: u64,
    pub min_ns: Option<u64>,
    pub max_ns: Option<u64>,
    /// None where there are too few values; then `absent` says so.
    pub percentiles: BTreeMap<&'static str, Option<u64>>,
    pub absent: BTreeMap<&'static str, String>,
    /// Ends that lay before their start; counted nowhere else.
    pub negative: u64,
}

/// What the result needs beside what was received.
pub struct Setting<'a> {
    pub path: &'static str,
    pub xdp: Option<XdpGot>,
    pub ring_bytes: usize,
    pub stamps: Stamps,
    pub settle_ns: u64,
    pub sent: &'a [Option<u64>],
    pub ended_by: &'static str,
    /// Whether a latency may be told, or why not.
    pub latency: Result<Ground, String>,
}

impl ReceiveResult {
    #[must_use]
    pub fn new(received: &Received, setting: &Setting<'_>) -> Self {
        let clock_was_set = received.clock_was_set && received.stamps != StampSource::Hardware;
        let timed = times(received, setting.stamps, clock_was_set);
        let inter_arrival = timed.clone().and_then(|()| match received.stamps {
            StampSource::Program => Err(format!(
                "software stamps on {} are given once for each batch and say nothing of single frames",
                setting.path
            )),
            _ => Ok(()),
        });
        let latency = timed.clone().and_then(|()| setting.latency.clone());
        let told = Told {
            settle_ns: setting.settle_ns,
            rate: timed.is_ok(),
            inter_arrival: inter_arrival.is_ok(),
            latency: latency.is_ok(),
        };
        let mut intact = StampBuckets::default();
        received.streams.iter().for_each(|stream| intact.add(&stream.intact));
        let digest = |n: usize| received.seen.digests.as_ref().map(|digests| digests[n]);
        let streams = received.streams.iter().enumerate().map(|(n, stream)| {
            (n as u16, ReceivedStream::new(stream, setting.sent.get(n).copied().flatten(), digest(n), &told))
        });
        Self {
            event: "result",
            path: setting.path,
            xdp: setting.xdp,
            streams: streams.collect(),
            foreign: received.seen.foreign.total(),
            foreign_kinds: kinds(&received.seen.foreign),
            foreign_seen: if setting.xdp.is_some() { "own ethertypes" } else { "all" },
            queues: by_queue(received),
            kernel_drops: received.progress.drops,
            rx_rate: told.rate(&intact),
            buckets: intact.buckets(setting.settle_ns).into_iter().map(ReceiveBucket::from).collect(),
            ring_bytes: setting.ring_bytes,
            stamps: match (setting.stamps, received.stamps) {
                (Stamps::None, _) => "none",
                (_, StampSource::Hardware) => "hardware",
                _ => "software",
            },
            stamped_by: (setting.stamps != Stamps::None).then_some(match received.stamps {
                StampSource::Hardware => "card",
                StampSource::Kernel => "kernel",
                StampSource::Program => "program",
            }),
            unstamped: received.seen.unstamped,
            clock_was_set,
            inter_arrival_absent: inter_arrival.err(),
            latency_clock: latency.as_ref().ok().map(|ground| ground.name()),
            clock_offset_bound_ns: latency.as_ref().ok().and_then(|ground| ground.bound_ns()),
            latency_absent: latency.err(),
            ended_by: setting.ended_by,
            link_errors: received.progress.link_errors,
        }
    }
}

/// Own frames by queue and stream; None where the queues are not known.
#[must_use]
pub fn by_queue(received: &Received) -> Option<BTreeMap<u32, BTreeMap<u16, u64>>> {
    received
        .queues
        .iter()
        .map(|(queue, streams)| Some(((*queue)?, (0..).zip(streams.iter().copied()).collect())))
        .collect()
}

#[must_use]
pub fn kinds(foreign: &Foreign) -> BTreeMap<&'static str, u64> {
    foreign.kinds().map(|(kind, count)| (kind.name(), count)).collect()
}

/// Whether stamps can be told as times.
fn times(received: &Received, stamps: Stamps, clock_was_set: bool) -> Result<(), String> {
    if stamps == Stamps::None {
        return Err("no stamps were asked for".to_owned());
    }
    if clock_was_set {
        return Err("the clock of the stamps was set meanwhile".to_owned());
    }
    if received.seen.own() > 0 && received.seen.unstamped == received.seen.own() {
        return Err("no frame carried a stamp".to_owned());
    }
    Ok(())
}

/// What may be told of a stream's times.
struct Told {
    settle_ns: u64,
    rate: bool,
    inter_arrival: bool,
    latency: bool,
}

impl Told {
    fn rate(&self, intact: &StampBuckets) -> Option<Rate> {
        intact.window(self.settle_ns).filter(|_| self.rate).map(Rate::from)
    }
}

impl ReceivedStream {
    fn new(stream: &Stream, sent: Option<u64>, digest: Option<FrameDigest>, told: &Told) -> Self {
        let account = stream.ledger.close(sent);
        let (counts, coarse) = (account.counts, stream.intact.coarser(MOST_STREAM_BUCKETS));
        Self {
            sent: account.sent,
            received: counts.received,
            intact: counts.intact,
            lost: account.lost,
            duplicated: counts.duplicated,
            reordered: counts.reordered,
            corrupted: counts.corrupted,
            too_late: counts.too_late,
            excess: account.excess,
            digest: digest.map(|digest| digest.hex()),
            first_ns: account.first_ns,
            last_ns: account.last_ns,
            rate: told.rate(&stream.intact),
            buckets: StreamBuckets {
                span_ns: coarse.span_ns(),
                frames: coarse.buckets(0).iter().map(|bucket| bucket.frames).collect(),
            },
            inter_arrival: told.inter_arrival.then(|| Distribution::from(&stream.inter_arrival)),
            latency: told.latency.then(|| Distribution::from(&stream.latency)),
        }
    }
}

impl From<&Histogram> for Distribution {
    fn from(histogram: &Histogram) -> Self {
        let count = histogram.counted();
        let (min_ns, max_ns) = histogram.extremes_ns().unzip();
        let (mut percentiles, mut absent) = (BTreeMap::new(), BTreeMap::new());
        for (name, p, least) in PERCENTILES {
            let value = histogram.quantile_ns(p).filter(|_| count >= least);
            percentiles.insert(name, value);
            if value.is_none() {
                absent.insert(name, format!("{count} values; {name} needs {least}"));
            }
        }
        Self { count, min_ns, max_ns, percentiles, absent, negative: histogram.negative() }
    }
}

impl From<StampBucket> for ReceiveBucket {
    fn from(bucket: StampBucket) -> Self {
        let StampBucket { at_ns, span_ns, frames, settling } = bucket;
        Self { at_ns, span_ns, frames, settling }
    }
}

/// Last line of `packet-receive --count-only`. It has no `streams` that a proof could read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountResult {
    pub event: &'static str,
    pub path: &'static str,
    pub xdp: Option<XdpGot>,
    /// Frames of each stream's ethertype, whatever their bytes.
    pub counted: BTreeMap<u16, u64>,
    pub foreign: u64,
    pub foreign_kinds: BTreeMap<&'static str, u64>,
    pub queues: Option<BTreeMap<u32, BTreeMap<u16, u64>>>,
    pub kernel_drops: u64,
    /// From the first batch to the last.
    pub seconds: Option<f64>,
    pub ring_bytes: usize,
    pub ended_by: &'static str,
    pub link_errors: u64,
}

impl CountResult {
    #[must_use]
    pub fn new(received: &Received, setting: &Setting<'_>) -> Self {
        let progress = received.progress;
        let span_ns = progress.first_own_ns.zip(progress.last_own_ns).map(|(first, last)| last - first);
        Self {
            event: "result",
            path: setting.path,
            xdp: setting.xdp,
            counted: (0..).zip(received.seen.streams.iter().copied()).collect(),
            foreign: received.seen.foreign.total(),
            foreign_kinds: kinds(&received.seen.foreign),
            queues: by_queue(received),
            kernel_drops: progress.drops,
            seconds: span_ns.map(|ns| ns as f64 / 1e9),
            ring_bytes: setting.ring_bytes,
            ended_by: setting.ended_by,
            link_errors: progress.link_errors,
        }
    }
}
