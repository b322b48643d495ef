//! Files that a job wrote: counted, hashed and kept like its streams.

use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::capture::{Capture, Drained};
use crate::model::observed::WrittenFile;

/// The kept bytes of an output, and how many they are.
pub type Kept = (Option<File>, u64);

/// What tells an untouched file: inode, size, and the time of its last change in nanoseconds.
pub type Stamp = (u64, u64, i128);

/// The stamps of files that are there before a job starts: one that is still the same afterwards is
/// something that an earlier run wrote.
pub fn stamps(folder: &Path, paths: &[String]) -> Vec<Option<Stamp>> {
    paths.iter().map(|path| std::fs::metadata(folder.join(path)).ok().map(|meta| stamp(&meta))).collect()
}

fn stamp(meta: &Metadata) -> Stamp {
    (meta.ino(), meta.len(), i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec()))
}

/// Reads each of `paths` below `folder`; may take as long as the files are big.
pub fn collect(
    folder: &Path,
    paths: &[String],
    before: &[Option<Stamp>],
    keep_at_most: u64,
) -> Vec<(WrittenFile, Kept)> {
    paths.iter().zip(before).map(|(path, before)| one(folder, path, before.as_ref(), keep_at_most)).collect()
}

fn one(folder: &Path, path: &str, before: Option<&Stamp>, keep_at_most: u64) -> (WrittenFile, Kept) {
    let absent = || (WrittenFile { path: path.to_owned(), content: None }, (None, 0));
    // Non-blocking: opening a named pipe must not wait for a writer.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(folder.join(path));
    let Some(file) = opened
        .ok()
        .filter(|file| file.metadata().is_ok_and(|meta| meta.is_file() && before != Some(&stamp(&meta))))
    else {
        return absent();
    };
    let mut capture = Capture::new(file.into(), keep_at_most, false, None);
    let mut buffer = vec![0; 256 * 1024];
    while let Drained::More = capture.drain(&mut buffer, &mut |_| {}) {}
    let content = Some(capture.finish(&mut |_| {}));
    (WrittenFile { path: path.to_owned(), content }, capture.into_kept())
}
