//! The ssh master of one host: our own child in the foreground, ended with us.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::error::ConnectError;
use super::parent;
use super::session::{End, STORY_WAIT};
use super::tail::Tail;

/// A master whose control socket answers.
pub struct Master {
    child: Mutex<Child>,
    errors: Tail,
    /// The name of the control socket, removed with us.
    socket: tempfile::NamedTempFile<()>,
}

/// Where `ssh` is to go, in its own terms.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    pub alias: &'a str,
    pub user: Option<&'a str>,
    pub config: Option<&'a Path>,
}

const DYING: Duration = Duration::from_millis(50);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Socket paths end at 108 bytes, and ssh appends 17 of its own while it connects.
const LONGEST_FOLDER: usize = 60;

impl Master {
    /// Connects; the user's ssh config, jump hosts, agents and known_hosts hold, host keys are checked strictly.
    ///
    /// # Errors
    /// `Unreachable`, `HostKey`, `Authentication`, each with what OpenSSH said.
    pub fn connect(to: Destination<'_>, limit: Duration) -> Result<Master, ConnectError> {
        let ours = |found: String| ConnectError::Ours { found };
        if to.alias.is_empty() || to.alias.starts_with('-') {
            return Err(ours(format!("expected an ssh alias or address, found {:?}", to.alias)));
        }
        let socket = socket_name().map_err(|e| ours(format!("no name for the ssh socket: {e}")))?;
        let mut command = command(to, socket.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = parent::spawn(command, libc::SIGTERM)
            .map_err(|e| ours(format!("`ssh` cannot be started ({e}); install the OpenSSH client")))?;
        let errors = child.stderr.take().map(Tail::follow).unwrap_or_default();
        let master = Master { child: Mutex::new(child), errors, socket };
        let until = Instant::now() + limit;
        while !master.socket().exists() {
            if master.has_ended() {
                return Err(classify(to.alias, &master.errors.text(STORY_WAIT)));
            }
            if Instant::now() >= until {
                let found = format!("no connection within {} s", limit.as_secs_f64());
                return Err(ConnectError::Unreachable { host: to.alias.to_owned(), found });
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(master)
    }

    /// Path of the control socket.
    pub fn socket(&self) -> PathBuf {
        self.socket.path().to_owned()
    }

    /// For tests of its death.
    pub fn pid(&self) -> u32 {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    fn has_ended(&self) -> bool {
        !matches!(self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait(), Ok(None))
    }
}

impl End for Master {
    fn cut(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // Both fail only when it has ended already.
        let _ = child.kill();
        let _ = child.wait();
    }

    fn story(&self) -> String {
        // Its descriptors close a moment before it can be waited for.
        let until = Instant::now() + DYING;
        while !self.has_ended() && Instant::now() < until {
            std::thread::sleep(LOOK_EVERY);
        }
        let ended = self.has_ended();
        // A master that lives has nothing more to say; one that died has said it all.
        let told = self.errors.text(if ended { STORY_WAIT } else { Duration::ZERO });
        if ended && told.is_empty() { "the ssh master ended".into() } else { told }
    }
}

impl Drop for Master {
    fn drop(&mut self) {
        self.cut();
    }
}

fn command(to: Destination<'_>, socket: &Path) -> Command {
    let mut command = Command::new("ssh");
    if let Some(config) = to.config {
        command.arg("-F").arg(config);
    }
    command.args(["-M", "-N", "-T"]).arg("-S").arg(socket);
    let options = [
        "ControlPersist=no",
        "StrictHostKeyChecking=yes",
        "BatchMode=yes",
        // What a user's config may add for people at a terminal; on this line it could only do harm.
        "ForwardAgent=no",
        "ForwardX11=no",
        "ClearAllForwardings=yes",
        "PermitLocalCommand=no",
        "RequestTTY=no",
        "RemoteCommand=none",
        // Quieter levels lose the reason when a server stops to answer.
        "LogLevel=INFO",
    ];
    command.args(options.iter().flat_map(|option| ["-o", option]));
    if let Some(user) = to.user {
        command.arg("-l").arg(user);
    }
    command.arg("--").arg(to.alias);
    command
}

/// A name that nobody can guess and take before ssh does; ssh itself makes the socket, for us alone, and removes
/// it when it ends, so that a killed workstation leaves nothing.
fn socket_name() -> std::io::Result<tempfile::NamedTempFile<()>> {
    let standard = std::env::temp_dir();
    let base =
        if standard.as_os_str().len() > LONGEST_FOLDER { Path::new("/tmp").to_owned() } else { standard };
    tempfile::Builder::new().prefix("ftssh-").rand_bytes(16).make_in(base, |_| Ok(()))
}

/// ssh ends with 255 for all of these; only its text tells them apart.
fn classify(alias: &str, text: &str) -> ConnectError {
    let host = alias.to_owned();
    let found = if text.is_empty() { "ssh ended without a word".to_owned() } else { text.to_owned() };
    let says = |words: &[&str]| words.iter().any(|w| text.contains(w));
    if says(&["Host key verification failed", "IDENTIFICATION HAS CHANGED", "host key is known"]) {
        ConnectError::HostKey { host, found }
    } else if says(&["Permission denied", "Too many authentication failures", "No supported authentication"])
    {
        ConnectError::Authentication { host, found }
    } else if says(&[
        "Bad configuration option",
        "Can't open user config file",
        "terminating,",
        "Bad owner or permissions",
    ]) {
        ConnectError::Ours { found: format!("ssh does not accept its configuration for {alias}: {found}") }
    } else {
        ConnectError::Unreachable { host, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_openssh_says_decides_the_kind() {
        let kind = |text| classify("h1", text);
        assert!(matches!(
            kind(
                "No ED25519 host key is known for 198.18.0.11 and you have requested strict checking.\nHost key verification failed."
            ),
            ConnectError::HostKey { .. }
        ));
        assert!(matches!(
            kind("root@h1: Permission denied (publickey)."),
            ConnectError::Authentication { .. }
        ));
        assert!(matches!(
            kind("ssh: connect to host 198.18.0.99 port 22: Connection refused"),
            ConnectError::Unreachable { .. }
        ));
        assert!(matches!(
            kind("ssh: Could not resolve hostname h9: Name or service not known"),
            ConnectError::Unreachable { .. }
        ));
        assert!(matches!(
            kind("/x/config: line 3: Bad configuration option: foo"),
            ConnectError::Ours { .. }
        ));
        assert!(matches!(kind(""), ConnectError::Unreachable { .. }));
    }

    #[test]
    fn an_alias_can_never_be_an_option() {
        let to = Destination { alias: "-oProxyCommand=true", user: None, config: None };
        assert!(matches!(Master::connect(to, Duration::from_secs(1)), Err(ConnectError::Ours { .. })));
        let words: Vec<_> = command(
            Destination { alias: "h1", user: Some("ada"), config: Some(Path::new("/c")) },
            Path::new("/s"),
        )
        .get_args()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
        assert_eq!(words[..2], ["-F", "/c"]);
        assert_eq!(words[words.len() - 4..], ["-l", "ada", "--", "h1"]);
        assert!(words.contains(&"StrictHostKeyChecking=yes".to_owned()));
    }
}
