//! The proof that streams arrive on the queues that they are steered to, before anything is timed.

use super::lab::Lab;
use super::packets::tool;
use super::pass::{self, Role, Trouble};
use super::run::{ProofFault, Proven};
use super::watch::Stop;
use crate::design::plan::Plan;
use crate::model::job::Stdin;
use crate::model::proof::Proof;
use crate::model::workload::{PacketWork, Work};
use crate::verify::Difference;

/// Frames per stream, and per second: a rule steers all of a stream or none of it.
const FRAMES: &str = "200";
const RATE: &str = "2000";
/// Of the largest size, since the receiver tells a frame's queue by where the frame is cut.
const FRAME_SIZE: &str = "1518";
const REASON: &str = "its streams do not arrive on the queues that they are steered to";

/// Sends some frames of each stream and watches their queues. None where the cell steers nothing, or
/// every stream is where it should be.
pub fn astray(
    lab: &mut dyn Lab,
    plan: &Plan,
    cell: u64,
    work: &Work,
    stop: &dyn Fn() -> Stop,
) -> Option<Proven> {
    let Work::Packets(work) = work else { return None };
    // A value that does not fit was refused when the hosts were prepared.
    let queues = plan.steer(cell, work.streams).ok().flatten()?;
    let end = pass::run(lab, &roles(work, &queues, plan.campaign.timeout_ms), stop);
    let fault = match end.trouble? {
        Trouble::Lost(why) => ProofFault::Lost(why),
        Trouble::Interrupted(_) => ProofFault::Interrupted,
        Trouble::TimedOut(why) | Trouble::Failed(why) | Trouble::Refused(why) => {
            let evidence = why.lines().map(str::to_owned).collect();
            ProofFault::Refuse("proof", Difference { reason: REASON.to_owned(), evidence })
        }
    };
    Some(Proven { proof: Proof::default(), roles: end.roles, fault: Some(fault) })
}

fn roles(work: &PacketWork, queues: &str, timeout_ms: u64) -> Vec<Role> {
    let words = |text: &[&str]| -> Vec<String> { text.iter().map(|word| (*word).to_owned()).collect() };
    let (streams, seed) = (work.streams.to_string(), work.seed.to_string());
    let watch =
        ["flow-rules", "prove", "--port", &work.rx_interface, "--streams", &streams, "--queues", queues];
    let mut send = words(&["packet-send", "--interface", &work.tx_interface, "--streams", &streams]);
    send.extend(words(&["--seed", &seed, "--frame-size", FRAME_SIZE, "--frames", FRAMES, "--rate", RATE]));
    vec![
        Role {
            name: "watch-queues",
            host: work.rx.host.clone(),
            spec: tool(words(&watch), Stdin::Pipe, timeout_ms),
            after: vec![],
            told_by: vec![1],
        },
        Role {
            name: "send",
            host: work.tx.host.clone(),
            spec: tool(send, Stdin::Empty, timeout_ms),
            after: vec![0],
            told_by: vec![],
        },
    ]
}
