//! The JSON shapes of the packet tools' results.

use std::collections::BTreeMap;

use serde::Serialize;

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
