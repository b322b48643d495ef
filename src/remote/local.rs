//! An agent on this machine, as a child process.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::error::ConnectError;
use super::parent;
use super::session::{End, STORY_WAIT, Session, Wire};
use super::tail::Tail;

/// All of our environment that a local agent gets: where its lease and its work folders lie.
const KEPT: [&str; 3] = ["PATH", "TMPDIR", "XDG_RUNTIME_DIR"];

/// Starts `exe agent ARGS…` and takes its lease.
///
/// # Errors
/// See `Session::open`; `Ours` when the program cannot be started.
pub fn connect(
    host: &str,
    exe: &Path,
    args: &[String],
    holder: &str,
    lease: Duration,
) -> Result<Session, ConnectError> {
    let mut command = Command::new(exe);
    command.arg("agent").args(args);
    // Whatever a job may read from `/proc/1/environ` would end in a record that is published.
    command.env_clear();
    command.envs(KEPT.iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ours = |found: String| ConnectError::Ours { found };
    let mut child = parent::spawn(command, libc::SIGTERM)
        .map_err(|e| ours(format!("the agent {} cannot be started: {e}", exe.display())))?;
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(input), Some(output), Some(errors)) = (input, output, errors) else {
        return Err(ours("the agent was started without its pipes".into()));
    };
    let end = Box::new(Process { child: Mutex::new(child), errors: Tail::follow(errors) });
    Session::open(host, Wire { input: input.into(), output: output.into(), end }, holder, lease)
}

struct Process {
    child: Mutex<Child>,
    errors: Tail,
}

impl End for Process {
    fn cut(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // Both fail only when it has ended already.
        let _ = child.kill();
        let _ = child.wait();
    }

    fn story(&self) -> String {
        self.errors.text(STORY_WAIT)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.cut();
    }
}
