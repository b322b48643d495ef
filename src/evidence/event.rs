//! The events of a journal, which are the truth of a record: everything else is derived from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::model::arm::ArmKind;
use crate::model::cell::{CellId, RunKey};
use crate::model::change::{Applied, PutBack};
use crate::model::facts::Facts;
use crate::model::gate::GateRule;
use crate::model::job::{FileId, JobReport};
use crate::model::outcome::{Fate, RunOutcome};
use crate::model::phase::Phase;
use crate::model::proof::Proof;
use crate::model::response::Response;
use crate::model::until::Until;
use crate::model::work_counts::WorkCounts;

/// Version of the journal's shape; a reader refuses a newer one.
pub const VERSION: u32 = 3;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// First event of a record.
    Opened(Box<Opening>),
    /// A command began to work on this record; every later event belongs to it.
    Session(Session),
    /// The session was begun by a schedule.
    Scheduled(ScheduleNote),
    /// The session waited for hosts that somebody else had.
    Waited(WaitNote),
    Host(HostNote),
    /// Whether a link delivers everything of the untouched control, both ways.
    Link(LinkNote),
    /// A setting of a host was changed, because the campaign holds it.
    Setting(SettingNote),
    /// What a campaign, or a killed one before it, had changed was put back.
    PutBack(PutBackNote),
    /// A fact of a host is another one than when it was last looked at.
    Changed(ChangeNote),
    /// A program was built on a host, or could not be.
    Built(BuildNote),
    /// A program is on a host, brought there or built there.
    Artifact(ArtifactNote),
    /// What became of a planned cell; a later one for the same cell replaces an earlier one.
    Cell(CellNote),
    /// Untimed proof of a cell, accepted or not.
    Proof(ProofNote),
    /// A block began; `order` is the order its cells run in.
    Block(BlockNote),
    RunBegan {
        run: RunKey,
        position: u32,
    },
    RunEnded(Box<RunNote>),
    /// A person took a run out of the analysis, or back into it.
    Annotated(Annotation),
    /// The session came to its end by itself.
    Closed {
        complete: bool,
        reason: Option<String>,
    },
}

/// What was asked, complete enough to judge the record without the campaign file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    pub record: String,
    /// Folder of the hosts file, which relative paths in it start from.
    #[serde(default)]
    pub hosts_folder: String,
    /// Folder of the campaign file, which paths of artifacts start from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub campaign_folder: String,
    /// Digests of the campaign and hosts files as used; what goes on with a record must read the same.
    /// Empty where an older fieldtrial began it.
    #[serde(default)]
    pub campaign_sha256: String,
    #[serde(default)]
    pub hosts_sha256: String,
    /// Digest of the dead-ends file; empty where the campaign names none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dead_ends_sha256: String,
    /// Known dead ends that are tried again, each with the reason.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub reattempt: IndexMap<String, String>,
    pub campaign: String,
    pub question: Option<String>,
    pub hypothesis: Option<String>,
    pub pilot: bool,
    pub workload: String,
    pub responses: Vec<Response>,
    pub variables: IndexMap<String, Vec<String>>,
    /// Variables that were set once for a group of runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hard_to_change: Vec<String>,
    pub arms: Vec<ArmNote>,
    pub accept: Vec<String>,
    /// Nothing of what commands print had to be equal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outputs_may_differ: bool,
    /// Units of values that are taken from outputs, by their names.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub values: IndexMap<String, String>,
    /// `software` or `hardware`: who stamps received frames; empty where nothing was asked of stamps.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stamps: String,
    /// All planned blocks, or those before the first look where `until` decides.
    pub blocks: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    pub order: String,
    pub seed: u64,
    pub timeout_ms: u64,
    pub planned_cells: u64,
    pub planned_runs: u64,
    /// How far below a published level each response may fall.
    #[serde(default)]
    pub gate: GateRule,
    /// `quiet` where the hosts were quieted first; every cell's id then ends in `@quiet`. Else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub condition: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmNote {
    pub kind: ArmKind,
    pub name: String,
    /// Settings that differ from the control; of the control itself, all of its settings.
    pub changes: IndexMap<String, String>,
    pub because: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub kind: SessionKind,
    pub command: Vec<String>,
    pub version: String,
    /// Digest of the fieldtrial binary that conducts and that is the agent.
    pub tool_sha256: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    Run,
    Resume,
    Rerun,
}

/// Which date a scheduled trial is for. All instants are RFC 3339 in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleNote {
    pub expression: String,
    /// None where it makes up for dates that were missed.
    pub due: Option<String>,
    /// Dates since the last start on which nothing was begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<String>,
}

