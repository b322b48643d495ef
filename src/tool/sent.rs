//! The JSON shape of a sender's result, and its plain text.

use std::collections::BTreeMap;

use serde::Serialize;

use super::result::Rate;
use super::way_out::{Path, XdpShape};
use crate::model::frame_size::Sizes;
use crate::nic::clock_identity::ClockIdentity;
use crate::packet::bound::BoundBy;
use crate::packet::sender::Sent;
use crate::packet::watch::Span;
use crate::packet::window::Window;

/// Last line of `packet-send`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SendResult {
    pub event: &'static str,
    pub path: Path,
    /// As declared; taken in turn by sequence number.
    pub frame_sizes: String,
    /// Mean bytes of a frame with FCS over a whole turn.
    pub mean_frame_bytes: f64,
    /// The queue of each stream; None where the kernel chooses by the sending CPU.
    pub queues: Option<Vec<u32>>,
    /// The CPU of each sending thread; None where none was asked for.
    pub cpus: Option<Vec<usize>>,
    pub xdp: Option<XdpShape>,
    /// Whose time the frames carry; None where they carry none.
    pub clock: Option<ClockIdentity>,
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
    /// What set the rate: the pace that was asked for, the interface, or the sending host.
    pub bound_by: BoundBy,
    /// Stopped early, or too late for its pace: not all that was planned was handed over.
    pub cut_short: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HandedStream {
    pub handed: u64,
    pub digest: Option<String>,
    /// Frames per second that the kernel accepted over the window; None where it was not reached.
    pub achieved: Option<f64>,
    /// From the start of the run until the kernel accepted the last frame.
    pub took_seconds: f64,
    /// Behind its pace at its end; None at `max`.
    pub late_seconds: Option<f64>,
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
    /// ENOBUFS or EAGAIN, or a full ring: no room at the interface or in the send buffer.
    pub enobufs: u64,
}

/// How it was sent, as far as the result tells.
#[derive(Debug, Clone)]
pub struct Setting {
    pub path: Path,
    pub sizes: Sizes,
    pub queues: Option<Vec<u32>>,
    /// Empty where none was asked for.
    pub cpus: Vec<usize>,
    pub xdp: Option<XdpShape>,
    pub clock: Option<ClockIdentity>,
}

impl SendResult {
    #[must_use]
    pub fn new(setting: Setting, sent: &Sent, paced: bool) -> Self {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let streams = sent.streams.iter().zip(&sent.windows.streams).map(|(stream, window)| {
            let handed = HandedStream {
                handed: stream.handed,
                digest: stream.digest.map(|digest| digest.hex()),
                achieved: window.map(|window| window.per_second()),
                took_seconds: seconds(stream.took_ns),
                late_seconds: stream.spent.late_ns.map(seconds),
            };
            (stream.stream, handed)
        });
        let per_stream = |window: Window| window.per_second() / sent.streams.len().max(1) as f64;
        Self {
            event: "result",
            path: setting.path,
            frame_sizes: setting.sizes.to_string(),
            mean_frame_bytes: setting.sizes.mean_bytes(),
            queues: setting.queues,
            cpus: Some(setting.cpus).filter(|cpus| !cpus.is_empty()),
            xdp: setting.xdp,
            clock: setting.clock,
            streams: streams.collect(),
            left: sent.windows.left.map(Rate::from),
            handed: sent.windows.handed.map(Rate::from),
            left_total: sent.left_total,
            buckets: sent.spans.iter().map(SendBucket::from).collect(),
            retries: Retries { enobufs: sent.no_room },
            tx_dropped: sent.tx_dropped,
            counter_backward: sent.backward_steps > 0,
            achieved_rate: sent.windows.handed.filter(|_| paced).map(per_stream),
            bound_by: sent.bound_by,
            cut_short: sent.cut_short,
        }
    }

    /// For people.
    #[must_use]
    pub fn plain(&self) -> String {
        let handed: u64 = self.streams.values().map(|stream| stream.handed).sum();
        let mut lines = vec![format!(
            "handed to the kernel  {handed} frames, {} left the interface, {} dropped there",
            self.left_total, self.tx_dropped
        )];
        if let Some(left) = self.left {
            let mbits = left.per_second * self.mean_frame_bytes * 8.0 / 1e6;
            lines.push(format!(
                "rate in the window    {:.0} frames/s, {mbits:.0} Mbit/s of frames, over {:.3} s",
                left.per_second, left.seconds
            ));
        }
        for (stream, of) in self.streams.iter().filter(|_| self.streams.len() > 1) {
            let rate = of.achieved.map_or_else(String::new, |rate| format!(", {rate:.0} frames/s"));
            lines.push(format!("stream {stream:<15}{} frames{rate}, {:.3} s", of.handed, of.took_seconds));
        }
        lines.push(format!("no room, sent again   {} calls", self.retries.enobufs));
        lines.push(format!("the rate was set by   {}", bound(self.bound_by)));
        if self.counter_backward {
            lines.push("a counter of the interface went back: the rate is a lower bound".into());
        }
        if self.cut_short {
            lines.push("cut short: not all that was planned was handed over".into());
        }
        lines.join("\n")
    }
}

fn bound(by: BoundBy) -> &'static str {
    match by {
        BoundBy::Pace => "the pace that was asked for",
        BoundBy::Interface => "the interface, which had no room for more",
        BoundBy::Host => "this host, which brought no more: it is no limit of the link",
    }
}

impl From<&Span> for SendBucket {
    fn from(span: &Span) -> Self {
        let Span { at_ns, span_ns, left, handed, settling } = *span;
        Self { at_ns, span_ns, left, handed, settling }
    }
}
