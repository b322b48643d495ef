//! Reading a journal: every whole line counts, a torn last one loses only itself.

use std::fs;
use std::io::{BufRead, BufReader};

use super::error::RecordError;
use super::layout::Folder;
use crate::evidence::event::{Event, Opening};
use crate::evidence::fold::Evidence;
use crate::evidence::line::{LineError, decode};

/// A journal as read.
#[derive(Debug)]
pub struct Read {
    pub evidence: Evidence,
    /// Bytes of whole lines; what follows is torn.
    pub whole_bytes: u64,
    /// Bytes of the torn last line, if any.
    pub torn_bytes: u64,
    pub last_seq: u64,
}

/// When a record was begun and what was asked, by the first line of its journal alone; None where that cannot be
/// read.
pub fn opening(folder: &Folder) -> Option<(String, Opening)> {
    let mut first = String::new();
    BufReader::new(fs::File::open(folder.file(Folder::JOURNAL)).ok()?).read_line(&mut first).ok()?;
    let line = decode(&first).ok()?;
    match line.event {
        Event::Opened(opening) => Some((line.at, *opening)),
        _ => None,
    }
}

/// Reads a record's journal.
///
/// # Errors
/// A line that is not the last one is damaged, a line is of a newer version, or the file cannot be
/// read.
pub fn read(folder: &Folder) -> Result<Read, RecordError> {
    let path = folder.file(Folder::JOURNAL);
    let io = || RecordError::io("read", &path);
    // Line by line: a journal of a large trial has hundreds of megabytes.
    let mut file = BufReader::with_capacity(1 << 20, fs::File::open(&path).map_err(io())?);
    let mut read = Read { evidence: Evidence::default(), whole_bytes: 0, torn_bytes: 0, last_seq: 0 };
    let mut last_at = String::new();
    let mut bytes = vec![];
    let mut number = 0;
    loop {
        number += 1;
        bytes.clear();
        let length = file.read_until(b'\n', &mut bytes).map_err(io())? as u64;
        if bytes.pop_if(|last| *last == b'\n').is_none() {
            read.torn_bytes = length;
            break;
        }
        let damaged = |why: String| RecordError::Damaged { path: path.clone(), line: number, why };
        let by_hand = "the journal was changed by hand or damaged";
        let text = str::from_utf8(&bytes).map_err(|e| e.to_string());
        let line_of = |text| {
            decode(text).map_err(|e| match e {
                LineError::Newer { .. } => e.to_string(),
                _ => format!("{e}; {by_hand}"),
            })
        };
        match text.and_then(line_of) {
            Ok(line) if line.seq == read.last_seq + 1 => {
                read.last_seq = line.seq;
                last_at.clone_from(&line.at);
                read.evidence.apply(&line.at, line.event);
            }
            Ok(line) => {
                return Err(damaged(format!(
                    "it has number {}, {} was expected; {by_hand}",
                    line.seq,
                    read.last_seq + 1
                )));
            }
            // A crash of the machine can leave a last line of the right length with wrong bytes.
            Err(_) if file.fill_buf().map_err(io())?.is_empty() => {
                read.torn_bytes = length;
                break;
            }
            Err(why) => return Err(damaged(why)),
        }
        read.whole_bytes += length;
    }
    read.evidence.finish(&last_at);
    Ok(read)
}
