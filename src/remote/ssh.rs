//! An agent on another machine, through the system's OpenSSH.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use openssh::{Child, Session as Mux, Stdio};
use tokio::runtime::Runtime;

use super::error::ConnectError;
use super::master::{Destination, Master};
use super::place::{Answered, PROBE, START, UPLOAD};
use super::session::{End, STORY_WAIT, Session, Wire};
use super::tail::Tail;
use crate::model::digest;
use crate::model::hosts::{Become, Host, Transport};

/// How to bring agents to hosts.
#[derive(Debug, Clone)]
pub struct SshOptions {
    pub holder: String,
    pub lease: Duration,
    /// This program, which is also the agent for hosts of its own kind.
    pub exe: PathBuf,
    /// Agents for other kinds of machines, by what `uname -m` says.
    pub agents: BTreeMap<String, PathBuf>,
    /// Longest wait for the connection, and for each step after it.
    pub limit: Duration,
    /// Further arguments of the agent.
    pub agent_args: Vec<String>,
}

/// A line slower than this counts as broken while the agent is uploaded.
const SLOWEST_BYTES_PER_S: u64 = 100_000;

/// A binary to upload and its digest.
struct Binary {
    path: PathBuf,
    bytes: u64,
    sha256: String,
}

/// Connects, uploads the agent where it is missing, starts it and takes the lease.
///
/// # Errors
/// Each kind of `ConnectError` that a host can give.
pub fn connect(host: &Host, options: &SshOptions) -> Result<Session, ConnectError> {
    let Transport::Ssh { alias, user, config, r#become } = &host.transport else {
        return Err(ConnectError::Ours { found: format!("host {} is not reached over ssh", host.name) });
    };
    let ours = |found: String| ConnectError::Ours { found };
    let to = Destination { alias, user: user.as_deref(), config: config.as_deref() };
    let master = Master::connect(to, options.limit)?;
    // Data never passes through it: the master reads and writes our pipes itself.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| ours(format!("no runtime for ssh: {e}")))?;
    let mux = Arc::new(Mux::resume_mux(master.socket().into_boxed_path(), None));
    let steps = Steps { runtime: &runtime, mux: &mux, host: &host.name, limit: options.limit };
    let probed = steps.output(&[PROBE, "sh", &digest_of(&options.exe)?.sha256], Stdio::null(), options.limit);
    let (_, text, errors) = probed?;
    let answered = Answered::parse(&text).ok_or_else(|| ConnectError::Agent {
        host: host.name.clone(),
        found: format!("its shell does not answer as a POSIX one does: {}", first_line(&errors, &text)),
    })?;
    let binary = binary_for(&host.name, &answered.machine, options)?;
    // Another kind of machine has another binary, which the first probe did not look for.
    let answered = match answered.machine == std::env::consts::ARCH {
        true => answered,
        false => {
            Answered::parse(&steps.output(&[PROBE, "sh", &binary.sha256], Stdio::null(), options.limit)?.1)
                .unwrap_or(answered)
        }
    };
    let place = answered.choose(&host.name, &binary.sha256, binary.bytes)?;
    if !place.present {
        steps.upload(&binary, &place.path)?;
    }
    let mut words = match r#become {
        Become::No => vec![],
        Become::Sudo => vec!["sudo", "-n", "--"],
    };
    words.extend([place.path.as_str(), "agent"]);
    words.extend(options.agent_args.iter().map(String::as_str));
    let started = steps.start(&words)?;
    let (input, output, errors, child) = (started.input, started.output, started.errors, started.child);
    let end = Box::new(Line {
        channel: Mutex::new(Some(child)),
        _runtime: runtime,
        errors: errors.clone(),
        master,
    });
    let opened = Session::open(&host.name, Wire { input, output, end }, &options.holder, options.lease);
    opened.map_err(|error| match error {
        ConnectError::Agent { host, found } if *r#become == Become::Sudo && found.contains("sudo") => {
            ConnectError::Become { host, found: errors.text(STORY_WAIT) }
        }
        other => other,
    })
}

struct Steps<'a> {
    runtime: &'a Runtime,
    mux: &'a Arc<Mux>,
    host: &'a str,
    limit: Duration,
}

struct Started {
    input: OwnedFd,
    output: OwnedFd,
    errors: Tail,
    child: Child<Arc<Mux>>,
}

