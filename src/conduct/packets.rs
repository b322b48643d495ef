//! A `packets` cell as a receiver and a sender, and what their results prove and measure.

use std::collections::BTreeMap;

use serde_json::Value;

use super::pass::Role;
use crate::evidence::event::{RoleNote, Sample};
use crate::model::job::{JobSpec, Program, Stdin};
use crate::model::proof::Proof;
use crate::model::workload::PacketWork;

/// Output kept of a tool, in bytes: enough for any result line.
const KEEP: u64 = 256 * 1024;
/// Receive ring in MiB: about 80 ms of the largest frames at a million a second, so that a receiver
/// which shares its CPU loses none while it waits for its turn.
const RING_MIB: &str = "128";
/// Frame bytes on the wire beside the frame itself: preamble and start 8, gap 12 (IEEE 802.3).
const WIRE_OVERHEAD: f64 = 20.0;

/// Untimed: a fixed number of frames per stream, every byte of them digested at both ends.
pub fn proof_roles(work: &PacketWork, timeout_ms: u64) -> Vec<Role> {
    let frames = work.proof_frames.to_string();
    roles(work, timeout_ms, &["--digest"], &["--frames", &frames, "--digest"])
}

/// Timed: as long as declared, the same path as the proof.
pub fn timed_roles(work: &PacketWork, timeout_ms: u64) -> Vec<Role> {
    let (duration, settle) = (format!("{}ms", work.duration_ms), format!("{}ms", work.settle_ms));
    roles(work, timeout_ms, &["--settle", &settle], &["--duration", &duration, "--settle", &settle])
}

fn roles(work: &PacketWork, timeout_ms: u64, receive: &[&str], send: &[&str]) -> Vec<Role> {
    let shared = |tool: &str, interface: &str| -> Vec<String> {
        [tool, "--interface", interface, "--frame-size", &work.frame_size.to_string()]
            .into_iter()
            .map(String::from)
            .chain(["--streams".into(), work.streams.to_string(), "--seed".into(), work.seed.to_string()])
            .collect()
    };
    let mut receiver = shared("packet-receive", &work.rx_interface);
    receiver.extend(["--ring", RING_MIB].iter().chain(receive).map(|s| (*s).to_owned()));
    let mut sender = shared("packet-send", &work.tx_interface);
    let rate = work.rate.map_or("max".to_owned(), |r| r.to_string());
    sender.extend(["--batch".into(), work.batch.to_string(), "--rate".into(), rate]);
    sender.extend(send.iter().map(|s| (*s).to_owned()));
    vec![
        Role {
            name: "receive",
            host: work.rx.host.clone(),
            spec: tool(receiver, Stdin::Pipe, timeout_ms),
            after: None,
            told_by: Some(1),
        },
        Role {
            name: "send",
            host: work.tx.host.clone(),
            spec: tool(sender, Stdin::Empty, timeout_ms),
            after: Some(0),
            told_by: None,
        },
    ]
}

/// A built-in tool as a job.
pub(super) fn tool(args: Vec<String>, stdin: Stdin, deadline_ms: u64) -> JobSpec {
    JobSpec {
        program: Program::Tool(args),
        env: BTreeMap::new(),
        cwd: None,
        stdin,
        inputs: vec![],
        deadline_ms,
        keep_bytes: KEEP,
        speaks_events: true,
    }
}

const NO_RESULT: &str = "sender or receiver gave no result";

/// What one stream came to.
struct Stream {
    name: String,
    handed: u64,
    received: u64,
    intact: u64,
    lost: u64,
    duplicated: u64,
    reordered: u64,
    corrupted: u64,
    /// Came so late that its place in the ledger was given up, or beyond what was sent.
    stray: u64,
    sent_digest: Option<String>,
    received_digest: Option<String>,
}

