//! The one trait between the spine and the world.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::model::change::{Applications, PutBack, Wanted};
use crate::model::facts::Facts;
use crate::model::job::{FileId, JobReport, JobSpec};

/// A job of this session, unique over all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u64);

/// Something that happened on a host by itself.
#[derive(Debug, Clone, PartialEq)]
pub enum LabEvent {
    /// A job that speaks events printed one.
    Said { job: JobId, event: Value },
    /// A job and all it started are gone.
    Ended { job: JobId, report: Box<JobReport> },
    /// A host no longer answers; its jobs are ended there by its own lease.
    Lost { host: String, why: String },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabError {
    #[error("host {host} is lost: {why}")]
    Lost { host: String, why: String },
    #[error("host {host} refused: {why}")]
    Refused { host: String, why: String },
}

/// Hosts that run jobs. A stand-in without clock or network implements it in tests.
pub trait Lab {
    /// Starts a job and returns when its agent has taken it; its end comes as an event.
    fn start(&mut self, host: &str, spec: JobSpec) -> Result<JobId, LabError>;
    /// One line for the standard input of a job that was started with a pipe.
    fn tell(&mut self, job: JobId, line: &str) -> Result<(), LabError>;
    /// Sends a signal to the process group of a job's main process.
    fn signal(&mut self, job: JobId, signal: i32) -> Result<(), LabError>;
    /// Asks for the end of a job's whole tree; `Ended` follows.
    fn stop(&mut self, job: JobId) -> Result<(), LabError>;
    /// The next event of any host, or None when `wait` has passed.
    fn next(&mut self, wait: Duration) -> Option<LabEvent>;
    /// The first `most` kept bytes of an ended job's (standard output, standard error).
    fn heads(&mut self, job: JobId, most: usize) -> Result<(Vec<u8>, Vec<u8>), LabError>;
    /// The path of an artifact on a host, by its digest; None where it is not there.
    fn have(&mut self, host: &str, sha256: &str, name: &str) -> Result<Option<String>, LabError>;
    /// Brings a file of this workstation to a host as an artifact; its path there.
    fn upload(&mut self, host: &str, file: &Path, sha256: &str, name: &str) -> Result<String, LabError>;
    /// Makes an artifact of the one file that fits a pattern, in `cwd` or in the folder that a job kept.
    fn keep(&mut self, job: JobId, cwd: Option<&str>, pattern: &str) -> Result<FileId, LabError>;
    /// Removes the folder that a job kept for later ones, with all that is in it.
    fn clear(&mut self, job: JobId) -> Result<(), LabError>;
    /// The first `most` kept bytes of one of the files that an ended job was asked for, by its number.
    fn file(&mut self, job: JobId, number: u32, most: usize) -> Result<Vec<u8>, LabError>;
    /// Drops what the host keeps of an ended job.
    fn forget(&mut self, job: JobId);
    /// Brings settings of a host to their values; their originals are put back at the latest when its
    /// session ends.
    fn apply(&mut self, host: &str, settings: &[Wanted]) -> Result<Applications, LabError>;
    /// Puts back all that was applied on a host.
    fn put_back(&mut self, host: &str) -> Result<PutBack, LabError>;
    /// Facts of a host that may move by themselves; `ports` maps port names to interfaces.
    fn look(&mut self, host: &str, ports: &BTreeMap<String, String>) -> Result<Facts, LabError>;
}
