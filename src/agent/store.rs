//! Programs that a workstation brought to this host, or that a build made here, by their digest.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::model::digest;
use crate::model::job::FileId;
use crate::model::path_pattern::expand;

/// Outlives sessions, so that a program is uploaded once.
const BASE: &str = "/var/tmp";
const FOLDER: &str = "artifacts";
/// What nobody asked for in so long goes when something new comes.
const KEPT: Duration = Duration::from_secs(30 * 86_400);

/// The folder of artifacts, one folder a digest.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store of this user on this host, or one in `work` that goes with the session: where the first
    /// cannot be written or executed from, or where `alone` asks for it.
    pub fn open(work: &Path, alone: bool) -> Store {
        // SAFETY: always succeeds.
        let uid = unsafe { libc::geteuid() };
        let lasting = Path::new(BASE).join(format!("fieldtrial-{uid}"));
        let made = [lasting.clone(), lasting.join(FOLDER)].iter().all(|folder| own_folder(folder, uid));
        let folder = if !alone && made && executes(&lasting) { lasting } else { work.to_owned() };
        Store { folder: folder.join(FOLDER) }
    }

    /// The path of an artifact that is here, whole and executable.
    pub fn have(&self, sha256: &str, name: &str) -> Option<String> {
        let path = self.place(sha256, name).ok()?;
        let whole = digest::of_all(&mut File::open(&path).ok()?).is_ok_and(|(found, _)| found == sha256);
        if whole {
            // Used again, so not old; where that cannot be told, it is brought again one day.
            let _ = File::open(path.parent()?).and_then(|dir| dir.set_modified(SystemTime::now()));
        }
        whole.then(|| path.display().to_string())
    }

    /// Takes a piece of an artifact; after the last one it is checked, and its path given.
    ///
    /// # Errors
    /// A sentence: no space, a piece out of order, or another digest than it was called by.
    pub fn put(
        &self,
        sha256: &str,
        name: &str,
        offset: u64,
        data: &[u8],
        last: bool,
    ) -> Result<Option<String>, String> {
        let path = self.place(sha256, name)?;
        let part = path.with_file_name(".part");
        let failed = |e: io::Error| format!("{}: {e}", part.display());
        if offset == 0 {
            self.sweep();
            make_folder(path.parent().unwrap_or(&path)).map_err(failed)?;
        }
        let mut open = OpenOptions::new();
        let file = open.write(true).create(true).truncate(offset == 0).open(&part).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() != offset {
            return Err(format!("a piece of {name} came out of order, at byte {offset}"));
        }
        file.write_all_at(data, offset).map_err(failed)?;
        if !last {
            return Ok(None);
        }
        let found = digest::of_all(&mut File::open(&part).map_err(failed)?).map_err(failed)?.0;
        if found != sha256 {
            let _ = fs::remove_file(&part);
            return Err(format!("{name} arrived with the sha256 {found}, and was sent as {sha256}"));
        }
        self.finish(&part, &path).map(Some)
    }

    /// Keeps the one file below `folder` that fits a pattern.
    ///
    /// # Errors
    /// A sentence: none fits, several do, or it cannot be copied.
    pub fn keep(&self, folder: &Path, pattern: &str) -> Result<FileId, String> {
        let names = |below: &str| -> Vec<String> {
            let entries = fs::read_dir(folder.join(below)).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        let mut found = expand(pattern, &names);
        found.retain(|path| folder.join(path).is_file());
        let [only] = &found[..] else {
            let shown = match found.len() {
                0 => "none".to_owned(),
                n => format!("{n}: {}", found[..n.min(5)].join(", ")),
            };
            return Err(format!("expected one file `{pattern}` in {}, found {shown}", folder.display()));
        };
        let from = folder.join(only);
        let failed = |e: io::Error| format!("{}: {e}", from.display());
        let (sha256, bytes) = digest::of_all(&mut File::open(&from).map_err(failed)?).map_err(failed)?;
        let name = from.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let path = self.place(&sha256, &name)?;
        if self.have(&sha256, &name).is_none() {
            make_folder(path.parent().unwrap_or(&path)).map_err(failed)?;
            let part = path.with_file_name(".part");
            let mut to = File::create(&part).map_err(failed)?;
            io::copy(&mut File::open(&from).map_err(failed)?, &mut to).map_err(failed)?;
            to.flush().map_err(failed)?;
            self.finish(&part, &path)?;
        }
        Ok(FileId { path: path.display().to_string(), bytes, sha256 })
    }

    fn finish(&self, part: &Path, path: &Path) -> Result<String, String> {
        let failed = |e: io::Error| format!("{}: {e}", path.display());
        fs::set_permissions(part, fs::Permissions::from_mode(0o755)).map_err(failed)?;
        fs::rename(part, path).map_err(failed)?;
        Ok(path.display().to_string())
    }

    /// Where an artifact lies. What comes over the line shall not lead out of the store.
    fn place(&self, sha256: &str, name: &str) -> Result<PathBuf, String> {
        let digest = sha256.len() == 64 && sha256.bytes().all(|b| b.is_ascii_hexdigit());
        if !digest || name.is_empty() || name.contains('/') || name.starts_with('.') {
            return Err(format!("`{name}` with the sha256 `{sha256}` is no name of an artifact"));
        }
        Ok(self.folder.join(sha256).join(name))
    }

    fn sweep(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let modified = entry.metadata().and_then(|meta| meta.modified()).ok();
            let age = modified.and_then(|at| at.elapsed().ok());
            if age.is_some_and(|age| age > KEPT) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether the folder is there, or could be made, and belongs to this user alone.
fn own_folder(path: &Path, uid: libc::uid_t) -> bool {
    let made = make_folder(path).is_ok();
    made && fs::symlink_metadata(path)
        .is_ok_and(|meta| meta.is_dir() && meta.uid() == uid && meta.mode() & 0o022 == 0)
}

/// Whether programs may be started from a folder's file system.
fn executes(path: &Path) -> bool {
    let Ok(text) = std::ffi::CString::new(path.display().to_string()) else { return false };
    // SAFETY: plain memory that the kernel fills; the path ends in NUL.
    unsafe {
        let mut stat: libc::statvfs = std::mem::zeroed();
        libc::statvfs(text.as_ptr(), &mut stat) == 0 && stat.f_flag & (libc::ST_NOEXEC | libc::ST_RDONLY) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), true);
        (dir, store)
    }

    #[test]
    fn what_was_put_in_pieces_is_there_whole_and_executable() {
        let (_dir, store) = store();
        let text = b"#!/bin/sh\necho it runs\n";
        let sha256 = digest::of_bytes(text);
        assert_eq!(store.have(&sha256, "tool"), None);
        assert_eq!(store.put(&sha256, "tool", 0, &text[..10], false), Ok(None));
        let path = store.put(&sha256, "tool", 10, &text[10..], true).unwrap().unwrap();
        assert_eq!(store.have(&sha256, "tool").as_ref(), Some(&path));
        // Through a shell: another test that forks now may hold the file open for writing a moment longer.
        let said = std::process::Command::new("sh").arg(&path).output().unwrap();
        assert_eq!(said.stdout, b"it runs\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        fs::write(&path, "tampered").unwrap();
        assert_eq!(store.have(&sha256, "tool"), None, "what was changed is not it");
    }

    #[test]
    fn another_digest_a_lost_piece_and_a_way_out_are_refused() {
        let (_dir, store) = store();
        let sha256 = digest::of_bytes(b"abc");
        assert!(store.put(&sha256, "tool", 0, b"abd", true).unwrap_err().contains("was sent as"));
        assert!(store.put(&sha256, "tool", 7, b"c", true).unwrap_err().contains("out of order"));
        assert!(store.put(&sha256, "../tool", 0, b"abc", true).is_err());
        assert!(store.put("../x", "tool", 0, b"abc", true).is_err());
    }

    #[test]
    fn exactly_one_file_is_kept() {
        let (dir, store) = store();
        let built = dir.path().join("built");
        fs::create_dir_all(built.join("out")).unwrap();
        assert!(store.keep(&built, "out/app-*").unwrap_err().contains("found none"));
        fs::write(built.join("out/app-1"), "one").unwrap();
        let kept = store.keep(&built, "out/app-*").unwrap();
        assert_eq!((kept.bytes, kept.sha256.clone()), (3, digest::of_bytes(b"one")));
        assert_eq!(store.have(&kept.sha256, "app-1"), Some(kept.path));
        fs::write(built.join("out/app-2"), "two").unwrap();
        let why = store.keep(&built, "out/app-*").unwrap_err();
        assert!(why.contains("found 2: out/app-1, out/app-2"), "{why}");
    }
}
