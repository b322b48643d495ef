//! The file of a campaign that holds what is published, and the lock under which it is changed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::error::RecordError;
use super::layout::put;
use crate::gate::publication::{Book, VERSION};

/// Name of the file, in the folder of the campaign.
pub const PUBLISHED: &str = "published.json";

/// The folder of a campaign, to be changed by nobody else while this is held.
#[derive(Debug)]
pub struct Held {
    folder: PathBuf,
    // The kernel frees the lock with its holder, however that ends.
    _lock: File,
}

impl Held {
    /// Waits for whoever changes it now.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be locked.
    pub fn take(campaign: &Path) -> Result<Held, RecordError> {
        let lock = File::open(campaign).map_err(RecordError::io("opened", campaign))?;
        lock.lock().map_err(RecordError::io("locked", campaign))?;
        Ok(Held { folder: campaign.to_owned(), _lock: lock })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Replaces the file: after a crash it is the old one or the new one, never half.
    ///
    /// # Errors
    /// The folder cannot be written or the disk is full; the old file is intact then.
    pub fn store(&self, book: &Book) -> Result<(), RecordError> {
        let path = self.folder.join(PUBLISHED);
        let text =
            serde_json::to_string_pretty(book).map_err(|e| RecordError::io("written", &path)(e.into()))?;
        put(&path, &(text + "\n"))?;
        self._lock.sync_all().map_err(RecordError::io("synced", &self.folder))
    }
}

/// What is published of the campaign in this folder; None where nothing ever was.
///
/// # Errors
/// The file cannot be read, is damaged, or is of a newer fieldtrial.
pub fn published(campaign: &Path) -> Result<Option<Book>, RecordError> {
    let path = campaign.join(PUBLISHED);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(RecordError::io("read", path)(error)),
    };
    let damaged = |why: String| RecordError::Damaged { path: path.clone(), line: 1, why };
    let version = serde_json::from_str::<serde_json::Value>(&text).map_err(|e| RecordError::Damaged {
        path: path.clone(),
        line: e.line(),
        why: e.to_string(),
    })?;
    match version.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version > u64::from(VERSION) => Err(damaged(format!(
            "it has version {version}, and this fieldtrial reads up to {VERSION}; use a newer one"
        ))),
        _ => serde_json::from_value(version).map(Some).map_err(|e| damaged(e.to_string())),
    }
}
