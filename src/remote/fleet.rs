//! Many sessions as one lab.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use base64::Engine as _;
use indexmap::IndexMap;
use serde_json::Value;

use super::error::SessionError;
use super::session::Session;
use crate::conduct::lab::{JobId, Lab, LabError, LabEvent};
use crate::model::change::{Applications, PutBack, Seen, Wanted};
use crate::model::facts::Facts;
use crate::model::job::{FileId, JobSpec};
use crate::protocol::message::{Answer, Ask, CHUNK, Stream, Welcome};

/// Hosts by name, their jobs, and one queue for what happens on any of them.
pub struct Fleet {
    sessions: IndexMap<String, Session>,
    jobs: HashMap<JobId, String>,
    next: u64,
    events: (Sender<LabEvent>, Receiver<LabEvent>),
}

impl Default for Fleet {
    fn default() -> Fleet {
        Fleet::new()
    }
}

impl Fleet {
    /// A lab without hosts.
    pub fn new() -> Fleet {
        Fleet { sessions: IndexMap::new(), jobs: HashMap::new(), next: 1, events: mpsc::channel() }
    }

    /// Adds a host; a second one of the same name replaces, and so ends, the first.
    pub fn add(&mut self, name: &str, session: Session) {
        session.attach(name, self.events.0.clone());
        self.sessions.insert(name.to_owned(), session);
    }

    /// Names in the order they were added.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.sessions.keys().map(String::as_str)
    }

    /// What the agent of `host` said when it took the lease.
    pub fn welcome(&self, host: &str) -> Option<&Welcome> {
        self.sessions.get(host).map(Session::welcome)
    }

    /// Facts of a host; `ports` maps port names to interfaces, `programs` are names or paths to identify.
    ///
    /// # Errors
    /// The host is unknown or lost.
    pub fn facts(
        &self,
        host: &str,
        ports: BTreeMap<String, String>,
        programs: Vec<String>,
    ) -> Result<Facts, LabError> {
        match self.ask(host, Ask::Facts { ports, programs })? {
            Answer::Facts(facts) => Ok(facts),
            other => Err(unexpected(host, &other)),
        }
    }

    /// Every setting of a host and of these interfaces, as it is now.
    ///
    /// # Errors
    /// The host is unknown or lost.
    pub fn settings(&self, host: &str, interfaces: Vec<String>) -> Result<Vec<Seen>, LabError> {
        match self.ask(host, Ask::Settings { interfaces })? {
            Answer::Settings(seen) => Ok(seen),
            other => Err(unexpected(host, &other)),
        }
    }

    fn session(&self, host: &str) -> Result<&Session, LabError> {
        self.sessions.get(host).ok_or_else(|| LabError::Refused {
            host: host.to_owned(),
            why: format!("no such host in this lab; it has {}", self.hosts().collect::<Vec<_>>().join(", ")),
        })
    }

    fn ask(&self, host: &str, ask: Ask) -> Result<Answer, LabError> {
        self.session(host)?.ask(ask).map_err(|e| match e {
            SessionError::Lost(why) => LabError::Lost { host: host.to_owned(), why },
            SessionError::Refused(why) => LabError::Refused { host: host.to_owned(), why },
        })
    }

    fn host_of(&self, job: JobId) -> Result<&str, LabError> {
        let unknown =
            || LabError::Refused { host: "?".into(), why: format!("job {} was never started", job.0) };
        self.jobs.get(&job).map(String::as_str).ok_or_else(unknown)
    }

    fn head(&self, job: JobId, stream: Stream, most: usize) -> Result<Vec<u8>, LabError> {
        let host = self.host_of(job)?;
        let mut data = Vec::new();
        while data.len() < most {
            let answer = self.ask(host, Ask::Fetch { job: job.0, stream, offset: data.len() as u64 })?;
            let Answer::Output { data: text, last } = answer else { return Err(unexpected(host, &answer)) };
            let piece = base64::engine::general_purpose::STANDARD.decode(text).map_err(|e| {
                LabError::Refused { host: host.to_owned(), why: format!("its output is no base64: {e}") }
            })?;
            let stuck = piece.is_empty();
            data.extend(piece);
            if last || stuck {
                break;
            }
        }
        data.truncate(most);
        Ok(data)
    }
}

impl Lab for Fleet {
    fn start(&mut self, host: &str, spec: JobSpec) -> Result<JobId, LabError> {
        let job = JobId(self.next);
        self.next += 1;
        // Known before it is asked for: its end may come before the answer is looked at.
        self.jobs.insert(job, host.to_owned());
        match self.ask(host, Ask::Start { job: job.0, spec }) {
            Ok(_) => Ok(job),
            Err(error) => {
                self.jobs.remove(&job);
                Err(error)
            }
        }
    }

