//! Workloads: as declared (templates over variables and settings), and as resolved for one cell.

use super::frame_size::Sizes;
use super::hosts::PortRef;
use super::role::{RoleDeclared, RoleWork};
use super::verify_rule::VerifyRule;
use super::work_rule::WorkRule;

/// Text in which `${name}` stands for the level of a variable or setting.
pub type Template = String;

/// The work as a campaign declares it.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    Packets(Box<PacketsDeclared>),
    Command(Box<CommandDeclared>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct PacketsDeclared {
    /// Sending and receiving port, `host.port`.
    pub between: (Template, Template),
    /// `true` sends from the receiving port too, at the same time.
    pub both_ways: Template,
    /// Bytes with FCS (RFC 2544), 64 to 1518: one size, a list, a sweep, or `imix`.
    pub frame_size: Template,
    pub streams: Template,
    /// Frames handed over by one system call.
    pub batch: Template,
    pub load: LoadDeclared,
    pub duration: Template,
    pub settle: Template,
    pub tx: Template,
    pub rx: Template,
    pub xdp_copy: Template,
    pub attach: Template,
    /// Receive queues of AF_XDP, one template each; empty is all of them.
    pub queues: Vec<Template>,
    /// CPUs of the sending threads; empty leaves them to the scheduler.
    pub cpus: Vec<Template>,
    /// Who stamps received frames; None where the campaign asks for no stamps.
    pub stamps: Option<Stamps>,
    /// Frames carry the instant of their sending.
    pub latency: bool,
    /// Receive buffer in MiB.
    pub ring: Template,
    /// Frames of the untimed proof, per stream.
    pub proof_frames: u64,
}

/// How much is offered, as declared.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadDeclared {
    /// One load: frames per second and stream, or `max`.
    Steady(Template),
    /// One load after the other, each a step of the same run.
    List(Vec<Template>),
    Search(SearchDeclared),
}

/// A search for the highest load without loss, as declared.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchDeclared {
    pub precision: Template,
    /// Length of the trials that narrow the search; None is the declared duration.
    pub trial: Option<Template>,
    pub from: Template,
    /// Highest load, or `max`.
    pub to: Template,
    pub most_trials: Template,
}

/// Who stamps received frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamps {
    /// The card, when the frame came off the wire.
    Hardware,
    /// The kernel or the program; every output marks what follows from them.
    Software,
}

impl Stamps {
    /// As it is written in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Software => "software",
        }
    }
}

/// Programs, each a role on a host; a `command` is one role called `run`.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandDeclared {
    /// In the order of the file; their names are unique.
    pub roles: Vec<RoleDeclared>,
    pub verify: VerifyRule,
    /// Units of work, where the campaign declares them.
    pub work: Option<WorkRule>,
}

/// The work of one cell, every template filled in.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    Packets(Box<PacketWork>),
    Command(Box<CommandWork>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct PacketWork {
    pub tx: PortRef,
    pub tx_interface: String,
    pub rx: PortRef,
    pub rx_interface: String,
    pub both_ways: bool,
    /// With FCS.
    pub frame_size: Sizes,
    pub streams: u16,
    pub batch: u32,
    pub load: Load,
    pub duration_ms: u64,
    pub settle_ms: u64,
    pub tx_path: TxPath,
    pub rx_path: RxPath,
    /// `auto`, `copy` or `zero_copy`.
    pub xdp_copy: String,
    /// `auto`, `native` or `generic`.
    pub attach: String,
    pub queues: Vec<u32>,
    pub cpus: Vec<u32>,
    pub stamps: Option<Stamps>,
    pub latency: bool,
    pub ring_mib: u32,
    pub proof_frames: u64,
    /// Decides the frames' bytes.
    pub seed: u64,
}

/// How frames leave, by the word that campaigns and tools have for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxPath {
    AfPacket,
    AfXdp,
    XdpLive,
}

/// How frames are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RxPath {
    AfPacket,
    AfPacketRecvmmsg,
    AfXdp,
}

impl TxPath {
    pub const ALL: [(&'static str, Self); 3] =
        [("af_packet", Self::AfPacket), ("af_xdp", Self::AfXdp), ("xdp_live", Self::XdpLive)];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, path)| *path == self).map_or("", |(name, _)| name)
    }
}

impl RxPath {
    pub const ALL: [(&'static str, Self); 3] = [
        ("af_packet", Self::AfPacket),
        ("af_packet_recvmmsg", Self::AfPacketRecvmmsg),
        ("af_xdp", Self::AfXdp),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, path)| *path == self).map_or("", |(name, _)| name)
    }
}

/// How much is offered, in frames per second and stream; None is as fast as possible.
#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    Steady(Option<f64>),
    List(Vec<f64>),
    Search(SearchPlan),
}

/// A search for the highest load without loss. Loads are frames per second and stream.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchPlan {
    /// The width of the last interval as a part of its upper end.
    pub precision: f64,
    /// Length of the trials that narrow the search; what they find is confirmed over the full duration.
    pub trial_ms: u64,
    /// Loads below are not tried.
    pub from: f64,
    /// None is as fast as possible.
    pub to: Option<f64>,
    pub most_trials: u32,
}

/// The roles of one cell, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandWork {
    pub roles: Vec<RoleWork>,
    pub verify: VerifyRule,
    pub work: Option<WorkRule>,
}

impl Work {
    /// Names of the hosts that it runs on, each once.
    pub fn hosts(&self) -> Vec<&str> {
        let mut hosts: Vec<&str> = vec![];
        let all: Vec<&str> = match self {
            Work::Packets(work) => vec![&work.tx.host, &work.rx.host],
            Work::Command(work) => work.roles.iter().map(|role| role.host.as_str()).collect(),
        };
        for host in all {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        hosts
    }
}
