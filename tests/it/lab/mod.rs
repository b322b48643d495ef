//! A lab of real sshd hosts for one test, wholly inside namespaces of its own and without a route out.
//!
//! Everything dies with the `Lab`, and with the test process however that ends. Labs of tests that run at
//! the same time use the same names and addresses and cannot see each other.

mod files;
mod sandbox;

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::process;
use sandbox::Sandbox;

/// Names of the hosts with their management addresses, on interface `eth0`.
pub const HOSTS: [(&str, &str); 2] = [("h1", "198.18.0.11"), ("h2", "198.18.0.12")];
/// The test interface of each host; the two are cabled directly to each other.
pub const TEST_INTERFACE: &str = "test0";
const LIMIT: Duration = Duration::from_secs(30);

/// What is wrong with which host; by default nothing is.
#[derive(Debug, Default, Clone)]
pub struct Faults {
    /// known_hosts has another key for these.
    pub wrong_key: Vec<&'static str>,
    /// known_hosts has no line for these.
    pub unknown_key: Vec<&'static str>,
    /// Nothing under /run, /tmp, /var/tmp, /dev/shm, /root, /home, /opt, /srv, /usr/local may be executed.
    pub noexec: Vec<&'static str>,
    /// Not a byte more can be written anywhere.
    pub full: Vec<&'static str>,
}

/// A running lab of two hosts, h1 and h2.
pub struct Lab {
    // Before the folder, so that the processes are gone when it is removed.
    sandbox: Sandbox,
    folder: tempfile::TempDir,
}

impl Lab {
    /// Two hosts without a fault, both answering; None (after saying why) where this machine cannot.
    pub fn two_hosts() -> Option<Lab> {
        Lab::with(&Faults::default())
    }

    /// Only the sandbox, in a fraction of the time: a workstation of its own, whose locks, leases and network
    /// are not this machine's, for campaigns on local and embedded hosts.
    pub fn no_hosts() -> Option<Lab> {
        Lab::start(&Faults::default(), &[])
    }

    /// Two hosts with faults, sshd listening on both; None (after saying why) where this machine cannot.
    pub fn with(faults: &Faults) -> Option<Lab> {
        Lab::start(faults, &HOSTS)
    }

    fn start(faults: &Faults, hosts: &[(&'static str, &'static str)]) -> Option<Lab> {
        if let Err(why) = sandbox::allowed() {
            crate::skip::skip("sandbox", &why);
            return None;
        }
        // Paths of unix sockets end at 108 bytes, and control sockets are made below this folder.
        let folder = tempfile::Builder::new().prefix("ft").rand_bytes(6).tempdir_in("/tmp");
        let folder = folder.expect("the lab needs a folder in /tmp");
        files::write(folder.path(), hosts, faults);
        let sandbox = Sandbox::start(folder.path(), hosts);
        Some(Lab { sandbox, folder })
    }

    /// The lab's folder, seen under the same path by the test and by what runs in the sandbox, not by hosts.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The generated ssh config; it names the hosts, the client key and known_hosts.
    pub fn ssh_config(&self) -> PathBuf {
        self.folder().join("ssh_config")
    }

