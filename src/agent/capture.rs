//! One output stream of a job: drained as it comes, counted and hashed whole, kept up to a limit.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

use regex::bytes::Regex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::model::digest::hex;
use crate::model::job::Captured;

/// Longest line that can be an event; also keeps a message below the protocol's limit.
pub const EVENT_LINE: usize = 512 * 1024;
/// Room in the pipe, so that a program seldom waits for its reader.
const PIPE_BYTES: libc::c_int = 1024 * 1024;

/// A stream while it is being drained.
pub struct Capture {
    pipe: Option<File>,
    bytes: u64,
    whole: Sha256,
    line: Sha256,
    line_bytes: u64,
    lines: u64,
    sum: [u64; 4],
    kept: Option<File>,
    kept_bytes: u64,
    keep_at_most: u64,
    /// The line that is coming, where somebody wants to know its text.
    text: Option<Vec<u8>>,
    speaks_events: bool,
    /// A line that fits makes the job ready.
    pattern: Option<Regex>,
    last_event: Option<Value>,
}

/// What one reading brought.
pub enum Drained {
    More,
    Empty,
    /// No writer is left.
    Closed,
}

impl Capture {
    /// `pipe` is the reading end; it is made non-blocking. The first line that fits `pattern` is told as the
    /// event `ready`.
    pub fn new(pipe: OwnedFd, keep_at_most: u64, speaks_events: bool, pattern: Option<Regex>) -> Capture {
        // SAFETY: plain fcntl on a descriptor that we own. Both may be refused, then the defaults serve.
        unsafe {
            libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK);
            libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, PIPE_BYTES);
        }
        Capture {
            pipe: Some(File::from(pipe)),
            bytes: 0,
            whole: Sha256::new(),
            line: Sha256::new(),
            line_bytes: 0,
            lines: 0,
            sum: [0; 4],
            kept: None,
            kept_bytes: 0,
            keep_at_most,
            text: (speaks_events || pattern.is_some()).then(Vec::new),
            speaks_events,
            pattern,
            last_event: None,
        }
    }

    /// What to wait for; None once no writer is left.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.pipe.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// One reading of at most `buffer.len()` bytes; events that became complete go to `say`.
    pub fn drain(&mut self, buffer: &mut [u8], say: &mut dyn FnMut(Value)) -> Drained {
        let Some(pipe) = &mut self.pipe else { return Drained::Closed };
        match pipe.read(buffer) {
            Ok(0) => {
                self.pipe = None;
                Drained::Closed
            }
            Ok(n) => {
                self.take(&buffer[..n], say);
                Drained::More
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Drained::More,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Drained::Empty,
            Err(_) => {
                self.pipe = None;
                Drained::Closed
            }
        }
    }

    fn take(&mut self, data: &[u8], say: &mut dyn FnMut(Value)) {
        self.bytes += data.len() as u64;
        self.whole.update(data);
        self.keep(data);
        let mut rest = data;
        while let Some(at) = newline(rest) {
            self.piece(&rest[..at]);
            self.end_line(say);
            rest = &rest[at + 1..];
        }
        self.piece(rest);
    }

    fn piece(&mut self, part: &[u8]) {
        self.line.update(part);
        self.line_bytes += part.len() as u64;
        if let Some(text) = &mut self.text {
            let room = EVENT_LINE.saturating_sub(text.len());
            text.extend_from_slice(&part[..part.len().min(room)]);
        }
    }

    fn end_line(&mut self, say: &mut dyn FnMut(Value)) {
        self.lines += 1;
        add(&mut self.sum, &self.line.finalize_reset());
        self.line_bytes = 0;
        let Some(text) = &mut self.text else { return };
        if self.speaks_events
            && text.len() < EVENT_LINE
            && let Ok(event @ Value::Object(_)) = serde_json::from_slice(text)
        {
            self.last_event = Some(event.clone());
            say(event);
        }
        if self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(text)) {
            self.pattern = None;
            say(json!({"event": "ready"}));
        }
        text.clear();
        if !self.speaks_events && self.pattern.is_none() {
            self.text = None;
        }
    }

    /// Kept in a memory file, not on the heap: the next clone of the agent then copies no page of it.
    fn keep(&mut self, data: &[u8]) {
        let room = self.keep_at_most.saturating_sub(self.kept_bytes).min(data.len() as u64) as usize;
        if room == 0 {
            return;
        }
        if self.kept.is_none() {
            self.kept = memory_file().ok();
        }
        if let Some(file) = &self.kept
            && file.write_all_at(&data[..room], self.kept_bytes).is_ok()
        {
            self.kept_bytes += room as u64;
        }
    }

    /// Counts and digests of everything, once nothing more can come; a last line without a newline counts.
    pub fn finish(&mut self, say: &mut dyn FnMut(Value)) -> Captured {
        if self.line_bytes > 0 {
            self.end_line(say);
        }
        self.pipe = None;
        let sum: Vec<u8> = self.sum.iter().rev().flat_map(|word| word.to_be_bytes()).collect();
        Captured {
            bytes: self.bytes,
            sha256: hex(&self.whole.clone().finalize()),
            lines: self.lines,
            lines_sha256: hex(&sum),
            kept: self.kept_bytes,
        }
    }

    /// What a stream that carried nothing comes to.
    pub fn nothing() -> Captured {
        Captured {
            bytes: 0,
            sha256: hex(&Sha256::digest(b"")),
            lines: 0,
            lines_sha256: "0".repeat(64),
            kept: 0,
        }
    }

    /// The last event that came, once.
    pub fn last_event(&mut self) -> Option<Value> {
        self.last_event.take()
    }

    /// The memory that holds the kept bytes, and how many they are.
    pub fn into_kept(self) -> (Option<File>, u64) {
        (self.kept, self.kept_bytes)
    }
}

