//! The servant on a host: serve, facts, lease, children.

pub mod account;
pub mod capture;
pub mod channel;
pub mod counters;
pub mod exec;
pub mod facts;
pub mod identity;
pub mod init;
pub mod jobs;
pub mod journal;
pub mod keeper;
pub mod launch;
pub mod lease;
pub mod namespace;
mod page_cache;
pub mod ports;
mod processors;
mod readiness;
pub mod resolve;
pub mod servant;
mod store;
pub mod sweep;
pub mod verdict;
pub mod workdir;
mod written;

use std::path::PathBuf;

/// Arguments of the hidden `fieldtrial agent`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct AgentArgs {
    /// Folder of the host's lock and lease number
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Live in a network namespace of its own
    #[arg(long)]
    pub netns: bool,
    /// First make a user namespace in which this user is root
    #[arg(long)]
    pub userns: bool,
    /// First join the user namespace of this process
    #[arg(long, value_name = "PID", conflicts_with = "userns")]
    pub join_userns: Option<i32>,
    /// Value of SSH_CONNECTION, which sudo would drop
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub ssh_connection: String,
}

/// The line of talk is over: its end, or a farewell.
pub const EXIT_DONE: i32 = 0;
/// A namespace asked for could not be had; standard error says which.
pub const EXIT_NO_NAMESPACE: i32 = 72;
/// Silence for longer than the lease, or a line that failed.
pub const EXIT_LOST: i32 = 75;

/// Serves one session on standard input and output; returns the exit status. To be called from the
/// main thread, which must outlive all jobs.
pub fn serve(args: &AgentArgs) -> i32 {
    if let Err(error) = namespace::enter(args) {
        complain(&error);
        return EXIT_NO_NAMESPACE;
    }
    match servant::serve(args) {
        Ok(status) => status,
        Err(error) => {
            complain(&error);
            EXIT_LOST
        }
    }
}

/// Tells the workstation why this agent ends. Where its end of the pipe is gone nobody is left to
/// hear it, and what must still be done here goes on.
fn complain(why: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "fieldtrial agent: {why}");
}
