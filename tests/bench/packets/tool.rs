//! One tool under measurement: started at one end, pinned, with real-time priority, and ended again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::machine::members;
use super::pair::{End, Namespaces};
use crate::process::wait;

/// A tool that does not end by SIGINT within this is killed.
const END_LIMIT: Duration = Duration::from_secs(5);
const READY_LIMIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A tool at work; it ends with this value, and with the benchmark.
pub struct Tool {
    child: Child,
    name: String,
    said: PathBuf,
    complained: PathBuf,
}

impl Tool {
    /// Starts `words` on `cpus`; what it says is kept in `folder`. The class is round-robin, so that one
    /// thread of a tool that takes its whole CPU leaves a turn to those that listen.
    pub fn start(
        namespaces: &Namespaces,
        end: End,
        cpus: &str,
        words: &[String],
        folder: &Path,
    ) -> io::Result<Self> {
        let side = if end == End::Near { "near" } else { "far" };
        let (said, complained) = (folder.join(format!("{side}.out")), folder.join(format!("{side}.err")));
        let mut command = namespaces.command(end, "chrt");
        command.args(["-r", "1", "taskset", "-c", cpus]).args(words);
        command.stdin(Stdio::piped()).stdout(File::create(&said)?).stderr(File::create(&complained)?);
        // A group of its own, since some tools fork.
        command.process_group(0);
        // SAFETY: prctl with a number is safe between fork and exec.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
        let name = words.first().and_then(|word| Path::new(word).file_name()).unwrap_or_default();
        Ok(Self { child: command.spawn()?, name: name.to_string_lossy().into_owned(), said, complained })
    }

    /// Waits until one of our tools says that it is ready.
    pub fn wait_until_ready(&mut self) -> Result<(), String> {
        let began = Instant::now();
        while !self.lines().iter().any(|line| line["event"] == "ready") {
            self.check_alive()?;
            if began.elapsed() > READY_LIMIT {
                return Err(format!("{} is not ready after {READY_LIMIT:?}", self.name));
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Err with what the tool said if it has ended.
    pub fn check_alive(&mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(format!("{} ended early: {}", self.name, last_words(&self.text()))),
        }
    }

    /// Processes of this tool as they are now.
    pub fn processes(&self) -> Vec<u32> {
        members(self.child.id())
    }

    /// Writes one line to the tool's input.
    pub fn tell(&mut self, line: &str) -> Result<(), String> {
        let input = self.child.stdin.as_mut().expect("the input is piped");
        writeln!(input, "{line}").map_err(|e| format!("{} does not listen: {e}", self.name))
    }

    pub fn interrupt(&self) {
        self.signal(libc::SIGINT);
    }

    /// Waits for the end; returns both streams.
    pub fn end(mut self) -> Result<String, String> {
        if wait(&mut self.child, END_LIMIT).is_none() {
            return Err(format!("{} did not end within {END_LIMIT:?}", self.name));
        }
        Ok(self.text())
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: the group is that of our child, which has not been waited for.
        unsafe { libc::killpg(self.child.id() as libc::pid_t, signal) };
    }

    fn text(&self) -> String {
        let read = |path: &PathBuf| fs::read(path).unwrap_or_default();
        let bytes = [read(&self.said), read(&self.complained)].concat();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn lines(&self) -> Vec<Value> {
        self.text().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.signal(libc::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

/// The result that one of our tools printed last.
pub fn result_of(text: &str) -> Result<Value, String> {
    let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let result = lines.rfind(|line| line["event"] == "result");
    result.ok_or_else(|| format!("no result: {}", last_words(text)))
}

/// The end of what was said, on one line.
pub fn last_words(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" | ").chars().take(400).collect()
}
