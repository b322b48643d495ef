//! The programs that fieldtrial is measured beside: hyperfine, and ssh with a shared connection.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{Summary, sum_up};
use crate::lab::Lab;
use crate::process;

const HYPERFINE: &str = "1.20.0";
const INSTALL_LIMIT: Duration = Duration::from_secs(900);
const RUNS: &str = "100";
const ROUND_TRIPS: usize = 200;

/// Path of hyperfine; cargo builds it below `target` the first time.
pub fn hyperfine() -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools");
    let program = tools.join("bin/hyperfine");
    let version = Command::new(&program).arg("--version").output();
    let is_there =
        version.is_ok_and(|said| said.stdout.starts_with(format!("hyperfine {HYPERFINE}").as_bytes()));
    if !is_there {
        println!("installing hyperfine {HYPERFINE} into {}", tools.display());
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command
            .args(["install", "hyperfine", "--locked", "--force", "--version", HYPERFINE, "--root"])
            .arg(&tools);
        // Not from inside the repository, whose cargo configuration would make it static.
        let output = process::finish(command.current_dir("/"), INSTALL_LIMIT);
        assert!(output.status.success(), "cargo cannot install hyperfine: {}", process::told(&output));
    }
    program
}

/// Wall times in milliseconds of one command line, by hyperfine without a shell.
/// `hyperfine` is a command that starts it where the line is to run.
pub fn time(mut hyperfine: Command, folder: &Path, line: &str) -> Vec<f64> {
    let export = folder.join("hyperfine.json");
    hyperfine.args(["-N", "--style", "none", "--warmup", "5", "--runs", RUNS, "--export-json"]);
    let output = process::finish(hyperfine.arg(&export).arg(line), INSTALL_LIMIT);
    assert!(output.status.success(), "hyperfine {line}: {}", process::told(&output));
    let text = std::fs::read_to_string(&export).expect("hyperfine wrote its export");
    let export: serde_json::Value = serde_json::from_str(&text).expect("the export is JSON");
    let times = export.pointer("/results/0/times").and_then(|times| times.as_array());
    times.expect("the export has times").iter().filter_map(|time| Some(time.as_f64()? * 1e3)).collect()
}

/// An ssh master in the lab, ended when this is dropped.
pub struct SharedConnection<'lab> {
    lab: &'lab Lab,
    host: &'static str,
    master: Child,
}

impl<'lab> SharedConnection<'lab> {
    /// Connects and returns when commands can share the connection.
    pub fn open(lab: &'lab Lab, host: &'static str) -> Self {
        let mut command = lab.command("ssh");
        command.arg("-F").arg(lab.ssh_config()).args(["-M", "-N", "-o", "ControlPersist=no", "-S"]);
        command.arg(socket(lab)).arg(host).stdin(Stdio::null());
        let master = command.spawn().expect("nsenter starts");
        let shared = SharedConnection { lab, host, master };
        let began = Instant::now();
        while !socket(lab).exists() {
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "the shared connection to {host} did not come up"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        shared
    }

    /// The command line that runs `line` on the host over this connection.
    pub fn command_line(&self, line: &str) -> String {
        let (config, socket) = (self.lab.ssh_config(), socket(self.lab));
        format!("ssh -F {} -S {} {} {line}", config.display(), socket.display(), self.host)
    }

    /// How long one short line takes to a program on the host and back, on a channel that stays open.
    pub fn round_trip(&self) -> Summary {
        let mut command = self.lab.command("ssh");
        command.arg("-F").arg(self.lab.ssh_config()).arg("-S").arg(socket(self.lab)).args([self.host, "cat"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("nsenter starts");
        let mut to = child.stdin.take().expect("the input is piped");
        let mut from = BufReader::new(child.stdout.take().expect("the output is piped"));
        let mut trips = Vec::new();
        for trip in 0..=ROUND_TRIPS {
            let began = Instant::now();
            to.write_all(b"there and back\n").expect("the channel takes a line");
            let mut line = String::new();
            from.read_line(&mut line).expect("the channel gives a line");
            assert_eq!(line, "there and back\n");
            // The first one also waits for the channel to open.
            if trip > 0 {
                trips.push(began.elapsed().as_secs_f64() * 1e3);
            }
        }
        drop(to);
        process::wait(&mut child, Duration::from_secs(10));
        sum_up(trips)
    }
}

impl Drop for SharedConnection<'_> {
    fn drop(&mut self) {
        if process::wait(&mut self.master, Duration::ZERO).is_none() {
            self.lab.signal(&self.master, libc::SIGTERM);
            let _ = process::wait(&mut self.master, Duration::from_secs(10));
        }
    }
}

fn socket(lab: &Lab) -> PathBuf {
    lab.folder().join("shared")
}
