//! The history file of a campaign: one line for every valid trial, appended and synced.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::error::RecordError;
use super::published::Held;
use crate::gate::history::{Line, VERSION};

/// Name of the file, in the folder of the campaign.
pub const HISTORY: &str = "history.jsonl";

/// All whole lines, in the order they were written; empty where there is no file. A torn last line is left out:
/// its record still has everything, and the next trial's line takes its place.
///
/// # Errors
/// The file cannot be read, a line that is not the last is damaged, or one is of a newer fieldtrial.
pub fn history(campaign: &Path) -> Result<Vec<Line>, RecordError> {
    let path = campaign.join(HISTORY);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(RecordError::io("read", path)(error)),
    };
    let mut lines = vec![];
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
    for (at, text) in bytes[..whole].split(|b| *b == b'\n').enumerate().filter(|(_, text)| !text.is_empty()) {
        let damaged = |why: String| RecordError::Damaged { path: path.clone(), line: at + 1, why };
        let line: Line = serde_json::from_slice(text).map_err(|e| damaged(e.to_string()))?;
        if line.version > VERSION {
            return Err(damaged(format!("it has version {}; use a newer fieldtrial", line.version)));
        }
        lines.push(line);
    }
    Ok(lines)
}

impl Held {
    /// Adds a line, once for each record.
    ///
    /// # Errors
    /// The folder cannot be written or the disk is full; lines stored before stay valid.
    pub fn remember(&self, line: &Line) -> Result<(), RecordError> {
        let path = self.folder().join(HISTORY);
        if history(self.folder())?.iter().any(|known| known.record == line.record) {
            return Ok(());
        }
        let io = |doing| RecordError::io(doing, &path);
        let mut text = serde_json::to_string(line).map_err(|e| io("written")(e.into()))?;
        text.push('\n');
        let mut file =
            OpenOptions::new().append(true).read(true).create(true).open(&path).map_err(io("opened"))?;
        let bytes = fs::read(&path).map_err(io("read"))?;
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1) as u64;
        if whole < bytes.len() as u64 {
            file.set_len(whole).map_err(io("cut"))?;
        }
        if let Err(error) = file.write_all(text.as_bytes()) {
            let _ = file.set_len(whole);
            return Err(io("written")(error));
        }
        file.sync_all().map_err(io("synced"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(record: &str) -> Line {
        Line {
            version: VERSION,
            record: record.into(),
            record_sha256: "d".into(),
            at: "2026-12-01T00:00:00Z".into(),
            tool_version: "0.1.0".into(),
            cells: vec![],
        }
    }

    #[test]
    fn a_record_has_one_line_and_a_torn_one_gives_its_place_to_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let records = || history(folder.path()).unwrap().into_iter().map(|l| l.record).collect::<Vec<_>>();
        assert_eq!(records(), Vec::<String>::new());
        let held = Held::take(folder.path()).unwrap();
        for record in ["a", "a", "b"] {
            held.remember(&line(record)).unwrap();
        }
        assert_eq!(records(), ["a", "b"]);
        let path = folder.path().join(HISTORY);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        assert_eq!(records(), ["a"]);
        held.remember(&line("c")).unwrap();
        assert_eq!(records(), ["a", "c"]);
        fs::write(&path, b"{\"version\":1}\nx\n").unwrap();
        assert!(history(folder.path()).unwrap_err().to_string().contains("line 1"));
    }
}
