//! Lines that the kernel writes to its log from now on.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;

const DEVICE: &str = "/dev/kmsg";
/// Kept of the lines; more of them say that the machine has other trouble.
const MOST_LINES: usize = 50;
/// Records looked at in one go, so that a kernel that never stops writing cannot hold us.
const MOST_RECORDS: usize = 100_000;
/// One record of the device is no longer (`CONSOLE_EXT_LOG_MAX`).
const RECORD_BYTES: usize = 8192;

/// The log, read from where it ended when this was made.
#[derive(Debug)]
pub enum KernelLog {
    Open(File),
    /// Why nothing can be read of it.
    Closed(String),
}

/// What was new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NewLines {
    Lines(Vec<String>),
    Unreadable(String),
}

impl KernelLog {
    /// Stands at the end of the log. Where it may not be read, that is what it will say.
    #[must_use]
    pub fn open() -> Self {
        Self::at(Path::new(DEVICE))
    }

    fn at(path: &Path) -> Self {
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        match opened.and_then(|mut file| file.seek(SeekFrom::End(0)).map(|_| file)) {
            Ok(file) => Self::Open(file),
            Err(e) => Self::Closed(match e.kind() {
                ErrorKind::PermissionDenied => {
                    format!("{}: not permitted (CAP_SYSLOG, or kernel.dmesg_restrict=0)", path.display())
                }
                _ => format!("{}: {e}", path.display()),
            }),
        }
    }

    /// Lines since it was opened or last asked, without their time stamps; the first are kept, and of
    /// the others their number.
    pub fn new_lines(&mut self) -> NewLines {
        let file = match self {
            Self::Open(file) => file,
            Self::Closed(why) => return NewLines::Unreadable(why.clone()),
        };
        let (mut lines, mut more) = (vec![], 0u64);
        let mut record = [0; RECORD_BYTES];
        for _ in 0..MOST_RECORDS {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(length) if lines.len() < MOST_LINES => {
                    lines.extend(message(&String::from_utf8_lossy(&record[..length])));
                }
                Ok(_) => more += 1,
                // Overwritten before we came: the next record is the oldest that is still there.
                Err(e) if e.raw_os_error() == Some(libc::EPIPE) => more += 1,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return NewLines::Unreadable(io_text(&e)),
            }
        }
        if more > 0 {
            lines.push(format!("… and {more} more"));
        }
        NewLines::Lines(lines)
    }
}

fn io_text(error: &io::Error) -> String {
    format!("{DEVICE}: {error}")
}

/// The text of a record `priority,sequence,time,flags;text`, without the lines of key and value below it.
fn message(record: &str) -> Option<String> {
    let (_, text) = record.split_once(';')?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_text_of_a_record_stands_behind_its_head() {
        assert_eq!(
            message("6,12,345,-;ice: link is down\n SUBSYSTEM=pci\n").as_deref(),
            Some("ice: link is down")
        );
        assert_eq!(message("no record"), None);
        assert_eq!(message("6,1,2,-;\n"), None);
    }

    #[test]
    fn only_what_comes_after_opening_is_told() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(b"6,1,1,-;before\n").expect("written");
        let mut log = KernelLog::at(file.path());
        assert_eq!(log.new_lines(), NewLines::Lines(vec![]));
        file.write_all(b"3,2,2,-;after\n").expect("written");
        assert_eq!(log.new_lines(), NewLines::Lines(vec!["after".into()]));
    }

    #[test]
    fn a_log_that_cannot_be_read_says_why() {
        let mut log = KernelLog::at(Path::new("/nonexistent/kmsg"));
        let NewLines::Unreadable(why) = log.new_lines() else { panic!("readable") };
        assert!(why.contains("/nonexistent/kmsg"), "{why}");
    }
}