fn streams(notes: &[RoleNote]) -> Vec<Stream> {
    let (Some(received), Some(sent)) = (result(notes, "receive"), result(notes, "send")) else {
        return vec![];
    };
    let Some(per_stream) = sent.get("streams").and_then(Value::as_object) else { return vec![] };
    per_stream
        .iter()
        .map(|(name, handed)| {
            let seen = received.get("streams").and_then(|s| s.get(name));
            let count = |key: &str| seen.and_then(|s| s.get(key)).and_then(Value::as_u64).unwrap_or(0);
            let digest = |from: Option<&Value>| {
                from.and_then(|s| s.get("digest")).and_then(Value::as_str).map(String::from)
            };
            Stream {
                name: name.clone(),
                handed: handed.get("handed").and_then(Value::as_u64).unwrap_or(0),
                received: count("received"),
                intact: count("intact"),
                lost: count("lost"),
                duplicated: count("duplicated"),
                reordered: count("reordered"),
                corrupted: count("corrupted"),
                stray: count("too_late") + count("excess"),
                sent_digest: digest(Some(handed)),
                received_digest: digest(seen),
            }
        })
        .collect()
}

/// Proof of an untimed pass: what was sent decides the identity, what arrived is the answer.
pub fn proof(notes: &[RoleNote]) -> Proof {
    let mut proof = Proof::default();
    for s in streams(notes) {
        proof.identity.insert(format!("stream {} frames", s.name), s.handed.to_string());
        if let Some(digest) = &s.sent_digest {
            proof.identity.insert(format!("stream {} sent digest", s.name), digest.clone());
        }
        if let Some(digest) = &s.received_digest {
            proof.answer.insert(format!("stream {} received digest", s.name), digest.clone());
        }
    }
    proof.answer.extend(delivery(notes));
    add_programs(&mut proof, notes);
    proof
}

/// Proof of a timed pass: the number of frames is the result there, so only delivery is compared.
pub fn timed_proof(notes: &[RoleNote]) -> Proof {
    let mut proof = Proof::default();
    let streams = streams(notes);
    if streams.is_empty() {
        proof.answer.insert("result".into(), NO_RESULT.into());
    }
    for s in streams {
        let intact = if s.corrupted == 0 && s.duplicated == 0 {
            "intact, none twice".to_owned()
        } else {
            delivered(&s)
        };
        proof.answer.insert(format!("stream {} content", s.name), intact);
    }
    add_programs(&mut proof, notes);
    proof
}

/// The untimed pass must also carry the fact that the timed one is compared by.
fn delivery(notes: &[RoleNote]) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for s in streams(notes) {
        facts.insert(format!("stream {} delivery", s.name), delivered(&s));
        facts.insert(format!("stream {} content", s.name), "intact, none twice".to_owned());
    }
    facts
}

fn add_programs(proof: &mut Proof, notes: &[RoleNote]) {
    for note in notes {
        if let Some(program) = &note.report.program {
            proof.programs.insert(note.command.clone(), program.sha256.clone());
        }
    }
}

fn delivered(s: &Stream) -> String {
    if s.lost == 0 && s.duplicated == 0 && s.corrupted == 0 && s.received == s.handed && s.intact == s.handed
    {
        "every frame exactly once, intact".into()
    } else {
        format!(
            "{} sent, {} received, {} intact, {} lost, {} duplicated, {} reordered, {} corrupted, {} stray",
            s.handed, s.received, s.intact, s.lost, s.duplicated, s.reordered, s.corrupted, s.stray
        )
    }
}

/// What of the delivery is not exactly once; empty when it is.
pub fn delivery_faults(notes: &[RoleNote]) -> Vec<String> {
    let streams = streams(notes);
    if streams.is_empty() {
        return vec![NO_RESULT.into()];
    }
    let mut faults: Vec<String> = streams
        .iter()
        .filter(|s| delivered(s) != "every frame exactly once, intact")
        .map(|s| format!("stream {}: {}", s.name, delivered(s)))
        .collect();
    faults.extend(
        streams.iter().filter(|s| s.handed == 0).map(|s| format!("stream {}: no frame was sent", s.name)),
    );
    // Case P03: what the kernel accepted and what left the port are two numbers, and both must agree.
    let handed: u64 = streams.iter().map(|s| s.handed).sum();
    let sent = result(notes, "send");
    // A counter that went backward gives a lower bound, which accuses no frame.
    if let Some(left) = sent.and_then(|s| s.get("left_total")).and_then(Value::as_u64)
        && left < handed
        && !is_set(sent, "counter_backward")
    {
        faults.push(format!("{handed} frames were handed to the kernel, {left} left the port"));
    }
    if is_set(sent, "cut_short") {
        faults.push("the sender fell behind and was cut short: fewer frames were offered than asked".into());
    }
    if let Some(drops) = result(notes, "receive").and_then(|r| r.get("kernel_drops")).and_then(Value::as_u64)
        && drops > 0
        && !faults.is_empty()
    {
        faults.push(format!("{drops} frames were dropped by the receiver's kernel buffer"));
    }
    faults
}

