//! The process tree a lab lives in, and its end.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use super::TEST_INTERFACE;

/// A fresh ssh host takes half a second; the rest is for a machine that is busy.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// The sandbox's process tree; all of it ends when this is dropped or the test process dies.
pub struct Sandbox {
    holder: Child,
    /// PID 1 of the sandbox, by its number outside.
    pub init: u32,
    /// PID 1 of each host, likewise.
    pub hosts: Vec<(String, u32)>,
}

impl Sandbox {
    /// Starts the hosts described in `folder` and returns when every sshd listens.
    /// Test interfaces are cabled in pairs, in the order of `hosts`.
    pub fn start(folder: &Path, hosts: &[(&str, &str)]) -> Sandbox {
        let entries: Vec<_> = hosts.iter().map(|(host, address)| format!("{host}={address}")).collect();
        let cables = hosts.chunks_exact(2).map(|pair| {
            let [a, b] = [pair[0].0, pair[1].0];
            format!("{a}:{TEST_INTERFACE}={b}:{TEST_INTERFACE}")
        });
        let log = folder.join("log");
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "bash"]);
        command.arg(folder.join("sandbox.sh"));
        command.env("LAB", folder).env("FIELDTRIAL_LAB", folder).env("HOSTS", entries.join(" "));
        command.env("CABLES", cables.collect::<Vec<_>>().join(" "));
        // So that no client can read or write the files of the one who runs the tests.
        command.env("HIDE", std::env::var("HOME").map(|home| format!("{home}/.ssh")).unwrap_or_default());
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(std::fs::File::create(&log).expect("the lab's folder takes files"));
        let mut holder = spawn_from_lasting_thread(command).expect("unshare starts");
        let stdout = holder.stdout.take().expect("standard output is piped");
        let mut sandbox = Sandbox { holder, init: 0, hosts: Vec::new() };

        let (send, receive) = channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = BufReader::new(stdout).read_line(&mut line);
            let _ = send.send(line);
        });
        let said = receive.recv_timeout(READY_LIMIT).unwrap_or_default();
        if said.trim() != "ready" {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            panic!("the lab did not come up within {READY_LIMIT:?}; sandbox.sh said:\n{log}");
        }
        sandbox.init = only_child(sandbox.holder.id()).expect("a ready sandbox has an init");
        for holder in children(sandbox.init) {
            let host = hosts.iter().find(|(host, _)| environment_has(holder, "HOST", host));
            if let (Some((host, _)), Some(init)) = (host, only_child(holder)) {
                sandbox.hosts.push(((*host).to_owned(), init));
            }
        }
        assert_eq!(sandbox.hosts.len(), hosts.len(), "hosts found: {:?}", sandbox.hosts);
        sandbox
    }

    /// PID 1 of a host, by its number outside.
    pub fn host(&self, name: &str) -> u32 {
        let known = self.hosts.iter().find(|(host, _)| host == name);
        known.unwrap_or_else(|| panic!("this lab has no host {name}")).1
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // The kernel ends a whole PID namespace before its init can be reaped, so once the holder has seen
        // its child end, nothing is left.
        match self.init {
            0 => kill(self.holder.id(), libc::SIGKILL),
            init => kill(init, libc::SIGKILL),
        }
        let _ = self.holder.wait();
    }
}

/// Whether this machine lets us build a lab; otherwise why not. A missing sshd is no reason to skip.
pub fn allowed() -> Result<(), String> {
    static ALLOWED: OnceLock<Result<(), String>> = OnceLock::new();
    let look = || {
        // SAFETY: geteuid has no arguments and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            return Err("the sshd lab makes namespaces as root, and this is an ordinary user".to_owned());
        }
        let probe = ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--mount-proc", "true"];
        let output = Command::new("unshare").args(probe).output();
        let output = output.map_err(|error| format!("unshare does not start: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("this machine forbids namespaces: {}", said.trim()));
        }
        let sshd = Path::new("/usr/sbin/sshd").exists();
        assert!(sshd, "there is no /usr/sbin/sshd; next step: tests/run installs what the tests need");
        Ok(())
    };
    ALLOWED.get_or_init(look).clone()
}

/// Sends a signal to one process; that it is gone already is no fault.
pub fn kill(pid: u32, signal: i32) {
    assert!(pid > 1, "process {pid} is not one of ours");
    // SAFETY: kill takes two numbers; `pid` is above 1, so it names one process and no group.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}

/// The one child of a process; None when there is none (yet, or any longer).
pub fn only_child(pid: u32) -> Option<u32> {
    children(pid).first().copied()
}

/// What the kernel calls the network namespace of a process.
pub fn network(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

/// Command lines of the processes that are in one of these networks.
pub fn inhabitants(networks: &[PathBuf]) -> Vec<String> {
    let named = members(networks).into_iter().map(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        format!("{pid}: {}", String::from_utf8_lossy(&line).replace('\0', " "))
    });
    named.collect()
}

/// The processes that are in one of these networks.
pub fn members(networks: &[PathBuf]) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("/proc is mounted");
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| network(*pid).is_some_and(|network| networks.contains(&network))).collect()
}

fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

fn environment_has(pid: u32, name: &str, value: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == format!("{name}={value}").as_bytes())
}

type Order = (Command, Sender<std::io::Result<Child>>);

/// The death signal comes when the thread that forked ends, and threads of tests end before the process.
fn spawn_from_lasting_thread(mut command: Command) -> std::io::Result<Child> {
    static ORDERS: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let parent = std::process::id();
    // SAFETY: between fork and exec only prctl, getppid and _exit are called, all async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            // The parent may have died before the signal was asked for.
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
            Ok(())
        });
    }
    let orders = ORDERS.get_or_init(|| {
        let (send, receive) = channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, answer) in receive {
                let _ = answer.send(command.spawn());
            }
        });
        Mutex::new(send)
    });
    let (send, receive) = channel();
    orders.lock().unwrap_or_else(|held| held.into_inner()).send((command, send)).expect("the thread lasts");
    receive.recv().expect("the thread answers")
}
