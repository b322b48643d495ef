//! Appending to a journal: one writer, one line an event, synced when a run has ended.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use super::error::RecordError;
use super::layout::Folder;
use super::reader::Read;
use crate::evidence::event::Event;
use crate::evidence::line::encode;

/// The only writer of a record's journal, by a lock that the kernel frees with its holder.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    seq: u64,
}

impl Writer {
    /// Starts the journal of a new record.
    pub fn create(folder: &Folder) -> Result<Writer, RecordError> {
        let path = folder.file(Folder::JOURNAL);
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(RecordError::io("made", &path))?;
        let writer = Writer { file, path, seq: 0 };
        writer.lock()?;
        // The folder's entry must last as long as the lines that are synced into the file.
        File::open(folder.path())
            .and_then(|d| d.sync_all())
            .map_err(RecordError::io("synced", folder.path()))?;
        Ok(writer)
    }

    /// Goes on where `read` ended. A torn last line is set aside in a file of its own.
    pub fn append(folder: &Folder, read: &Read) -> Result<Writer, RecordError> {
        let path = folder.file(Folder::JOURNAL);
        let file = OpenOptions::new()
            .append(true)
            .read(true)
            .open(&path)
            .map_err(RecordError::io("opened", &path))?;
        let writer = Writer { file, path: path.clone(), seq: read.last_seq };
        writer.lock()?;
        // Another one may have written between our reading and our lock.
        let length = writer.file.metadata().map_err(RecordError::io("read", &path))?.len();
        if length != read.whole_bytes + read.torn_bytes {
            return Err(RecordError::InUse { path });
        }
        if read.torn_bytes > 0 {
            let bytes = std::fs::read(&path).map_err(RecordError::io("read", &path))?;
            let aside = folder.file(&format!("journal.torn-{}", read.last_seq + 1));
            std::fs::write(&aside, &bytes[read.whole_bytes as usize..])
                .map_err(RecordError::io("written", aside))?;
            writer.file.set_len(read.whole_bytes).map_err(RecordError::io("cut", &path))?;
        }
        Ok(writer)
    }

    fn lock(&self) -> Result<(), RecordError> {
        self.file.try_lock().map_err(|_| RecordError::InUse { path: self.path.clone() })
    }

    /// Stores one event. What decides or ends something is on the disk when this returns.
    ///
    /// # Errors
    /// Disk full or folder gone; lines stored before stay valid.
    pub fn append_event(&mut self, at: &str, event: &Event) -> io::Result<()> {
        let mut line = encode(self.seq + 1, at, event);
        line.push('\n');
        let before = self.file.metadata()?.len();
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            // Half a line would hide the whole one that a later session appends.
            let _ = self.file.set_len(before);
            return Err(error);
        }
        self.seq += 1;
        match event {
            Event::RunBegan { .. } | Event::Host(_) | Event::Link(_) | Event::Cell(_) | Event::Proof(_) => {
                Ok(())
            }
            _ => self.file.sync_data(),
        }
    }
}
