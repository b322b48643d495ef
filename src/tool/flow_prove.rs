//! The proof of steering: each stream is seen to arrive on the queue that it was steered to.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use serde::Serialize;
use serde_json::json;

use super::input::{Heard, Input};
use super::packet_send::running;
use super::stop::Stop;
use super::voice::{Fault, Voice};
use crate::model::flow_rule::{ETHERTYPE_BASE, FlowRule};
use crate::nic::card::Card;
use crate::nic::clock::monotonic_ns;
use crate::nic::flow_apply::FlowDriver;
use crate::nic::flow_bytes::{emit, text};
use crate::nic::flow_error::beside_known_good;
use crate::nic::flow_port::FlowPort;
use crate::packet::queue_watch::QueueWatch;

const LINK_LIMIT_NS: u64 = 5_000_000_000;
const POLL_MS: i32 = 20;
/// Quiet after the end of sending that ends the watch: far longer than a frame needs on a cable.
const QUIET_NS: u64 = 200_000_000;
/// Frames taken in a row before signals and input are looked at.
const MOST_FRAMES: usize = 1024;

/// Frames by stream and queue; `none` where the driver notes no queue.
pub type Arrivals = BTreeMap<u16, BTreeMap<String, u64>>;

#[derive(Debug, Serialize)]
struct Proof<'a> {
    event: &'static str,
    port: &'a str,
    /// The queue that each stream is expected on.
    expected: BTreeMap<usize, u32>,
    arrivals: &'a Arrivals,
}

/// Watches until the sender has ended, and compares.
///
/// # Errors
/// A stream did not arrive, or not on its queue alone.
pub fn prove(port: &str, queues: &[u32], voice: Voice) -> Result<(), Fault> {
    let interface = running(port, LINK_LIMIT_NS)?;
    let driver = Card::open(port).map_err(Fault::bad_input)?.driver().unwrap_or_default();
    let mut stop = Stop::install().map_err(Fault::failed)?;
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(Fault::failed)?;
    let mut watch = QueueWatch::open(&interface, &driver).map_err(Fault::failed)?;
    voice.say(&json!({"event": "ready"}), || {
        format!("watching the queues of {port}; start the sender, and press Ctrl-C when it has ended")
    });
    let arrivals = watch_until_quiet(&mut watch, Input::new(input), &mut stop)?;
    let faults = faults(queues, &arrivals);
    if !faults.is_empty() {
        let evidence = evidence(port, queues, &arrivals);
        return Err(Fault::Refused(format!("steering is not proven: {}\n{evidence}", faults.join("; "))));
    }
    let expected = queues.iter().copied().enumerate().collect();
    voice.say(&Proof { event: "result", port, expected, arrivals: &arrivals }, || {
        format!("proven: every frame of {} streams came on the queue of its stream", queues.len())
    });
    Ok(())
}

fn watch_until_quiet(watch: &mut QueueWatch, mut input: Input, stop: &mut Stop) -> Result<Arrivals, Fault> {
    let mut arrivals = Arrivals::new();
    let mut ended_ns = None;
    loop {
        let fds = [watch.as_fd().as_raw_fd(), input.poll_fd(), stop.as_fd().as_raw_fd()];
        let mut polls = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        // SAFETY: pointer and length describe `polls`.
        unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, POLL_MS) };
        let mut taken = 0;
        while taken < MOST_FRAMES
            && let Some((stream, queue)) = watch.take().map_err(Fault::failed)?
        {
            let queue = queue.map_or_else(|| "none".to_owned(), |queue| queue.to_string());
            *arrivals.entry(stream).or_default().entry(queue).or_default() += 1;
            taken += 1;
        }
        let now = monotonic_ns();
        let heard =
            if polls[1].revents == 0 { Heard::Nothing } else { input.read().map_err(Fault::BadInput)? };
        if stop.asked() || heard != Heard::Nothing || taken > 0 && ended_ns.is_some() {
            ended_ns = Some(now);
        }
        if ended_ns.is_some_and(|ended_ns| now - ended_ns >= QUIET_NS) {
            return Ok(arrivals);
        }
    }
}

/// One sentence for each stream that is not where it should be.
fn faults(queues: &[u32], arrivals: &Arrivals) -> Vec<String> {
    let fault = |(stream, queue): (u16, &u32)| {
        let ethertype = ETHERTYPE_BASE + stream;
        let name = format!("stream {stream} (ethertype {ethertype:#06x})");
        match arrivals.get(&stream) {
            None => Some(format!("{name} did not arrive at all, expected on queue {queue}")),
            Some(seen) if seen.keys().all(|seen| *seen == queue.to_string()) => None,
            Some(seen) => {
                let seen: Vec<String> =
                    seen.iter().map(|(queue, frames)| format!("{frames} frames on queue {queue}")).collect();
                Some(format!("{name} was expected on queue {queue}, found {}", seen.join(" and ")))
            }
        }
    };
    (0..).zip(queues).filter_map(fault).collect()
}

/// The rule of the first stream that went astray, as the card has it, beside one that is known to steer.
fn evidence(port: &str, queues: &[u32], arrivals: &Arrivals) -> String {
    let astray = (0..).zip(queues).find(|(stream, queue)| {
        arrivals.get(stream).is_none_or(|seen| seen.keys().any(|seen| *seen != queue.to_string()))
    });
    let Some((stream, queue)) = astray else { return String::new() };
    let wanted = emit(&FlowRule::of_stream(stream, *queue));
    let table = match FlowPort::open(port).and_then(|mut port| port.table()) {
        Ok(table) => table,
        Err(error) => return format!("{port} has no rule for it: {error}"),
    };
    match table.rules.iter().find(|rule| rule.matches_like(&wanted)) {
        None => format!("{port} has no rule for it; next step: `fieldtrial tool flow-rules set`"),
        Some(rule) => format!("The card has the rule `{}`. {}", text(rule), beside_known_good(rule)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_on_other_queues_on_several_or_nowhere_are_each_said() {
        let on = |queues: &[(&str, u64)]| queues.iter().map(|(q, n)| ((*q).to_owned(), *n)).collect();
        let arrivals: Arrivals =
            [(0, on(&[("1", 5)])), (1, on(&[("1", 4), ("2", 1)])), (2, on(&[("none", 5)]))].into();
        let said = faults(&[1, 2, 3, 4], &arrivals);
        assert_eq!(
            said,
            [
                "stream 1 (ethertype 0x88b6) was expected on queue 2, found 4 frames on queue 1 and 1 frames on queue 2",
                "stream 2 (ethertype 0x88b7) was expected on queue 3, found 5 frames on queue none",
                "stream 3 (ethertype 0x88b8) did not arrive at all, expected on queue 4",
            ]
        );
        assert!(faults(&[1], &arrivals).is_empty());
    }
}
