//! The JSON shape of a receiver's result.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::packet::buckets::StampBucket;
use crate::packet::receiver::StreamReceived;
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
