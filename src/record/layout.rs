//! The folder of a record and the names in it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::RecordError;

/// `reports/<campaign>/<record>/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    pub const JOURNAL: &'static str = "journal.jsonl";
    pub const CAMPAIGN: &'static str = "campaign.yaml";
    pub const HOSTS: &'static str = "hosts.yaml";
    pub const DEAD_ENDS: &'static str = "dead-ends.yaml";
    /// Measured losses as entries of a dead-ends file.
    pub const LOSSES: &'static str = "losses.yaml";
    pub const PLAN: &'static str = "plan.json";
    pub const PAGE: &'static str = "index.html";
    pub const FINDINGS: &'static str = "findings.json";
    /// The ladder that the record is a part of, and its page.
    pub const LADDER: &'static str = "ladder.json";
    pub const LADDER_PAGE: &'static str = "ladder.html";

    /// Makes a new folder named after the second it was made in; the name never collides.
    ///
    /// # Errors
    /// The reports folder cannot be written.
    pub fn create(reports: &Path, campaign: &str, stamp: &str) -> Result<Folder, RecordError> {
        let parent = reports.join(campaign);
        fs::create_dir_all(&parent).map_err(RecordError::io("made", &parent))?;
        for attempt in 1u32.. {
            let name = if attempt == 1 { stamp.to_owned() } else { format!("{stamp}-{attempt}") };
            let path = parent.join(name);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Folder { path }),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && attempt < 1000 => {}
                Err(e) => return Err(RecordError::io("made", path)(e)),
            }
        }
        unreachable!("the loop above returns")
    }

    /// An existing record, named by its folder or a file in it.
    ///
    /// # Errors
    /// There is no journal in it.
    pub fn open(path: &Path) -> Result<Folder, RecordError> {
        let folder = if path.is_file() { path.parent().unwrap_or(path) } else { path };
        if folder.join(Self::JOURNAL).is_file() {
            Ok(Folder { path: folder.to_owned() })
        } else if folder.join(super::prune::PRUNED).is_file() {
            Err(RecordError::Pruned { path: folder.to_owned() })
        } else {
            Err(RecordError::NotARecord { path: path.to_owned() })
        }
    }

    /// The newest record of a campaign in a reports folder, by its name; None where there is none.
    pub fn newest(reports: &Path, campaign: &str) -> Option<Folder> {
        let entries = fs::read_dir(reports.join(campaign)).ok()?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().rev().find_map(|path| Folder::open(path).ok())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Last part of the folder's name.
    pub fn name(&self) -> String {
        self.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Writes a derived file whole or not at all.
    ///
    /// # Errors
    /// The folder cannot be written or the disk is full; the old file is intact then.
    pub fn put(&self, name: &str, text: &str) -> Result<(), RecordError> {
        put(&self.file(name), text)
    }

    /// The same for a file that is written piece by piece.
    ///
    /// # Errors
    /// Those of [`Folder::put`].
    pub fn put_by(
        &self,
        name: &str,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), RecordError> {
        put_by(&self.file(name), write)
    }

    pub fn text(&self, name: &str) -> Result<String, RecordError> {
        let path = self.file(name);
        fs::read_to_string(&path).map_err(RecordError::io("read", path))
    }
}

/// Replaces a file atomically: a temporary file beside it, synced, then renamed.
///
/// # Errors
/// The folder cannot be written or the disk is full; the old file is intact then.
pub fn put(path: &Path, text: impl AsRef<[u8]>) -> Result<(), RecordError> {
    put_by(path, |file| file.write_all(text.as_ref()))
}

fn put_by(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), RecordError> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".part-")
        .tempfile_in(parent)
        .map_err(RecordError::io("written", path))?;
    write(file.as_file_mut()).map_err(RecordError::io("written", path))?;
    file.as_file().sync_all().map_err(RecordError::io("written", path))?;
    use std::os::unix::fs::PermissionsExt;
    let readable = fs::Permissions::from_mode(0o644);
    file.as_file().set_permissions(readable).map_err(RecordError::io("written", path))?;
    file.persist(path).map_err(|e| RecordError::io("written", path)(e.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_records_of_one_second_get_two_folders() {
        let dir = tempfile::tempdir().unwrap();
        let a = Folder::create(dir.path(), "c", "20261130T120000Z").unwrap();
        let b = Folder::create(dir.path(), "c", "20261130T120000Z").unwrap();
        assert_ne!(a, b);
        assert_eq!(b.name(), "20261130T120000Z-2");
    }

    #[test]
    fn a_folder_without_a_journal_is_no_record() {
        let dir = tempfile::tempdir().unwrap();
        let error = Folder::open(dir.path()).unwrap_err();
        assert!(error.to_string().contains("no journal.jsonl"), "{error}");
    }

    #[test]
    fn an_unfinished_write_keeps_the_old_file() {
        // Case U10: the target is a folder that cannot be replaced by a file.
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join("state"), "old").unwrap();
        fs::create_dir(dir.path().join("blocked")).unwrap();
        fs::write(dir.path().join("blocked/x"), "kept").unwrap();
        assert!(put(&dir.path().join("blocked"), "new").is_err());
        assert_eq!(fs::read_to_string(dir.path().join("state")).unwrap(), "old");
        let stray = fs::read_dir(dir.path()).unwrap().filter_map(Result::ok);
        assert!(stray.into_iter().all(|e| !e.file_name().to_string_lossy().starts_with(".part-")));
    }
}
