//! What a reader of a run's numbers must know, from what its roles told.

use std::collections::BTreeMap;

use serde_json::Value;

use super::delivery::{is_set, result};
use super::direction::Direction;
use super::packets::{COUNTERS, Offer};
use crate::evidence::event::RoleNote;
use crate::model::workload::{PacketWork, Stamps};

/// Below this a link may not have settled; a lab that needs less declares it, and it is printed.
pub const SETTLE_MS: u64 = 5000;
/// A window this much longer than asked is told.
const LONGER: f64 = 1.02;
pub const HOST_BOUND: &str = "host-bound: the sender's own ceiling, not the wire, set the rate";
/// Counters that a healthy run moves: the first two count every frame that nobody listens for (IPv6 and
/// the like), and a full ring of a virtual link counts frames that then go again.
const HARMLESS: [&str; 3] = ["rx_dropped", "rx_nohandler", "tx_dropped"];
/// Parts of the names of counters that a healthy run does not move.
const FAULTY: [&str; 11] =
    ["err", "crc", "drop", "miss", "fifo", "no_buf", "nobuf", "discard", "fail", "collision", "abort"];

/// What the kernel writes when a receiver begins and ends.
const PROMISCUOUS: &str = "promiscuous mode";

/// General sentence to what was seen.
pub type Cautions = BTreeMap<String, String>;

/// All that one timed pass gives ground for.
pub fn cautions(work: &PacketWork, offer: Offer, notes: &[RoleNote]) -> Cautions {
    let mut found = Cautions::new();
    if work.settle_ms < SETTLE_MS {
        let seen = format!("{} ms", work.settle_ms);
        found.insert(format!("settled for less than the default of {} s", SETTLE_MS / 1000), seen);
    }
    if work.stamps == Some(Stamps::Software) {
        let stampers: Vec<&str> = Direction::of(work)
            .iter()
            .filter_map(|direction| result(notes, direction.receiver())?.get("stamped_by")?.as_str())
            .collect();
        let seen = if stampers.is_empty() {
            "by the kernel".to_owned()
        } else {
            format!("by the {}", stampers.join(", "))
        };
        found.insert("stamps of received frames are software stamps".to_owned(), seen);
    }
    for direction in Direction::of(work) {
        one_way(offer, notes, *direction, &mut found);
    }
    for note in notes.iter().filter(|note| COUNTERS.contains(&note.role.as_str())) {
        if let Some(result) = &note.report.result {
            counters(note, result, &mut found);
        }
    }
    found
}

fn one_way(offer: Offer, notes: &[RoleNote], direction: Direction, found: &mut Cautions) {
    let sent = result(notes, direction.sender());
    if sent.and_then(|sent| sent.get("bound_by")).and_then(Value::as_str) == Some("host") {
        let rate = sent.and_then(|sent| sent.pointer("/handed/per_second")).and_then(Value::as_f64);
        let seen = rate.map_or(String::new(), |rate| format!(" at {rate:.0} frames/s"));
        note(found, HOST_BOUND, &format!("{}{seen}", direction.sender()));
    }
    let asked = offer.duration_ms as f64 / 1e3;
    if let Some(seconds) = sent.and_then(|sent| sent.pointer("/handed/seconds")).and_then(Value::as_f64)
        && seconds > asked * LONGER
    {
        let seen = format!("{} took {seconds:.3} s, asked were {asked:.3} s", direction.sender());
        note(found, "sending took longer than asked", &seen);
    }
    if is_set(sent, "counter_backward") {
        note(found, "a counter went backward, which adds nothing", direction.sender());
    }
    let received = result(notes, direction.receiver());
    if let Some(foreign) = received.and_then(|r| r.get("foreign")).and_then(Value::as_u64).filter(|n| *n > 0)
    {
        let kinds = received.and_then(|r| r.get("foreign_kinds")).and_then(Value::as_object);
        let kinds: Vec<String> = kinds
            .into_iter()
            .flatten()
            .filter(|(_, count)| count.as_u64() != Some(0))
            .map(|(kind, count)| format!("{} {count}", kind.replace('_', " ")))
            .collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        note(
            found,
            "foreign frames reached a receiver",
            &format!("{}: {foreign}{kinds}", direction.receiver()),
        );
    }
}

fn counters(role: &RoleNote, result: &Value, found: &mut Cautions) {
    let interface = result.get("interface").and_then(Value::as_str).unwrap_or("?");
    let place = format!("{interface} on {}", role.host);
    let moved: Vec<String> = ["kernel", "driver"]
        .iter()
        .filter_map(|set| result.get(*set)?.as_object())
        .flatten()
        .filter(|(name, change)| is_faulty(name) && change.as_u64().is_some_and(|change| change > 0))
        .map(|(name, change)| format!("{name} +{change}"))
        .collect();
    if !moved.is_empty() {
        note(found, "an error counter of a port moved", &format!("{} of {place}", moved.join(", ")));
    }
    let backward = result.get("backward").and_then(Value::as_array).map_or(0, Vec::len);
    if backward > 0 {
        note(found, "a counter went backward, which adds nothing", &place);
    }
    let log = result.get("kernel_log");
    let lines = log.and_then(|log| log.get("lines")).and_then(Value::as_array);
    // A receiver's own doing; the line stays in the record.
    let told = lines.into_iter().flatten().filter_map(Value::as_str).find(|line| !line.contains(PROMISCUOUS));
    if let Some(line) = told {
        note(found, "the kernel wrote to its log meanwhile", &format!("{}: {line}", role.host));
    }
    if let Some(why) = log.and_then(|log| log.get("unreadable")).and_then(Value::as_str) {
        note(found, "new lines of the kernel's log could not be read", &format!("{}: {why}", role.host));
    }
}

/// Whether a counter tells of frames that came to harm.
fn is_faulty(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !HARMLESS.contains(&name.as_str()) && FAULTY.iter().any(|part| name.contains(part))
}

fn note(found: &mut Cautions, what: &str, seen: &str) {
    let entry = found.entry(what.to_owned()).or_default();
    if entry.is_empty() {
        seen.clone_into(entry);
    } else if !entry.split("; ").any(|known| known == seen) {
        entry.push_str("; ");
        entry.push_str(seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_counters_of_harm_are_cautioned_about() {
        for name in [
            "rx_crc_errors",
            "rx_missed_errors",
            "rx_no_buffer_count",
            "port.rx_discards",
            "tx_aborted_errors",
        ] {
            assert!(is_faulty(name), "{name}");
        }
        for name in ["rx_packets", "rx_dropped", "rx_nohandler", "tx_bytes", "rx_queue_0_xdp_packets"] {
            assert!(!is_faulty(name), "{name}");
        }
    }
}
