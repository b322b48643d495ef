//! Who works on a record now: a file whose lock the kernel frees with its holder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::RecordError;

/// Name of the file, in the folder of a record.
pub const RUNNING: &str = "running.json";
/// Name of the file that keeps a campaign from running twice at once, in its folder.
const TURN: &str = ".turn";

/// The process that works on a record, told apart from any later one with its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    pub pid: u32,
    /// When the process began, in the kernel's ticks since boot.
    pub start_ticks: u64,
    pub boot_id: String,
    /// RFC 3339 in UTC.
    pub since: String,
    /// User and machine.
    pub who: String,
    /// What it waits for before it can begin; empty once it works.
    pub waits_for: String,
}

/// Held by the worker for as long as it lives.
#[derive(Debug)]
pub struct Running {
    file: File,
    pub worker: Worker,
}

impl Running {
    /// Says that this process works on the record in `folder`.
    ///
    /// # Errors
    /// The folder cannot be written, or somebody else works on it.
    pub fn begin(folder: &Path, since: &str, who: &str) -> Result<Running, RecordError> {
        let path = folder.join(RUNNING);
        let io = |doing| RecordError::io(doing, &path);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io("opened"))?;
        locked(&file).map_err(|_| RecordError::InUse { path: path.clone() })?;
        let pid = std::process::id();
        let worker = Worker {
            pid,
            start_ticks: start_ticks(pid).unwrap_or(0),
            boot_id: boot_id(),
            since: since.to_owned(),
            who: who.to_owned(),
            waits_for: String::new(),
        };
        let mut running = Running { file, worker };
        running.store().map_err(io("written"))?;
        Ok(running)
    }

    /// Says what the work cannot begin without, or that it has begun.
    pub fn waits_for(&mut self, what: &str) {
        if self.worker.waits_for != what {
            self.worker.waits_for = what.to_owned();
            // Whoever asks is told less; the work itself does not depend on it.
            let _ = self.store();
        }
    }

    fn store(&mut self) -> std::io::Result<()> {
        let text = serde_json::to_string(&self.worker)? + "\n";
        self.file.rewind()?;
        self.file.set_len(0)?;
        self.file.write_all(text.as_bytes())
    }
}

/// Who works on the record in `folder`; None where nobody does.
pub fn worker(folder: &Path) -> Option<Worker> {
    let mut file = File::open(folder.join(RUNNING)).ok()?;
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Whether `worker` is still the process that it was, on this machine and since this boot.
pub fn is_alive(worker: &Worker) -> bool {
    worker.boot_id == boot_id() && start_ticks(worker.pid) == Some(worker.start_ticks)
}

/// The one trial of a campaign that may run now; the next one's turn comes when this is dropped.
#[derive(Debug)]
pub struct Turn {
    _lock: File,
}

impl Turn {
    /// None while another trial of the campaign in `folder` has it.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn take(folder: &Path) -> Result<Option<Turn>, RecordError> {
        let path = folder.join(TURN);
        std::fs::create_dir_all(folder).map_err(RecordError::io("made", folder))?;
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let lock = open.map_err(RecordError::io("opened", &path))?;
        Ok(locked(&lock).is_ok().then_some(Turn { _lock: lock }))
    }
}

/// Whoever only looks holds a lock for a moment, which is waited for.
fn locked(file: &File) -> Result<(), TryLockError> {
    for _ in 0..50 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(2)),
            other => return other,
        }
    }
    file.try_lock()
}

/// Field 22 of `/proc/PID/stat`; the name before it may hold anything.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_seen_while_it_holds_the_file_and_not_a_moment_longer() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(worker(folder.path()), None);
        let running = Running::begin(folder.path(), "2026-11-30T00:00:00Z", "ada@desk").unwrap();
        let seen = worker(folder.path()).expect("it works");
        assert_eq!(seen.pid, std::process::id());
        assert!(is_alive(&seen));
        assert!(!is_alive(&Worker { start_ticks: seen.start_ticks + 1, ..seen.clone() }), "a later process");
        assert!(!is_alive(&Worker { boot_id: "another".into(), ..seen }), "before a reboot");
        assert!(matches!(Running::begin(folder.path(), "", ""), Err(RecordError::InUse { .. })));
        drop(running);
        assert_eq!(worker(folder.path()), None, "the file is there, its lock is not");
    }

    #[test]
    fn a_campaign_has_one_turn_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = Turn::take(folder.path()).unwrap();
        assert!(first.is_some() && Turn::take(folder.path()).unwrap().is_none());
        drop(first);
        assert!(Turn::take(folder.path()).unwrap().is_some());
    }
}
