//! The JSON shapes of the packet tools' results.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::packet::buckets::StampBucket;
use crate::packet::receiver::StreamReceived;
use crate::packet::sender::Sent;
use crate::packet::watch::Span;
use crate::packet::window::Window;

/// Frames over a window of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    pub frames: u64,
    pub seconds: f64,
    pub per_second: f64,
}

impl From<Window> for Rate {
    fn from(window: Window) -> Self {
        Self { frames: window.frames, seconds: window.seconds(), per_second: window.per_second() }
    }
}

/// Last line of `packet-send`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SendResult {
    pub event: &'static str,
    pub streams: BTreeMap<u16, HandedStream>,
    /// By the interface's counter, over the window after settling; None where it was not reached.
    pub left: Option<Rate>,
    /// What the kernel accepted over the same window.
    pub handed: Option<Rate>,
    /// Frames that left from before the first frame to a quiet time after the last, settling included.
    pub left_total: u64,
    pub buckets: Vec<SendBucket>,
    pub retries: Retries,
    pub tx_dropped: u64,
    pub counter_backward: bool,
    /// Frames per second and stream over the window, for comparison with `--rate`; None at `max`.
    pub achieved_rate: Option<f64>,
    /// Stopped early, or too late for its pace: not all that was planned was handed over.
    pub cut_short: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HandedStream {
    pub handed: u64,
    pub digest: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SendBucket {
    pub at_ns: u64,
    pub span_ns: u64,
    pub left: u64,
    pub handed: u64,
    pub settling: bool,
}

/// Calls after which the same frames went again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Retries {
    /// ENOBUFS or EAGAIN: no room at the interface or in the send buffer.
    pub enobufs: u64,
}

impl SendResult {
    #[must_use]
    pub fn new(sent: &Sent, paced: bool) -> Self {
        let streams = (0..)
            .zip(&sent.streams)
            .map(|(n, (handed, digest))| {
                (n, HandedStream { handed: *handed, digest: digest.map(|digest| digest.hex()) })
            })
            .collect();
        let per_stream = |window: Window| window.per_second() / sent.streams.len().max(1) as f64;
        Self {
            event: "result",
            streams,
            left: sent.left.map(Rate::from),
            handed: sent.handed.map(Rate::from),
            left_total: sent.left_total,
            buckets: sent.spans.iter().map(SendBucket::from).collect(),
            retries: Retries { enobufs: sent.no_room },
            tx_dropped: sent.tx_dropped,
            counter_backward: sent.backward_steps > 0,
            achieved_rate: sent.handed.filter(|_| paced).map(per_stream),
            cut_short: sent.cut_short,
        }
    }
}

impl From<&Span> for SendBucket {
    fn from(span: &Span) -> Self {
        let Span { at_ns, span_ns, left, handed, settling } = *span;
        Self { at_ns, span_ns, left, handed, settling }
    }
}

/// Last line of `packet-receive`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReceiveResult {
    pub event: &'static str,
    pub streams: BTreeMap<u16, ReceivedStream>,
    pub foreign: u64,
    /// Frames for which the ring had no room; each of ours is also among `lost`.
    pub kernel_drops: u64,
    /// New intact frames from the settle time to the last bucket that the traffic filled; None where
    /// no whole bucket lies between, or the clock of the stamps was set meanwhile.
    pub rx_rate: Option<Rate>,
    pub buckets: Vec<ReceiveBucket>,
    pub ring_bytes: usize,
    /// `software`: by the kernel when it took the frame, never by the card.
    pub stamps: &'static str,
    pub clock_was_set: bool,
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
    /// Stamps of the first and last own frame, nanoseconds since 1970.
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReceiveBucket {
    pub at_ns: u64,
    pub span_ns: u64,
    pub frames: u64,
    pub settling: bool,
}

impl From<&StreamReceived> for ReceivedStream {
    fn from(stream: &StreamReceived) -> Self {
        let (account, counts) = (&stream.account, &stream.account.counts);
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
            digest: stream.digest.map(|digest| digest.hex()),
            first_ns: account.first_ns,
            last_ns: account.last_ns,
        }
    }
}

impl From<StampBucket> for ReceiveBucket {
    fn from(bucket: StampBucket) -> Self {
        let StampBucket { at_ns, span_ns, frames, settling } = bucket;
        Self { at_ns, span_ns, frames, settling }
    }
}
