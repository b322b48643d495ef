//! A `packets` cell as receivers, counters and senders, one receiver and one sender a direction.

use super::direction::Direction;
use super::role::{Ends, Role};
use crate::model::job::{JobSpec, Program, Stdin};
use crate::model::workload::{Load, PacketWork, RxPath, Stamps, TxPath};

/// Output kept of a tool, in bytes: enough for any result line.
const KEEP: u64 = 256 * 1024;
/// Between two readings of an interface's counters, which so short a reset cannot hide from.
const COUNTERS_EVERY: &str = "1s";
/// Roles that read the counters of the two interfaces while frames pass.
pub const COUNTERS: [&str; 2] = ["counters-tx", "counters-rx"];

/// One timed pass: how much is offered, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// Frames per second and stream; None is as fast as possible.
    pub rate: Option<f64>,
    pub duration_ms: u64,
    /// Every role of the pass is killed when it takes longer.
    pub deadline_ms: u64,
}

/// Untimed: a fixed number of frames per stream, every byte of them digested at both ends.
pub fn proof_roles(work: &PacketWork, deadline_ms: u64) -> Vec<Role> {
    let frames = work.proof_frames.to_string();
    roles(work, least(work), deadline_ms, &["--digest"], &["--frames", &frames, "--digest"])
}

/// The lowest load that the cell offers: what is proven is the work, and loss under more may be the answer.
pub fn least(work: &PacketWork) -> Option<f64> {
    match &work.load {
        Load::Steady(rate) => *rate,
        Load::List(steps) => steps.iter().copied().reduce(f64::min),
        // No slower than that the frames of the proof take a second.
        Load::Search(search) => Some(search.from.max(work.proof_frames as f64)),
    }
}

/// Timed: as long as offered, the same path as the proof, with the counters of both interfaces beside.
pub fn timed_roles(work: &PacketWork, offer: Offer) -> Vec<Role> {
    let (duration, settle) = (format!("{}ms", offer.duration_ms), format!("{}ms", work.settle_ms));
    let mut roles = roles(
        work,
        offer.rate,
        offer.deadline_ms,
        &["--settle", &settle],
        &["--duration", &duration, "--settle", &settle],
    );
    let senders = roles.split_off(Direction::of(work).len());
    let receivers: Vec<usize> = (0..roles.len()).collect();
    let ends = [Direction::Forward.from(work), Direction::Forward.to(work)];
    for (name, (port, interface)) in COUNTERS.into_iter().zip(ends) {
        let args = ["nic-counters", "--interface", interface, "--every", COUNTERS_EVERY, "--until-told"]
            .map(String::from);
        roles.push(Role {
            // The baseline comes after the sockets: without a listener every frame counts as dropped.
            after: receivers.clone(),
            ends: Ends::Told(receivers.clone()),
            ..Role::new(name, &port.host, tool(args.to_vec(), Stdin::Pipe, offer.deadline_ms))
        });
    }
    let before: Vec<usize> = (0..roles.len()).collect();
    let shift = COUNTERS.len();
    for role in &mut roles[..receivers.len()] {
        if let Ends::Told(senders) = &mut role.ends {
            senders.iter_mut().for_each(|sender| *sender += shift);
        }
    }
    roles.extend(senders.into_iter().map(|sender| Role { after: before.clone(), ..sender }));
    roles
}

/// Receivers first; all of them are ready before any sender starts, and the senders start together.
fn roles(
    work: &PacketWork,
    rate: Option<f64>,
    deadline_ms: u64,
    receive: &[&str],
    send: &[&str],
) -> Vec<Role> {
    let directions = Direction::of(work);
    let receivers: Vec<usize> = (0..directions.len()).collect();
    let mut roles = Vec::new();
    for (at, direction) in directions.iter().enumerate() {
        let args = with(receiver(work, *direction), receive);
        let host = &direction.to(work).0.host;
        roles.push(Role {
            ends: Ends::Told(vec![directions.len() + at]),
            ..Role::new(direction.receiver(), host, tool(args, Stdin::Pipe, deadline_ms))
        });
    }
    for direction in directions {
        let args = with(sender(work, *direction, rate), send);
        let host = &direction.from(work).0.host;
        roles.push(Role {
            after: receivers.clone(),
            ..Role::new(direction.sender(), host, tool(args, Stdin::Empty, deadline_ms))
        });
    }
    roles
}

fn with(mut args: Vec<String>, more: &[&str]) -> Vec<String> {
    args.extend(more.iter().map(|each| (*each).to_owned()));
    args
}

fn shared(tool: &str, interface: &str, work: &PacketWork, direction: Direction) -> Vec<String> {
    let (size, streams) = (work.frame_size.to_string(), work.streams.to_string());
    let seed = direction.seed(work).to_string();
    let args =
        [tool, "--interface", interface, "--frame-size", &size, "--streams", &streams, "--seed", &seed];
    args.map(String::from).to_vec()
}

fn receiver(work: &PacketWork, direction: Direction) -> Vec<String> {
    let mut args = shared("packet-receive", direction.to(work).1, work, direction);
    args.extend(["--ring".into(), work.ring_mib.to_string()]);
    if work.rx_path != RxPath::AfPacket {
        args.extend(["--path".into(), work.rx_path.name().into()]);
    }
    if work.rx_path == RxPath::AfXdp {
        args.extend(["--xdp-copy".into(), spelled(&work.xdp_copy), "--attach".into(), work.attach.clone()]);
        if !work.queues.is_empty() {
            args.extend(["--queues".into(), list(&work.queues)]);
        }
    }
    args.extend(["--stamps".into(), work.stamps.map_or("none", Stamps::name).into()]);
    args.extend(work.latency.then(|| "--latency".into()));
    args
}

fn sender(work: &PacketWork, direction: Direction, rate: Option<f64>) -> Vec<String> {
    let mut args = shared("packet-send", direction.from(work).1, work, direction);
    let rate = rate.map_or("max".to_owned(), |rate| rate.to_string());
    args.extend(["--batch".into(), work.batch.to_string(), "--rate".into(), rate]);
    if work.tx_path != TxPath::AfPacket {
        args.extend(["--path".into(), work.tx_path.name().into()]);
    }
    if work.tx_path == TxPath::AfXdp {
        args.extend(["--xdp-copy".into(), spelled(&work.xdp_copy)]);
        if let Some(first) = work.queues.first() {
            args.extend(["--queue".into(), first.to_string()]);
        }
    }
    if !work.cpus.is_empty() {
        args.extend(["--cpus".into(), list(&work.cpus)]);
    }
    args.extend(work.latency.then(|| "--latency".into()));
    args
}

/// Words of the tools have hyphens where those of files have underscores.
fn spelled(word: &str) -> String {
    word.replace('_', "-")
}

fn list(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// A built-in tool as a job.
pub(super) fn tool(args: Vec<String>, stdin: Stdin, deadline_ms: u64) -> JobSpec {
    let new = JobSpec::new(Program::Tool(args), deadline_ms);
    JobSpec { stdin, keep_bytes: KEEP, speaks_events: true, ..new }
}