/// Metric values of a timed pass and its readings over time.
pub fn values(
    work: &PacketWork,
    notes: &[RoleNote],
) -> (BTreeMap<String, f64>, BTreeMap<String, String>, Vec<Sample>) {
    let (mut values, mut absent, mut samples) = (BTreeMap::new(), BTreeMap::new(), vec![]);
    let (sent, received) = (result(notes, "send"), result(notes, "receive"));
    let number =
        |from: Option<&Value>, path: &str| from.and_then(|v| v.pointer(path)).and_then(Value::as_f64);
    let mut put = |name: &str, value: Option<f64>, why: &str| match value {
        Some(value) => drop(values.insert(name.to_owned(), value)),
        None => drop(absent.insert(name.to_owned(), why.to_owned())),
    };
    let backward = is_set(sent, "counter_backward");
    let left = if backward { None } else { number(sent, "/left/per_second") };
    let unsent = match sent {
        Some(_) => "sending ended before its window began",
        None => "the sender gave no result",
    };
    let why = if backward { "the port's counter went backward during the run" } else { unsent };
    put("tx_rate", left, why);
    put("tx_bits_l1", left.map(|r| r * (f64::from(work.frame_size) + WIRE_OVERHEAD) * 8.0), why);
    put("handed_rate", number(sent, "/handed/per_second"), unsent);
    let unseen = match received {
        Some(_) if is_set(received, "clock_was_set") => "the receiver's clock was set during the run",
        Some(_) => "the receiver saw no window of traffic",
        None => "the receiver gave no result",
    };
    put("rx_rate", number(received, "/rx_rate/per_second"), unseen);
    let lost = (!streams(notes).is_empty()).then(|| streams(notes).iter().map(|s| s.lost as f64).sum());
    put("lost", lost, NO_RESULT);
    let cpu = notes.iter().find(|n| n.role == "send").and_then(|n| n.report.user_ns.zip(n.report.system_ns));
    put(
        "sender_cpu_time",
        cpu.map(|(u, s)| (u + s) as f64 / 1e9),
        "the host gave no resource usage for this run",
    );
    for (metric, from, key) in
        [("tx_rate", sent, "left"), ("handed_rate", sent, "handed"), ("rx_rate", received, "frames")]
    {
        for bucket in from.and_then(|v| v.get("buckets")).and_then(Value::as_array).into_iter().flatten() {
            let span = bucket.get("span_ns").and_then(Value::as_f64).filter(|s| *s > 0.0);
            if let (Some(span), Some(count)) = (span, bucket.get(key).and_then(Value::as_f64)) {
                samples.push(Sample {
                    metric: metric.into(),
                    at_ns: bucket.get("at_ns").and_then(Value::as_u64).unwrap_or(0),
                    value: count * 1e9 / span,
                    settling: bucket.get("settling").and_then(Value::as_bool).unwrap_or(false),
                });
            }
        }
    }
    (values, absent, samples)
}

fn is_set(from: Option<&Value>, flag: &str) -> bool {
    from.and_then(|v| v.get(flag)).and_then(Value::as_bool) == Some(true)
}

fn result<'a>(notes: &'a [RoleNote], role: &str) -> Option<&'a Value> {
    notes.iter().find(|n| n.role == role)?.report.result.as_ref()
}
