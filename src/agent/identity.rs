//! What a file on this host is: path, size and digest, remembered while the file stays untouched.

use std::collections::HashMap;
use std::fs::{Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::model::digest;
use crate::model::job::FileId;

/// Device, inode, size, time of change of content and of the inode, in nanoseconds.
type Key = (u64, u64, u64, i128, i128);

/// Digests already computed. A file is only remembered when its times lie clearly in the past: a
/// write within the same tick of the clock would otherwise go unseen.
#[derive(Debug, Default)]
pub struct Digests {
    known: Mutex<HashMap<Key, String>>,
}

const MOST_KNOWN: usize = 10_000;
const SETTLED_NS: i128 = 2_000_000_000;

impl Digests {
    /// The identity of `path` if no byte has to be read for it.
    pub fn recall(&self, path: &Path) -> Option<FileId> {
        let meta = std::fs::metadata(path).ok()?;
        let sha256 = self.lock().get(&key(&meta))?.clone();
        Some(FileId { path: path.to_string_lossy().into_owned(), bytes: meta.len(), sha256 })
    }

    /// Reads and hashes `path`; may take as long as the file is big.
    ///
    /// # Errors
    /// A text saying what is wrong with the file: missing, a folder, not readable, changing.
    pub fn identify(&self, path: &Path) -> Result<FileId, String> {
        let shown = path.display();
        let failed = |e: io::Error| match e.kind() {
            io::ErrorKind::NotFound => format!("{shown}: no such file on this host"),
            _ => format!("{shown}: {e}"),
        };
        // Non-blocking: opening a named pipe must not wait for a writer.
        let mut file =
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(failed)?;
        let before = file.metadata().map_err(failed)?;
        if before.is_dir() {
            return Err(format!("{shown}: expected a file, found a folder; name the files in it"));
        }
        if !before.is_file() {
            return Err(format!("{shown}: expected a regular file, found a device, socket or pipe"));
        }
        if let Some(sha256) = self.lock().get(&key(&before)) {
            return Ok(FileId { path: shown.to_string(), bytes: before.len(), sha256: sha256.clone() });
        }
        let (sha256, _) = digest::of_all(&mut file).map_err(failed)?;
        let after = file.metadata().map_err(failed)?;
        if key(&after) != key(&before) {
            return Err(format!("{shown}: changed while it was being read"));
        }
        self.remember(&after, &sha256);
        Ok(FileId { path: shown.to_string(), bytes: after.len(), sha256 })
    }

    fn remember(&self, meta: &Metadata, sha256: &str) {
        let key = key(meta);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i128);
        if now - key.3.max(key.4) < SETTLED_NS {
            return;
        }
        let mut known = self.lock();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key, sha256.to_owned());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(meta: &Metadata) -> Key {
    let time = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
    (
        meta.dev(),
        meta.ino(),
        meta.len(),
        time(meta.mtime(), meta.mtime_nsec()),
        time(meta.ctime(), meta.ctime_nsec()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of "abc" as FIPS 180-2 gives it.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_file_is_known_by_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "abc").unwrap();
        let id = Digests::default().identify(&path).unwrap();
        assert_eq!((id.bytes, id.sha256.as_str()), (3, ABC));
    }

    #[test]
    fn a_file_just_written_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "abc").unwrap();
        let digests = Digests::default();
        digests.identify(&path).unwrap();
        assert_eq!(digests.recall(&path), None);
        std::fs::write(&path, "abd").unwrap();
        assert_ne!(digests.identify(&path).unwrap().sha256, ABC);
    }

    #[test]
    fn a_settled_file_is_recalled_until_it_is_touched() {
        let path = Path::new("/bin/sh");
        let digests = Digests::default();
        let id = digests.identify(path).unwrap();
        assert_eq!(digests.recall(path), Some(id));
        assert_eq!(digests.recall(Path::new("/nonexistent")), None);
    }

    #[test]
    fn what_is_no_regular_file_is_refused_with_its_kind() {
        let digests = Digests::default();
        assert!(digests.identify(Path::new("/tmp")).unwrap_err().contains("found a folder"));
        assert!(digests.identify(Path::new("/dev/null")).unwrap_err().contains("found a device"));
        assert!(digests.identify(Path::new("/nonexistent")).unwrap_err().contains("no such file"));
    }
}
