//! Fresh folders that jobs run in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How the name of every work folder begins.
pub const PREFIX: &str = "fieldtrial-work-";

/// One folder per agent, with one below it per job; removed when dropped.
#[derive(Debug)]
pub struct WorkFolder {
    dir: tempfile::TempDir,
}

impl WorkFolder {
    pub fn make() -> io::Result<WorkFolder> {
        Ok(WorkFolder { dir: tempfile::Builder::new().prefix(PREFIX).tempdir()? })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// An empty folder for one job.
    pub fn fresh(&self, job: u64) -> io::Result<PathBuf> {
        let path = self.dir.path().join(format!("job-{job}"));
        fs::create_dir(&path)?;
        Ok(path)
    }
}

/// Removes a folder that is empty; false when it holds something, which may take long to remove.
pub fn remove_if_empty(path: &Path) -> bool {
    fs::remove_dir(path).is_ok()
}
