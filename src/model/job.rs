//! A job: one process tree on one host, what to start and what came of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::observed::{Figures, Residency, WrittenFile};

/// Search path of a job that is given none, the same on every host.
pub const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What an agent is asked to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    pub program: Program,
    /// The whole environment; nothing is inherited, and `PATH` is [`DEFAULT_PATH`] where it is not given.
    pub env: BTreeMap<String, String>,
    /// None: a fresh empty folder, removed afterwards.
    pub cwd: Option<String>,
    pub stdin: Stdin,
    /// Files that decide what is done; hashed on the host before the start.
    pub inputs: Vec<String>,
    /// The whole tree is killed when it still runs after this long.
    pub deadline_ms: u64,
    /// Bytes of each output stream kept on the host; the true count and digest cover all of it.
    pub keep_bytes: u64,
    /// Standard output carries JSON events, one a line.
    pub speaks_events: bool,
    /// Processors that the whole tree is confined to; None leaves it to the scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Cpus>,
    /// What the page cache holds of the input files when the program starts; None leaves it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<PageCache>,
    /// When the agent tells that the job is ready, and how long it waits for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    #[serde(default)]
    pub folder: Folder,
    /// Files below the working folder that are hashed, and kept like the streams, when it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// System calls are counted, which slows the job down.
    #[serde(default)]
    pub count_calls: bool,
}

impl JobSpec {
    /// A job with an empty environment, an empty standard input, a folder of its own and no output kept.
    pub fn new(program: Program, deadline_ms: u64) -> JobSpec {
        JobSpec {
            program,
            env: BTreeMap::new(),
            cwd: None,
            stdin: Stdin::Empty,
            inputs: vec![],
            deadline_ms,
            keep_bytes: 0,
            speaks_events: false,
            cpus: None,
            cache: None,
            ready: None,
            folder: Folder::Own,
            files: vec![],
            count_calls: false,
        }
    }
}

/// Processors that a job is confined to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cpus {
    /// So many, chosen on the host.
    Count(u32),
    /// Exactly these, by number.
    List(Vec<u32>),
}

/// What the page cache holds of a job's input files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageCache {
    Cold,
    Warm,
}

/// When a job is ready: the agent then tells the event `ready`, or a `fault` where it took too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    pub when: ReadyWhen,
    /// From the start of the program.
    pub within_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadyWhen {
    /// It prints the event `ready` itself.
    Event,
    /// Something listens on this TCP port of the host; no connection is made.
    Port(u16),
    /// A line of either output matches this regular expression.
    Line(String),
}

/// The folder of a job that is given none by `cwd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Folder {
    /// Fresh, and removed when the job has ended.
    #[default]
    Own,
    /// Fresh, and kept until it is cleared.
    Kept,
    /// The one that an earlier job kept, by its number.
    Of(u64),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Program and arguments, passed on without a shell.
    Argv(Vec<String>),
    /// Arguments of `fieldtrial tool …`, run by the agent's own binary.
    Tool(Vec<String>),
    /// Text for `/bin/sh -c`, only where the campaign asks for a shell.
    Shell(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    Empty,
    File(String),
    /// A pipe that `Tell` writes to; used by built-in tools.
    Pipe,
}

/// How a job ended, as the agent itself saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Exited(i32),
    Signalled(i32),
    /// Our deadline passed and the tree was killed.
    TimedOut,
    /// Stopped on request.
    Stopped,
    /// Never ran: no such file, not executable, an input missing…
    NotStarted(String),
}

/// A file as it was found on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

/// One output stream of a job: exact size and digests, and the bytes kept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Captured {
    pub bytes: u64,
    /// SHA-256 of all bytes, in hex.
    pub sha256: String,
    pub lines: u64,
    /// Sum modulo 2^256 of the SHA-256 of each line: equal for the same lines in any order.
    pub lines_sha256: String,
    /// Bytes that can be fetched; less than `bytes` when cut.
    pub kept: u64,
}

/// What one job did, measured on its host. Durations in nanoseconds, sizes in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobReport {
    /// What was really executed; element 0 is the resolved path.
    pub argv: Vec<String>,
    pub program: Option<FileId>,
    pub inputs: Vec<FileId>,
    pub end: End,
    pub wall_ns: u64,
    pub user_ns: Option<u64>,
    pub system_ns: Option<u64>,
    /// None where it cannot be told apart from the launcher's own memory.
    pub peak_rss_bytes: Option<u64>,
    pub read_bytes: Option<u64>,
    pub written_bytes: Option<u64>,
    pub stdout: Captured,
    pub stderr: Captured,
    /// Last JSON event of a tool, which carries its result.
    pub result: Option<Value>,
    /// Processes still alive when the main one had ended; all were killed.
    pub left_behind: u32,
    /// `pid-namespace`, or the weaker `process-group`.
    pub isolation: String,
    #[serde(default)]
    pub figures: Figures,
    /// Processors that it was confined to; None where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Vec<u32>>,
    /// None where nothing was asked of the page cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Residency>,
    /// Those that were asked for, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<WrittenFile>,
}
