//! The proof that streams arrive on the queues that they are steered to, before anything is timed.

use super::direction::Direction;
use super::lab::Lab;
use super::packets::tool;
use super::pass::{self, Trouble};
use super::role::{Ends, Role};
use super::run::{ProofFault, Proven};
use super::watch::Stop;
use crate::design::plan::Plan;
use crate::model::job::Stdin;
use crate::model::proof::Proof;
use crate::model::workload::{PacketWork, Work};
use crate::verify::{Difference, Texts};

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
    Some(Proven { proof: Proof::default(), texts: Texts::new(), roles: end.roles, fault: Some(fault) })
}

/// The queues of every receiving port are watched before the first frame is sent.
fn roles(work: &PacketWork, queues: &str, timeout_ms: u64) -> Vec<Role> {
    let words = |text: &[&str]| -> Vec<String> { text.iter().map(|word| (*word).to_owned()).collect() };
    let (directions, streams) = (Direction::of(work), work.streams.to_string());
    let watch = |(at, direction): (usize, &Direction)| {
        let (port, interface) = direction.to(work);
        let watch = ["flow-rules", "prove", "--port", interface, "--streams", &streams, "--queues", queues];
        Role {
            ends: Ends::Told(vec![directions.len() + at]),
            ..Role::new(direction.watcher(), &port.host, tool(words(&watch), Stdin::Pipe, timeout_ms))
        }
    };
    let send = |direction: &Direction| {
        let ((port, interface), seed) = (direction.from(work), direction.seed(work).to_string());
        let mut send = words(&["packet-send", "--interface", interface, "--streams", &streams]);
        send.extend(words(&[
            "--seed",
            &seed,
            "--frame-size",
            FRAME_SIZE,
            "--frames",
            FRAMES,
            "--rate",
            RATE,
        ]));
        Role {
            after: (0..directions.len()).collect(),
            ..Role::new(direction.sender(), &port.host, tool(send, Stdin::Empty, timeout_ms))
        }
    };
    directions.iter().enumerate().map(watch).chain(directions.iter().map(send)).collect()
}