    /// A program that runs where the workstation would be: it reaches the hosts and nothing else.
    /// Its working directory is the lab's folder; `Command::current_dir` has no effect on it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.sandbox.init.to_string(), "-n", "-m", "-p", "--", "env", "-C"]);
        command.arg(self.folder()).arg(program);
        command.env("HOME", self.folder().join("home")).env("FIELDTRIAL_LAB", self.folder());
        command
    }

    /// The program under test, as on the workstation.
    pub fn fieldtrial(&self) -> Command {
        self.command(env!("CARGO_BIN_EXE_fieldtrial"))
    }

    /// The system's ssh client running a shell command on a host, with the lab's config.
    pub fn ssh(&self, host: &str, line: &str) -> Command {
        let mut command = self.command("ssh");
        command.arg("-F").arg(self.ssh_config()).args([host, line]);
        command
    }

    /// Process id, as the test sees it, of the program of a started `command`.
    /// Signals must go there: `Child::kill` would end only the door to the sandbox.
    pub fn pid_of(&self, child: &Child) -> u32 {
        sandbox::only_child(child.id()).expect("the program has ended or did not start")
    }

    /// Sends a signal to the program of a started `command`.
    pub fn signal(&self, child: &Child, signal: i32) {
        sandbox::kill(self.pid_of(child), signal);
    }

    /// Runs a shell line directly on a host, past sshd: for looking, and for faults.
    pub fn on_host(&self, host: &str, line: &str) -> Output {
        process::finish(&mut self.at_host(host, line), LIMIT)
    }

    /// Puts a file on one host only, over ssh's head; `mode` as chmod takes it.
    pub fn place(&self, host: &str, path: &str, bytes: &[u8], mode: &str) {
        let line = format!("mkdir -p \"$(dirname '{path}')\" && cat > '{path}' && chmod {mode} '{path}'");
        let mut child = self.at_host(host, &line).stdin(Stdio::piped()).spawn().expect("nsenter starts");
        let mut stdin = child.stdin.take().expect("the input is piped");
        stdin.write_all(bytes).unwrap_or_else(|error| panic!("cannot write {path} on {host}: {error}"));
        drop(stdin);
        let status = process::wait(&mut child, LIMIT);
        assert!(status.is_some_and(|status| status.success()), "cannot place {path} on {host}: {status:?}");
    }

    /// Pulls the management cable of a host; its test link stays.
    pub fn cut_link(&self, host: &str) {
        self.set_link(host, "down");
    }

    /// Puts the management cable of a host back.
    pub fn heal_link(&self, host: &str) {
        self.set_link(host, "up");
    }

    /// Takes the power from a host: every process of it dies at once, and it does not come back.
    pub fn kill_host(&self, host: &str) {
        sandbox::kill(self.sandbox.host(host), libc::SIGKILL);
    }

    /// Stops every process of a host without ending any: it neither answers nor hangs up.
    pub fn freeze_host(&self, host: &str) {
        self.signal_host(host, libc::SIGSTOP);
    }

    /// Lets the processes of a frozen host go on.
    pub fn thaw_host(&self, host: &str) {
        self.signal_host(host, libc::SIGCONT);
    }

    /// Writes a hosts file for h1 and h2 (port `port0` each, cabled) with `extra` lines at its end.
    pub fn hosts_yaml(&self, extra: &str) -> PathBuf {
        let path = self.folder().join("hosts.yaml");
        std::fs::write(&path, files::hosts_yaml(&self.ssh_config(), extra))
            .expect("the lab's folder takes files");
        path
    }

    /// Network namespaces of the sandbox and its hosts: whoever is in one belongs to this lab.
    pub fn networks(&self) -> Vec<PathBuf> {
        let inits = self.sandbox.hosts.iter().map(|(_, init)| *init).chain([self.sandbox.init]);
        inits.map(|pid| sandbox::network(pid).expect("a running process has a network")).collect()
    }

    fn at_host(&self, host: &str, line: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.sandbox.host(host).to_string(), "-n", "-m", "-u", "-i", "-p", "--"]);
        command.args(["sh", "-c", line]).env("HOME", "/root").env_remove("FIELDTRIAL_SKIPS");
        command
    }

    fn signal_host(&self, host: &str, signal: i32) {
        let network = sandbox::network(self.sandbox.host(host)).expect("the host runs");
        for pid in sandbox::members(&[network]) {
            sandbox::kill(pid, signal);
        }
    }

    fn set_link(&self, host: &str, state: &str) {
        let mut command = self.command("ip");
        let output = process::finish(command.args(["link", "set", &format!("lab{host}"), state]), LIMIT);
        assert!(output.status.success(), "{}", process::told(&output));
    }
}

/// Command lines of the processes that are in one of these networks.
pub fn inhabitants(networks: &[PathBuf]) -> Vec<String> {
    sandbox::inhabitants(networks)
}

/// Whether this machine lets us build a lab, or run in namespaces at all; otherwise why not.
pub fn allowed() -> Result<(), String> {
    sandbox::allowed()
}