    fn tell(&mut self, job: JobId, line: &str) -> Result<(), LabError> {
        self.ask(self.host_of(job)?, Ask::Tell { job: job.0, line: line.to_owned() }).map(drop)
    }

    fn signal(&mut self, job: JobId, signal: i32) -> Result<(), LabError> {
        self.ask(self.host_of(job)?, Ask::Signal { job: job.0, signal }).map(drop)
    }

    fn stop(&mut self, job: JobId) -> Result<(), LabError> {
        self.ask(self.host_of(job)?, Ask::Stop { job: job.0 }).map(drop)
    }

    fn next(&mut self, wait: Duration) -> Option<LabEvent> {
        self.events.1.recv_timeout(wait).ok()
    }

    fn heads(&mut self, job: JobId, most: usize) -> Result<(Vec<u8>, Vec<u8>), LabError> {
        Ok((self.head(job, Stream::Stdout, most)?, self.head(job, Stream::Stderr, most)?))
    }

    fn file(&mut self, job: JobId, number: u32, most: usize) -> Result<Vec<u8>, LabError> {
        self.head(job, Stream::File(number), most)
    }

    fn have(&mut self, host: &str, sha256: &str, name: &str) -> Result<Option<String>, LabError> {
        match self.ask(host, Ask::Have { sha256: sha256.into(), name: name.into() })? {
            Answer::Artifact { path } => Ok(path),
            other => Err(unexpected(host, &other)),
        }
    }

    fn upload(&mut self, host: &str, file: &Path, sha256: &str, name: &str) -> Result<String, LabError> {
        let refused = |e: std::io::Error| LabError::Refused {
            host: host.to_owned(),
            why: format!("{} cannot be read to be uploaded: {e}", file.display()),
        };
        let mut input = File::open(file).map_err(refused)?;
        let bytes = input.metadata().map_err(refused)?.len();
        let (mut offset, mut piece) = (0, vec![0; CHUNK]);
        loop {
            let n = input.read(&mut piece).map_err(refused)?;
            let last = offset + n as u64 >= bytes || n == 0;
            let data = base64::engine::general_purpose::STANDARD.encode(&piece[..n]);
            let (sha256, name) = (sha256.to_owned(), name.to_owned());
            match self.ask(host, Ask::Put { sha256, name, offset, data, last })? {
                Answer::Artifact { path: Some(path) } if last => return Ok(path),
                Answer::Artifact { path: None } if !last => offset += n as u64,
                other => return Err(unexpected(host, &other)),
            }
        }
    }

    fn keep(&mut self, job: JobId, cwd: Option<&str>, pattern: &str) -> Result<FileId, LabError> {
        let host = self.host_of(job)?;
        let (cwd, pattern) = (cwd.map(str::to_owned), pattern.to_owned());
        match self.ask(host, Ask::Keep { job: job.0, cwd, pattern })? {
            Answer::Kept(file) => Ok(file),
            other => Err(unexpected(host, &other)),
        }
    }

    fn clear(&mut self, job: JobId) -> Result<(), LabError> {
        self.ask(self.host_of(job)?, Ask::Clear { job: job.0 }).map(drop)
    }

    fn forget(&mut self, job: JobId) {
        if let Some(session) = self.jobs.remove(&job).and_then(|host| self.sessions.get(&host)) {
            session.tell(Ask::Forget { job: job.0 });
        }
    }

    fn apply(&mut self, host: &str, settings: &[Wanted]) -> Result<Applications, LabError> {
        match self.ask(host, Ask::Apply { settings: settings.to_vec() })? {
            Answer::Applied(done) => Ok(done),
            other => Err(unexpected(host, &other)),
        }
    }

    fn put_back(&mut self, host: &str) -> Result<PutBack, LabError> {
        match self.ask(host, Ask::Restore)? {
            Answer::Restored(done) => Ok(done),
            other => Err(unexpected(host, &other)),
        }
    }

    fn look(&mut self, host: &str, ports: &BTreeMap<String, String>) -> Result<Facts, LabError> {
        match self.ask(host, Ask::Look { ports: ports.clone() })? {
            Answer::Facts(facts) => Ok(facts),
            other => Err(unexpected(host, &other)),
        }
    }
}

fn unexpected(host: &str, answer: &Answer) -> LabError {
    let shown = serde_json::to_value(answer).unwrap_or(Value::Null);
    LabError::Refused {
        host: host.to_owned(),
        why: format!("an answer that does not fit the question: {shown}"),
    }
}