/// First newline by the C library: a byte loop would cost more than the hashing in unoptimised builds.
fn newline(data: &[u8]) -> Option<usize> {
    // SAFETY: searches `data.len()` bytes from its start.
    let found = unsafe { libc::memchr(data.as_ptr().cast(), libc::c_int::from(b'\n'), data.len()) };
    (!found.is_null()).then(|| found as usize - data.as_ptr() as usize)
}

/// Adds a digest, read as a big-endian number, modulo 2^256; word 0 is the least.
fn add(sum: &mut [u64; 4], digest: &[u8]) {
    let mut carry = 0u128;
    for (word, bytes) in sum.iter_mut().zip(digest.rchunks(8)) {
        let value = bytes.iter().fold(0u128, |n, b| (n << 8) | u128::from(*b));
        let total = u128::from(*word) + value + carry;
        *word = total as u64;
        carry = total >> 64;
    }
}

fn memory_file() -> io::Result<File> {
    // SAFETY: a constant name; the descriptor returned is ours.
    unsafe {
        match libc::memfd_create(c"fieldtrial-output".as_ptr(), libc::MFD_CLOEXEC) {
            fd if fd < 0 => Err(io::Error::last_os_error()),
            fd => Ok(File::from_raw_fd(fd)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn captured(pieces: &[&str], keep: u64, events: bool) -> (Captured, Vec<Value>, Option<Value>, Vec<u8>) {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut capture = Capture::new(reader.into(), keep, events, None);
        let mut said = vec![];
        let mut buffer = [0; 64];
        for piece in pieces {
            writer.write_all(piece.as_bytes()).unwrap();
            while let Drained::More = capture.drain(&mut buffer, &mut |e| said.push(e)) {}
        }
        drop(writer);
        let report = capture.finish(&mut |e| said.push(e));
        let last = capture.last_event();
        let (file, n) = capture.into_kept();
        let mut kept = vec![0; n as usize];
        if let Some(file) = file {
            file.read_exact_at(&mut kept, 0).unwrap();
        }
        (report, said, last, kept)
    }

    #[test]
    fn everything_is_counted_and_hashed_though_little_is_kept() {
        let (report, .., kept) = captured(&["ab", "c"], 2, false);
        assert_eq!((report.bytes, report.lines, report.kept), (3, 1, 2));
        assert_eq!(report.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(kept, b"ab");
    }

    #[test]
    fn lines_in_another_order_give_the_same_line_digest_and_another_whole_one() {
        let (a, ..) = captured(&["one\ntwo\n", "three\n"], 0, false);
        let (b, ..) = captured(&["three\ntw", "o\none"], 0, false);
        let (c, ..) = captured(&["three\ntwo\ntwo\n"], 0, false);
        assert_eq!((a.lines, b.lines), (3, 3));
        assert_eq!(a.lines_sha256, b.lines_sha256);
        assert_ne!(a.lines_sha256, c.lines_sha256);
        assert_ne!(a.sha256, b.sha256);
    }

    #[test]
    fn the_line_digest_of_one_line_is_the_digest_of_that_line() {
        let (report, ..) = captured(&["abc\n"], 0, false);
        assert_eq!(report.lines_sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn the_sum_wraps_at_256_bits() {
        let mut sum = [u64::MAX; 4];
        let mut one = [0u8; 32];
        one[31] = 1;
        add(&mut sum, &one);
        assert_eq!(sum, [0; 4]);
    }

    #[test]
    fn events_are_told_as_they_come_and_noise_between_them_is_not() {
        let (report, said, last, _) = captured(&["{\"ready\":1}\nnoise\n", "{\"res", "ult\":2}"], 0, true);
        assert_eq!(said, [serde_json::json!({"ready": 1}), serde_json::json!({"result": 2})]);
        assert_eq!(last, Some(serde_json::json!({"result": 2})));
        assert_eq!(report.lines, 3);
    }

    #[test]
    fn a_line_too_long_to_be_an_event_is_only_counted() {
        let long = format!("{{\"x\":\"{}\"}}\n", "y".repeat(EVENT_LINE));
        // In parts, as a pipe holds less than this.
        let parts: Vec<&str> =
            long.as_bytes().chunks(32 * 1024).map(|c| std::str::from_utf8(c).unwrap()).collect();
        let (report, said, ..) = captured(&parts, 0, true);
        assert_eq!((report.bytes as usize, said.len()), (long.len(), 0));
    }
}