/// Time before a session began, because its hosts were taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitNote {
    pub waited_ms: u64,
    /// Who had them, as the last refusal said.
    pub holder: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostNote {
    pub host: String,
    pub transport: String,
    pub isolation: String,
    pub lease: u64,
    pub facts: Facts,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingNote {
    pub host: String,
    pub applied: Applied,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PutBackNote {
    pub host: String,
    /// By an agent that found what a killed one had left, before it did anything else.
    pub at_start: bool,
    pub done: PutBack,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeNote {
    pub host: String,
    /// Its name; of a port, with the port before a dot.
    pub fact: String,
    pub was: String,
    pub now: String,
    /// The block that had ended when it was noticed.
    pub after: u32,
}

/// One build on one host; cells that need the same share it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuildNote {
    pub host: String,
    /// Equal for equal builds: a digest of all that was declared of it.
    pub key: String,
    /// Ready to paste into a shell on that host.
    pub command: String,
    /// First line of what the toolchain says of itself.
    pub toolchain: Option<String>,
    pub target: Option<String>,
    pub profile: Option<String>,
    /// File of the record that has its output, and how many bytes that was.
    pub log: Option<String>,
    pub log_bytes: u64,
    pub wall_ns: u64,
    /// Why it gave nothing; None where it succeeded.
    pub failure: Option<String>,
    /// What is kept of it.
    pub output: Option<FileId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArtifactNote {
    pub host: String,
    /// As it was declared: `releases/app-1.2`.
    pub from: String,
    /// Its path on the host, its size and digest.
    pub file: FileId,
    /// First line of what it says of its version.
    pub version: Option<String>,
    /// It was not there yet.
    pub uploaded: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellNote {
    pub cell: CellId,
    pub arm: String,
    pub kind: ArmKind,
    pub levels: IndexMap<String, String>,
    pub fate: Fate,
    /// Stage that decided against it: `rule`, `build`, `host`, `link`, `proof`; None while live.
    pub stage: Option<String>,
    pub reason: Option<String>,
    /// The difference or fact itself, line by line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// The baseline of one link. Where it is not clean, nothing on the link counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkNote {
    /// `tx.port0 - rx.port0`.
    pub link: String,
    /// The control whose load it was.
    pub cell: CellId,
    pub clean: bool,
    /// What was not delivered, line by line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    pub roles: Vec<RoleNote>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProofNote {
    pub cell: CellId,
    pub proof: Proof,
    pub accepted: bool,
    pub roles: Vec<RoleNote>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockNote {
    pub block: u32,
    /// None for a planned block; the cell asked for in a rerun.
    pub rerun_of: Option<CellId>,
    pub order: Vec<CellId>,
}

/// One attempt of a run, whatever came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunNote {
    pub run: RunKey,
    pub position: u32,
    pub outcome: RunOutcome,
    pub reason: Option<String>,
    /// Metric name to value; what had been observed also for runs that do not count.
    pub values: BTreeMap<String, f64>,
    /// Metric name to why it has no value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
    pub samples: Vec<Sample>,
    /// What became of the declared work; None where the workload declares no units of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkCounts>,
    /// What a reader of the values must know of this run: a short general sentence to what was seen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cautions: BTreeMap<String, String>,
    pub roles: Vec<RoleNote>,
    pub proof: Option<Proof>,
    /// Workstation time from the first start to the last end, for planning.
    pub elapsed_ns: u64,
}

impl RunNote {
    /// Gives back the room that lists and repeated names took while they were read: a record may have a million
    /// samples.
    pub fn settle(&mut self) {
        let mut names: Vec<Arc<str>> = vec![];
        for sample in &mut self.samples {
            match names.iter().find(|name| **name == sample.metric) {
                Some(name) => sample.metric = Arc::clone(name),
                None => names.push(Arc::clone(&sample.metric)),
            }
        }
        self.samples.shrink_to_fit();
        self.roles.shrink_to_fit();
        for role in &mut self.roles {
            role.report.argv.shrink_to_fit();
            role.report.inputs.shrink_to_fit();
        }
    }

    /// A run of which nothing was observed.
    pub fn unobserved(run: RunKey, position: u32, outcome: RunOutcome, reason: String) -> RunNote {
        RunNote {
            run,
            position,
            outcome,
            reason: Some(reason),
            values: BTreeMap::new(),
            absent: BTreeMap::new(),
            samples: vec![],
            work: None,
            cautions: BTreeMap::new(),
            roles: vec![],
            proof: None,
            elapsed_ns: 0,
        }
    }
}

/// What a person declared about a run. The last one about a run holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    pub run: RunKey,
    /// Out of the analysis; else back in it.
    pub invalid: bool,
    pub reason: String,
    /// User and machine.
    pub who: String,
}

/// A reading inside a run; never counted as a replicate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub metric: Arc<str>,
    /// From the start of traffic; negative never occurs, settle comes first.
    pub at_ns: u64,
    pub value: f64,
    /// Inside the settle time, hence not part of the response.
    pub settling: bool,
    /// Number of the load that it belongs to, from 1, where a run has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
}

/// What one role of a run did on its host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleNote {
    pub role: String,
    #[serde(default, skip_serializing_if = "Phase::is_run")]
    pub phase: Phase,
    pub host: String,
    /// Ready to paste into a shell on that host.
    pub command: String,
    pub report: JobReport,
    /// First kept lines of each stream, for reading; digests in the report cover everything.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout_head: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr_head: String,
}

impl RoleNote {
    /// `run`, or `run: setup` where it is about another phase than the work itself.
    pub fn title(&self) -> String {
        match self.phase {
            Phase::Run => self.role.clone(),
            phase => format!("{}: {}", self.role, phase.name()),
        }
    }
}
