//! Workloads: as declared (templates over variables and settings), and as resolved for one cell.

use std::collections::BTreeMap;

use super::hosts::PortRef;

/// Text in which `${name}` stands for the level of a variable or setting.
pub type Template = String;

/// The work as a campaign declares it.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    Packets(PacketsDeclared),
    Command(CommandDeclared),
}

#[derive(Debug, Clone, PartialEq)]
pub struct PacketsDeclared {
    /// Sending and receiving port, `host.port`.
    pub between: (Template, Template),
    /// Bytes with FCS (RFC 2544): 64 to 1518.
    pub frame_size: Template,
    pub streams: Template,
    /// Frames handed over by one system call.
    pub batch: Template,
    /// Frames per second and stream, or `max`.
    pub rate: Template,
    pub duration: Template,
    pub settle: Template,
    /// Frames of the untimed proof, per stream.
    pub proof_frames: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CommandDeclared {
    pub on: Template,
    pub program: Invocation,
    pub env: BTreeMap<String, Template>,
    pub cwd: Option<Template>,
    /// Path of a file on the host; None is an empty standard input.
    pub stdin: Option<Template>,
    pub inputs: Vec<Template>,
    /// What of the output must equal the control's.
    pub compare: OutputRule,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Invocation {
    Argv(Vec<Template>),
    Shell(Template),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputRule {
    Exact,
    /// The same lines in any order.
    AnyOrder,
    /// Only the exit status; a campaign has to ask for it.
    Ignored,
}

/// The work of one cell, every template filled in.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    Packets(PacketWork),
    Command(CommandWork),
}

#[derive(Debug, Clone, PartialEq)]
pub struct PacketWork {
    pub tx: PortRef,
    pub tx_interface: String,
    pub rx: PortRef,
    pub rx_interface: String,
    /// Bytes with FCS.
    pub frame_size: u32,
    pub streams: u16,
    pub batch: u32,
    /// Frames per second and stream; None is as fast as possible.
    pub rate: Option<f64>,
    pub duration_ms: u64,
    pub settle_ms: u64,
    pub proof_frames: u64,
    /// Decides the frames' bytes.
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CommandWork {
    pub host: String,
    pub program: ResolvedProgram,
    pub env: BTreeMap<String, String>,
    pub cwd: Option<String>,
    pub stdin: Option<String>,
    pub inputs: Vec<String>,
    pub compare: OutputRule,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ResolvedProgram {
    Argv(Vec<String>),
    Shell(String),
}
