//! What one timed pass of frames measured: metric values, readings over time, and why a value is missing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::delivery::{NO_RESULT, is_set, result, streams};
use super::direction::Direction;
use crate::evidence::event::{RoleNote, Sample};
use crate::model::workload::PacketWork;

/// Frame bytes on the wire beside the frame itself: preamble and start 8, gap 12 (IEEE 802.3).
const WIRE_OVERHEAD: f64 = 20.0;
const PERCENTILES: [(&str, &str); 3] =
    [("latency_p50", "p50"), ("latency_p99", "p99"), ("latency_p999", "p99.9")];

/// Metric values and why others are absent.
#[derive(Debug, Default)]
pub struct Values {
    pub values: BTreeMap<String, f64>,
    pub absent: BTreeMap<String, String>,
    pub samples: Vec<Sample>,
}

impl Values {
    pub fn put(&mut self, name: String, value: Option<f64>, why: &str) {
        match value {
            Some(value) => drop(self.values.insert(name, value)),
            None => drop(self.absent.insert(name, why.to_owned())),
        }
    }
}

/// Bits per second at layer 1, which counts preamble and gap.
pub fn bits_l1(work: &PacketWork, rate: f64) -> f64 {
    rate * (work.frame_size.mean_bytes() + WIRE_OVERHEAD) * 8.0
}

/// Bits per second at layer 2, with FCS.
pub fn bits_l2(work: &PacketWork, rate: f64) -> f64 {
    rate * work.frame_size.mean_bytes() * 8.0
}

/// Everything that a pass under one load yields.
pub fn values(work: &PacketWork, notes: &[RoleNote]) -> Values {
    let mut found = Values::default();
    for direction in Direction::of(work) {
        one_way(work, notes, *direction, &mut found);
    }
    found
}

fn one_way(work: &PacketWork, notes: &[RoleNote], direction: Direction, found: &mut Values) {
    let (sent, received) = (result(notes, direction.sender()), result(notes, direction.receiver()));
    let number =
        |from: Option<&Value>, path: &str| from.and_then(|v| v.pointer(path)).and_then(Value::as_f64);
    let name = |metric: &str| direction.metric(metric);
    let backward = is_set(sent, "counter_backward");
    let left = if backward { None } else { number(sent, "/left/per_second") };
    let unsent = match sent {
        Some(_) => "sending ended before its window began",
        None => "the sender gave no result",
    };
    let why = if backward { "the port's counter went backward during the run" } else { unsent };
    found.put(name("tx_rate"), left, why);
    found.put(name("tx_bits_l1"), left.map(|rate| bits_l1(work, rate)), why);
    found.put(name("handed_rate"), number(sent, "/handed/per_second"), unsent);
    let surplus = surplus(notes, direction);
    let unseen = match received {
        _ if work.stamps.is_none() => "the campaign asks for no stamps of received frames",
        _ if surplus.is_some() => surplus.as_deref().unwrap_or_default(),
        Some(_) if is_set(received, "clock_was_set") => "the receiver's clock was set during the run",
        Some(_) => "the receiver saw no window of traffic",
        None => "the receiver gave no result",
    };
    let stamped = received.filter(|_| work.stamps.is_some() && surplus.is_none());
    found.put(name("rx_rate"), number(stamped, "/rx_rate/per_second"), unseen);
    let streams = streams(notes, direction);
    let lost = (!streams.is_empty()).then(|| streams.iter().map(|s| s.lost as f64).sum());
    found.put(name("lost"), lost, NO_RESULT);
    cpu_times(notes, direction, found);
    if work.latency && direction == Direction::Forward {
        latency(received, found);
    }
    for (metric, from, key) in
        [("tx_rate", sent, "left"), ("handed_rate", sent, "handed"), ("rx_rate", stamped, "frames")]
    {
        found.samples.extend(buckets(&name(metric), from, key));
    }
}

/// CPU time of both processes, as their host accounts for it.
pub fn cpu_times(notes: &[RoleNote], direction: Direction, found: &mut Values) {
    for (metric, role) in
        [("sender_cpu_time", direction.sender()), ("receiver_cpu_time", direction.receiver())]
    {
        let of = notes.iter().find(|n| n.role == role).and_then(|n| n.report.user_ns.zip(n.report.system_ns));
        let seconds = of.map(|(user, system)| (user + system) as f64 / 1e9);
        found.put(direction.metric(metric), seconds, "the host gave no resource usage for this run");
    }
}

/// More received than sent: the counts contradict each other, and no rate follows from them.
fn surplus(notes: &[RoleNote], direction: Direction) -> Option<String> {
    let streams = streams(notes, direction);
    let (sent, seen) =
        (streams.iter().map(|s| s.handed).sum::<u64>(), streams.iter().map(|s| s.received).sum::<u64>());
    (seen > sent).then(|| format!("{seen} frames were received and only {sent} were sent"))
}

/// The slowest stream decides: percentiles of streams cannot be joined.
fn latency(received: Option<&Value>, found: &mut Values) {
    let streams = received.and_then(|r| r.get("streams")).and_then(Value::as_object);
    for (metric, percentile) in PERCENTILES {
        let mut slowest: Option<f64> = None;
        let mut why = None;
        for stream in streams.into_iter().flat_map(|streams| streams.values()) {
            match stream.pointer(&format!("/latency/percentiles/{percentile}")).and_then(Value::as_f64) {
                Some(ns) => slowest = Some(slowest.unwrap_or(0.0).max(ns / 1e9)),
                None => {
                    let reason = stream.pointer(&format!("/latency/absent/{percentile}"));
                    let reason = reason.or(stream.get("latency_absent")).and_then(Value::as_str);
                    why = Some(reason.unwrap_or("the receiver gave no latency").to_owned());
                }
            }
        }
        let complete = slowest.filter(|_| why.is_none());
        found.put(metric.to_owned(), complete, &why.unwrap_or_else(|| NO_RESULT.to_owned()));
    }
}

fn buckets(metric: &str, from: Option<&Value>, key: &str) -> Vec<Sample> {
    let buckets = from.and_then(|v| v.get("buckets")).and_then(Value::as_array);
    let sample = |bucket: &Value| {
        let span = bucket.get("span_ns").and_then(Value::as_f64).filter(|span| *span > 0.0)?;
        let count = bucket.get(key).and_then(Value::as_f64)?;
        Some(Sample {
            metric: metric.into(),
            at_ns: bucket.get("at_ns").and_then(Value::as_u64).unwrap_or(0),
            value: count * 1e9 / span,
            settling: bucket.get("settling").and_then(Value::as_bool).unwrap_or(false),
            step: None,
        })
    };
    buckets.into_iter().flatten().filter_map(sample).collect()
}
