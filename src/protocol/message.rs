//! The asks of the workstation and the answers of an agent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::change::{Applications, PutBack, Seen, Wanted};
use crate::model::facts::Facts;
use crate::model::job::{FileId, JobReport, JobSpec};

/// Raised when either side could misread the other.
pub const VERSION: u32 = 3;

/// One line towards the agent. Every ask but `Beat` is answered by a reply with the same id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub id: u64,
    pub ask: Ask,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// First line of a session: takes the host's lease for `holder`.
    Hello {
        version: u32,
        holder: String,
        lease_ms: u64,
    },
    /// Heartbeat; answered by `Beat`.
    Beat,
    /// Port name to interface; programs whose digest is wanted.
    Facts {
        ports: BTreeMap<String, String>,
        programs: Vec<String>,
    },
    /// Facts that may move during a campaign, of the host and of these ports.
    Look {
        ports: BTreeMap<String, String>,
    },
    /// Bring settings to these values; originals are written down first.
    Apply {
        settings: Vec<Wanted>,
    },
    /// Put back every setting that was changed.
    Restore,
    /// Every setting of the host and of these interfaces as it is now.
    Settings {
        interfaces: Vec<String>,
    },
    /// Embedded lab only: make a veth pair, the far end in the network namespace of `peer_pid`.
    MakeLink {
        near: String,
        far: String,
        peer_pid: u32,
        /// Queues each way, at both ends.
        queues: u32,
    },
    /// Embedded lab only: bring an interface up and turn off what sends frames by itself.
    PortUp {
        interface: String,
    },
    Start {
        job: u64,
        spec: JobSpec,
    },
    /// One line for the standard input of a job started with a pipe.
    Tell {
        job: u64,
        line: String,
    },
    /// A signal for the process group of a job's main process.
    Signal {
        job: u64,
        signal: i32,
    },
    /// Kill the whole tree of a job.
    Stop {
        job: u64,
    },
    /// Kept output from `offset`, at most `CHUNK` bytes.
    Fetch {
        job: u64,
        stream: Stream,
        offset: u64,
    },
    /// Is the artifact of this digest there?
    Have {
        sha256: String,
        name: String,
    },
    /// A piece of an artifact, in base64; answered by its path after the last.
    Put {
        sha256: String,
        name: String,
        offset: u64,
        data: String,
        last: bool,
    },
    /// Keep the one file that fits a pattern, in a folder or in the one that a job kept.
    Keep {
        job: u64,
        cwd: Option<String>,
        pattern: String,
    },
    /// Remove the folder that a job kept.
    Clear {
        job: u64,
    },
    /// Drop a job's kept output.
    Forget {
        job: u64,
    },
    /// End of the session: jobs are killed, settings put back, the lease freed.
    Bye,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    Stdout,
    Stderr,
    /// One of the files that the job was asked for, by its number.
    File(u32),
}

/// One line from the agent. `re` is the id of the ask it answers; None for what comes by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    pub re: Option<u64>,
    pub answer: Answer,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Welcome(Welcome),
    /// The host is leased to somebody else, or this session's lease was overtaken.
    Leased {
        holder: String,
    },
    Beat,
    Facts(Facts),
    Applied(Applications),
    Restored(PutBack),
    Settings(Vec<Seen>),
    Done,
    /// By itself: a job printed a JSON event.
    Event {
        job: u64,
        event: Value,
    },
    /// By itself: a job has ended and nothing of it is left.
    Ended {
        job: u64,
        report: Box<JobReport>,
    },
    /// Base64 of output bytes; `last` when nothing follows.
    Output {
        data: String,
        last: bool,
    },
    /// Where an artifact lies, if it is there.
    Artifact {
        path: Option<String>,
    },
    /// A file that is now an artifact.
    Kept(FileId),
    /// The ask could not be carried out.
    Fault {
        text: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Welcome {
    pub version: u32,
    /// Grows with every lease of the host.
    pub lease: u64,
    pub pid: u32,
    pub hostname: String,
    pub boot_id: String,
    /// `pid-namespace`, or the weaker `process-group` where namespaces are not allowed.
    pub isolation: String,
    /// What this agent put back before anything else, because an earlier one was killed.
    #[serde(default)]
    pub found: PutBack,
}

/// Bytes of output in one `Output` answer, before base64.
pub const CHUNK: usize = 256 * 1024;
