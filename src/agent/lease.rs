//! The lease of a host: a lock that the kernel frees with its holder, and a number that only grows.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Why the host was not given.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("{0}")]
    Held(String),
    #[error("the state folder {path} cannot be used: {why}; give another one with --state")]
    Folder { path: PathBuf, why: String },
    #[error("the lease in {path} cannot be kept: {source}")]
    Io { path: PathBuf, source: io::Error },
}

/// The host, held for as long as this lives.
#[derive(Debug)]
pub struct Lease {
    lock: File,
    state: PathBuf,
    pub number: u64,
}

/// A holder that was just killed needs a moment until the kernel has ended its jobs.
const PATIENCE: Duration = Duration::from_millis(600);

/// Folder of the lock where none is given: `/run/fieldtrial` for root, else a private one per user.
pub fn default_state() -> PathBuf {
    // SAFETY: always succeeds.
    let uid = unsafe { libc::geteuid() };
    if uid == 0 {
        return PathBuf::from("/run/fieldtrial");
    }
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|d| d.is_dir()) {
        Some(dir) => dir.join("fieldtrial"),
        None => PathBuf::from(format!("/tmp/fieldtrial-{uid}")),
    }
}

impl Lease {
    /// Takes the host for `holder`, a text that the next one to come can act on.
    ///
    /// # Errors
    /// `Held` with who has it; the folder is not ours alone; input or output.
    pub fn take(state: &Path, holder: &str, since: &str) -> Result<Lease, LeaseError> {
        private_folder(state)?;
        let path = state.join("lock");
        let io = |source| LeaseError::Io { path: path.clone(), source };
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)
            .map_err(io)?;
        let until = Instant::now() + PATIENCE;
        while let Err(error) = lock.try_lock() {
            match error {
                fs::TryLockError::Error(e) => return Err(io(e)),
                fs::TryLockError::WouldBlock if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                fs::TryLockError::WouldBlock => {
                    let mut text = String::new();
                    lock.read_to_string(&mut text).map_err(io)?;
                    let known = !text.trim().is_empty();
                    return Err(LeaseError::Held(if known {
                        text.trim().to_owned()
                    } else {
                        "somebody who left no name".into()
                    }));
                }
            }
        }
        let number = read_number(state).unwrap_or(0) + 1;
        write_whole(&state.join("lease"), number.to_string().as_bytes()).map_err(io)?;
        lock.set_len(0).map_err(io)?;
        let pid = std::process::id();
        lock.write_all(format!("{holder}, agent pid {pid}, since {since}\n").as_bytes()).map_err(io)?;
        Ok(Lease { lock, state: state.to_owned(), number })
    }

    /// The lock's descriptor, which a job's init keeps open.
    pub fn descriptor(&self) -> RawFd {
        self.lock.as_raw_fd()
    }

    /// Err with the reason when a later lease exists on the host: this one must not act any more.
    pub fn still_ours(&self) -> Result<(), String> {
        match read_number(&self.state) {
            Some(n) if n == self.number => Ok(()),
            Some(n) => Err(format!(
                "a later session: this one has lease {}, the host has given out {n}",
                self.number
            )),
            None => {
                Err(format!("nobody knows: {} has no readable lease number any more", self.state.display()))
            }
        }
    }
}

fn effective_uid() -> u32 {
    // SAFETY: always succeeds.
    unsafe { libc::geteuid() }
}

fn read_number(state: &Path) -> Option<u64> {
    fs::read_to_string(state.join("lease")).ok()?.trim().parse().ok()
}

/// A reader sees the old or the new text, never a part.
fn write_whole(path: &Path, text: &[u8]) -> io::Result<()> {
    let next = path.with_extension("next");
    fs::write(&next, text)?;
    fs::rename(&next, path)
}

fn private_folder(state: &Path) -> Result<(), LeaseError> {
    let bad = |why: String| LeaseError::Folder { path: state.to_owned(), why };
    DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(|e| bad(e.to_string()))?;
    let meta = fs::symlink_metadata(state).map_err(|e| bad(e.to_string()))?;
    if !meta.is_dir() {
        return Err(bad("it is not a folder".into()));
    }
    if meta.uid() != effective_uid() {
        return Err(bad(format!("it belongs to user {}, not to {}", meta.uid(), effective_uid())));
    }
    if meta.mode() & 0o022 != 0 {
        return Err(bad(format!("others may write to it (mode {:o}, expected 700)", meta.mode() & 0o7777)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_holder_is_told_who_has_the_host_and_gets_it_once_freed() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let first = Lease::take(&state, "ada@desk", "2026-11-30T00:00:00Z").unwrap();
        assert_eq!(first.number, 1);
        let refused = Lease::take(&state, "bob@desk", "2026-11-30T00:00:01Z").unwrap_err();
        let text = refused.to_string();
        assert!(text.contains("ada@desk") && text.contains("since 2026-11-30T00:00:00Z"), "{text}");
        assert!(text.contains(&format!("pid {}", std::process::id())), "{text}");
        drop(first);
        assert_eq!(Lease::take(&state, "bob@desk", "2026-11-30T00:00:02Z").unwrap().number, 2);
    }

    #[test]
    fn an_overtaken_lease_stops_acting() {
        let dir = tempfile::tempdir().unwrap();
        let lease = Lease::take(dir.path(), "ada", "now").unwrap();
        assert!(lease.still_ours().is_ok());
        fs::write(dir.path().join("lease"), "7").unwrap();
        assert!(lease.still_ours().unwrap_err().contains("given out 7"));
        fs::remove_file(dir.path().join("lease")).unwrap();
        assert!(lease.still_ours().is_err());
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(Lease::take(dir.path(), "ada", "now"), Err(LeaseError::Folder { .. })));
    }
}
