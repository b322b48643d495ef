//! Fresh folders that jobs run in.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = "fieldtrial-work-";
const LOCK: &str = ".lock";
/// A folder this young may belong to an agent that has not locked it yet.
const YOUNG: Duration = Duration::from_secs(60);

/// One folder per agent, with one below it per job; removed when dropped, or by a later agent of this
/// user where this one is killed.
#[derive(Debug)]
pub struct WorkFolder {
    dir: tempfile::TempDir,
    /// The kernel frees it with its holder.
    _lock: File,
}

impl WorkFolder {
    /// Makes the folder and removes what killed agents have left beside it.
    ///
    /// # Errors
    /// The folder for temporary files is full or not writable.
    pub fn make() -> io::Result<WorkFolder> {
        let base = std::env::temp_dir();
        sweep(&base, YOUNG);
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&base)?;
        let lock = File::create(dir.path().join(LOCK))?;
        lock.try_lock()?;
        Ok(WorkFolder { dir, _lock: lock })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Where the folder of a job is, or would be.
    pub fn of(&self, job: u64) -> PathBuf {
        self.dir.path().join(format!("job-{job}"))
    }

    /// An empty folder for one job.
    ///
    /// # Errors
    /// It exists already, or the disk is full.
    pub fn fresh(&self, job: u64) -> io::Result<PathBuf> {
        let path = self.of(job);
        fs::create_dir(&path)?;
        Ok(path)
    }

    /// The folder that an earlier job kept, or an empty one where that job never came so far.
    ///
    /// # Errors
    /// The disk is full.
    pub fn kept(&self, job: u64) -> io::Result<PathBuf> {
        let path = self.of(job);
        fs::create_dir_all(&path)?;
        Ok(path)
    }
}

/// Removes a folder with all that is in it; one that is not there is as good.
///
/// # Errors
/// The kernel's, for what cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Removes a folder that is empty; false when it holds something, which may take long to remove.
pub fn remove_if_empty(path: &Path) -> bool {
    fs::remove_dir(path).is_ok()
}

fn sweep(base: &Path, young: Duration) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let path = entry.path();
        let named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if named && is_ours_and_old(&path, young) && is_abandoned(&path) {
            // What cannot be removed now is tried again by the next agent.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_ours_and_old(path: &Path, young: Duration) -> bool {
    // SAFETY: always succeeds.
    let uid = unsafe { libc::geteuid() };
    let Ok(meta) = fs::symlink_metadata(path) else { return false };
    let old = meta.modified().ok().and_then(|m| m.elapsed().ok()).is_some_and(|age| age >= young);
    meta.is_dir() && meta.uid() == uid && old
}

fn is_abandoned(path: &Path) -> bool {
    match File::open(path.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_agent_left_is_swept() {
        let base = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = base.path().join(name);
            fs::create_dir_all(path.join("job-1")).unwrap();
            (File::create(path.join(LOCK)).unwrap(), path)
        };
        let (held, alive) = make("fieldtrial-work-alive");
        held.try_lock().unwrap();
        let (_, dead) = make("fieldtrial-work-dead");
        let (_, other) = make("something-else");
        sweep(base.path(), YOUNG);
        assert!(dead.exists(), "too young to judge");
        sweep(base.path(), Duration::ZERO);
        assert_eq!((alive.exists(), dead.exists(), other.exists()), (true, false, true));
    }
}
