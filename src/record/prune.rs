//! What of a record can be removed to make room: its raw evidence; what was concluded from it stays.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::RecordError;
use super::layout::{Folder, put};
use crate::model::digest;

/// Name of the note that stands for removed evidence.
pub const PRUNED: &str = "pruned.json";

/// Raw samples and what can only be read beside them. Report, findings, runs and rejected runs stay.
const RAW: [&str; 3] = [Folder::JOURNAL, "samples.csv", "counters.csv"];
const RAW_FOLDERS: [&str; 1] = ["builds"];

/// What was removed of a record, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// RFC 3339 in UTC.
    pub at: String,
    pub who: String,
    pub bytes: u64,
    pub files: Vec<String>,
    /// Digest of the journal, by which any copy of it can be known.
    pub journal_sha256: String,
}

/// Raw files of a record with their sizes.
pub fn raw(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = vec![];
    let mut add = |path: PathBuf| {
        if let Ok(meta) = fs::symlink_metadata(&path)
            && meta.is_file()
        {
            found.push((path, meta.len()));
        }
    };
    for name in RAW {
        add(folder.join(name));
    }
    let inside = RAW_FOLDERS.iter().flat_map(|name| fs::read_dir(folder.join(name)).into_iter().flatten());
    inside.flatten().for_each(|entry| add(entry.path()));
    let torn = fs::read_dir(folder).into_iter().flatten().flatten();
    torn.filter(|entry| entry.file_name().to_string_lossy().starts_with("journal.torn-"))
        .for_each(|entry| add(entry.path()));
    found
}

/// Removes the raw evidence of a record. The note that says so is on the disk before the first file goes.
///
/// # Errors
/// A file cannot be removed, or the note cannot be written.
pub fn prune(folder: &Folder, at: &str, who: &str) -> Result<Pruned, RecordError> {
    let journal = folder.file(Folder::JOURNAL);
    let io = |doing| RecordError::io(doing, &journal);
    let mut file = fs::File::open(&journal).map_err(io("opened"))?;
    let (journal_sha256, _) = digest::of_all(&mut file).map_err(io("read"))?;
    let files = raw(folder.path());
    let name = |path: &Path| path.strip_prefix(folder.path()).unwrap_or(path).display().to_string();
    let pruned = Pruned {
        at: at.to_owned(),
        who: who.to_owned(),
        bytes: files.iter().map(|(_, bytes)| bytes).sum(),
        files: files.iter().map(|(path, _)| name(path)).collect(),
        journal_sha256,
    };
    let path = folder.file(PRUNED);
    let text =
        serde_json::to_string_pretty(&pruned).map_err(|e| RecordError::io("written", &path)(e.into()))?;
    put(&path, &(text + "\n"))?;
    // The journal last: while it is there, the record is one, and pruning it again goes on.
    for (path, _) in files.iter().rev() {
        fs::remove_file(path).map_err(RecordError::io("removed", path))?;
    }
    for name in RAW_FOLDERS {
        let _ = fs::remove_dir(folder.file(name));
    }
    Ok(pruned)
}