impl Steps<'_> {
    /// Runs `sh -c` with these words on the host: whether it succeeded, and both outputs.
    fn output(
        &self,
        words: &[&str],
        input: Stdio,
        limit: Duration,
    ) -> Result<(bool, String, String), ConnectError> {
        let lost = |found: String| ConnectError::Unreachable { host: self.host.to_owned(), found };
        let work = async {
            let mut command = self.mux.clone().arc_command("sh");
            command.arg("-c").args(words).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
            tokio::time::timeout(limit, command.output()).await
        };
        match self.runtime.block_on(work) {
            Err(_) => Err(lost(format!("no answer within {} s after the login", limit.as_secs_f64()))),
            Ok(Err(e)) => Err(lost(format!("the connection broke: {e}"))),
            Ok(Ok(out)) => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                Ok((out.status.success(), text(&out.stdout), text(&out.stderr)))
            }
        }
    }

    fn upload(&self, binary: &Binary, path: &str) -> Result<(), ConnectError> {
        let file = File::open(&binary.path)
            .map_err(|e| ConnectError::Ours { found: format!("the agent {}: {e}", binary.path.display()) })?;
        let limit = self.limit.max(Duration::from_secs(binary.bytes / SLOWEST_BYTES_PER_S));
        let words = [UPLOAD, "sh", path, &binary.bytes.to_string(), &binary.sha256];
        let (done, text, errors) = self.output(&words, Stdio::from(file), limit)?;
        if done && text.contains("fieldtrial-uploaded") {
            return Ok(());
        }
        let (host, found) = (
            self.host.to_owned(),
            format!("uploading to {path}: {}", first_line(&errors, "the copy differs")),
        );
        Err(if errors.contains("No space left") || errors.contains("quota") {
            ConnectError::DiskFull { host, found }
        } else {
            ConnectError::Agent { host, found }
        })
    }

    /// Starts the agent on pipes of our own, which the master takes over.
    fn start(&self, words: &[&str]) -> Result<Started, ConnectError> {
        let pipe = || io::pipe().map_err(|e| ConnectError::Ours { found: format!("no pipe: {e}") });
        let ((their_input, input), (output, their_output), (errors, their_errors)) =
            (pipe()?, pipe()?, pipe()?);
        let work = async {
            let mut command = self.mux.clone().arc_command("sh");
            command.arg("-c").arg(START).arg("sh").args(words);
            command
                .stdin(OwnedFd::from(their_input))
                .stdout(OwnedFd::from(their_output))
                .stderr(OwnedFd::from(their_errors));
            tokio::time::timeout(self.limit, command.spawn()).await
        };
        let lost = |found: String| ConnectError::Agent { host: self.host.to_owned(), found };
        let child = match self.runtime.block_on(work) {
            Err(_) => return Err(lost("ssh gave no channel in time".into())),
            Ok(Err(e)) => {
                return Err(lost(format!("ssh gave no channel for it ({e}); is MaxSessions used up?")));
            }
            Ok(Ok(child)) => child,
        };
        Ok(Started { input: input.into(), output: output.into(), errors: Tail::follow(errors), child })
    }
}

/// Kept for its parts' lives: when the channel's control connection closes, ssh closes the channel.
struct Line {
    channel: Mutex<Option<Child<Arc<Mux>>>>,
    _runtime: Runtime,
    errors: Tail,
    master: Master,
}

impl End for Line {
    fn cut(&self) {
        self.master.cut();
    }

    fn story(&self) -> String {
        let words = [self.errors.text(STORY_WAIT), self.master.story()];
        words.into_iter().filter(|w| !w.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Inside the runtime: its descriptors are registered there.
        let _inside = self._runtime.enter();
        self.channel.get_mut().map(Option::take).unwrap_or_default();
    }
}

fn binary_for(host: &str, machine: &str, options: &SshOptions) -> Result<Binary, ConnectError> {
    if let Some(path) = options.agents.get(machine) {
        return digest_of(path);
    }
    if machine == std::env::consts::ARCH {
        return digest_of(&options.exe);
    }
    let ours = std::env::consts::ARCH.to_owned();
    Err(ConnectError::Architecture { host: host.to_owned(), machine: machine.to_owned(), ours })
}

fn digest_of(path: &Path) -> Result<Binary, ConnectError> {
    let unreadable =
        |e: io::Error| ConnectError::Ours { found: format!("the agent {}: {e}", path.display()) };
    let mut file = File::open(path).map_err(unreadable)?;
    let (sha256, bytes) = digest::of_all(&mut file).map_err(unreadable)?;
    Ok(Binary { path: path.to_owned(), bytes, sha256 })
}

fn first_line(text: &str, otherwise: &str) -> String {
    let line = text.lines().find(|l| !l.trim().is_empty()).unwrap_or(otherwise);
    line.trim().to_owned()
}
