//! What the results of senders and receivers say of every frame: the proof of a cell, and its faults.

use serde_json::Value;

use super::direction::Direction;
use crate::evidence::event::RoleNote;
use crate::model::proof::Proof;
use crate::model::workload::PacketWork;

/// Why nothing can be said of the frames.
pub const NO_RESULT: &str = "sender or receiver gave no result";
const CLEAN: &str = "every frame exactly once, intact";
const WHOLE: &str = "intact, none twice";

/// What one stream came to.
#[derive(Debug)]
pub struct Stream {
    pub name: String,
    pub handed: u64,
    pub received: u64,
    intact: u64,
    pub lost: u64,
    duplicated: u64,
    reordered: u64,
    corrupted: u64,
    /// Came so late that its place in the ledger was given up, or beyond what was sent.
    stray: u64,
    sent_digest: Option<String>,
    received_digest: Option<String>,
}

/// Every stream of one direction; empty where a role gave no result.
pub fn streams(notes: &[RoleNote], direction: Direction) -> Vec<Stream> {
    let (Some(received), Some(sent)) =
        (result(notes, direction.receiver()), result(notes, direction.sender()))
    else {
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
                name: direction.stream(name),
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
pub fn proof(work: &PacketWork, notes: &[RoleNote]) -> Proof {
    let mut proof = Proof::default();
    for s in all(work, notes) {
        proof.identity.insert(format!("{} frames", s.name), s.handed.to_string());
        if let Some(digest) = &s.sent_digest {
            proof.identity.insert(format!("{} sent digest", s.name), digest.clone());
        }
        if let Some(digest) = &s.received_digest {
            proof.answer.insert(format!("{} received digest", s.name), digest.clone());
        }
        proof.answer.insert(format!("{} delivery", s.name), delivered(&s));
        // The untimed pass must also carry the fact that the timed one is compared by.
        proof.answer.insert(format!("{} content", s.name), WHOLE.to_owned());
    }
    add_programs(&mut proof, notes);
    proof
}

/// Proof of a timed pass: the number of frames is the result there, so only their content is compared.
pub fn timed_proof(work: &PacketWork, notes: &[RoleNote]) -> Proof {
    let mut proof = Proof::default();
    for direction in Direction::of(work) {
        let streams = streams(notes, *direction);
        if streams.is_empty() {
            proof.answer.insert(direction.metric("result"), NO_RESULT.into());
        }
        for s in streams {
            let whole = s.corrupted == 0 && s.duplicated == 0;
            let content = if whole { WHOLE.to_owned() } else { delivered(&s) };
            proof.answer.insert(format!("{} content", s.name), content);
        }
    }
    add_programs(&mut proof, notes);
    proof
}

fn all(work: &PacketWork, notes: &[RoleNote]) -> Vec<Stream> {
    Direction::of(work).iter().flat_map(|direction| streams(notes, *direction)).collect()
}

fn add_programs(proof: &mut Proof, notes: &[RoleNote]) {
    let frames =
        notes.iter().filter(|note| note.role.starts_with("send") || note.role.starts_with("receive"));
    for note in frames {
        if let Some(program) = &note.report.program {
            proof.programs.insert(note.command.clone(), program.sha256.clone());
        }
    }
}

fn delivered(s: &Stream) -> String {
    if s.lost == 0 && s.duplicated == 0 && s.corrupted == 0 && s.received == s.handed && s.intact == s.handed
    {
        CLEAN.into()
    } else {
        format!(
            "{} sent, {} received, {} intact, {} lost, {} duplicated, {} reordered, {} corrupted, {} stray",
            s.handed, s.received, s.intact, s.lost, s.duplicated, s.reordered, s.corrupted, s.stray
        )
    }
}

/// What of the delivery is not exactly once, in any direction; empty when it is.
pub fn faults(work: &PacketWork, notes: &[RoleNote]) -> Vec<String> {
    Direction::of(work).iter().flat_map(|direction| one_way(notes, *direction)).collect()
}

fn one_way(notes: &[RoleNote], direction: Direction) -> Vec<String> {
    let mut faults = undelivered(notes, direction);
    let (sender, receiver) = (direction.sender(), direction.receiver());
    if is_set(result(notes, sender), "cut_short") {
        faults.push(format!(
            "{sender}: the sender fell behind and was cut short: fewer frames were offered than asked"
        ));
    }
    if let Some(drops) = result(notes, receiver).and_then(|r| r.get("kernel_drops")).and_then(Value::as_u64)
        && drops > 0
        && !faults.is_empty()
    {
        faults.push(format!("{receiver}: {drops} frames were dropped by the receiver's kernel buffer"));
    }
    faults
}

/// Whether everything that was handed over arrived exactly once and intact, in every direction.
pub fn is_clean(work: &PacketWork, notes: &[RoleNote]) -> bool {
    Direction::of(work).iter().all(|direction| undelivered(notes, *direction).is_empty())
}

/// What was handed over and did not arrive exactly once and intact.
fn undelivered(notes: &[RoleNote], direction: Direction) -> Vec<String> {
    let streams = streams(notes, direction);
    if streams.is_empty() {
        return vec![NO_RESULT.into()];
    }
    let mut faults: Vec<String> = streams
        .iter()
        .filter(|s| delivered(s) != CLEAN)
        .map(|s| format!("{}: {}", s.name, delivered(s)))
        .collect();
    faults.extend(streams.iter().filter(|s| s.handed == 0).map(|s| format!("{}: no frame was sent", s.name)));
    // Case P03: what the kernel accepted and what left the port are two numbers, and both must agree.
    let handed: u64 = streams.iter().map(|s| s.handed).sum();
    let sender = direction.sender();
    let sent = result(notes, sender);
    // A counter that went backward gives a lower bound, which accuses no frame.
    if let Some(left) = sent.and_then(|s| s.get("left_total")).and_then(Value::as_u64)
        && left < handed
        && !is_set(sent, "counter_backward")
    {
        faults.push(format!("{sender}: {handed} frames were handed to the kernel, {left} left the port"));
    }
    faults
}

pub fn is_set(from: Option<&Value>, flag: &str) -> bool {
    from.and_then(|v| v.get(flag)).and_then(Value::as_bool) == Some(true)
}

/// The result that a role's tool gave.
pub fn result<'a>(notes: &'a [RoleNote], role: &str) -> Option<&'a Value> {
    notes.iter().find(|n| n.role == role)?.report.result.as_ref()
}
