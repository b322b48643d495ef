//! What can go wrong with a record, in words that say what to do.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("{path} cannot be {doing}: {source}", path = path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{path} is no record: it has no journal.jsonl", path = path.display())]
    NotARecord { path: PathBuf },
    #[error("the raw evidence of {path} was pruned; its report, findings and tables of runs are still there", path = path.display())]
    Pruned { path: PathBuf },
    #[error("{path}, line {line}: {why}", path = path.display())]
    Damaged { path: PathBuf, line: usize, why: String },
    #[error("{path} is in use by another fieldtrial", path = path.display())]
    InUse { path: PathBuf },
}

impl RecordError {
    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> RecordError {
        let path = path.into();
        move |source| RecordError::Io { doing, path, source }
    }
}
