//! Lines from standard input, taken without ever waiting for them.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};

use serde::Deserialize;

use crate::nic::clock_identity::ClockIdentity;

/// Longest line taken; the sender's word for 16 streams fits many times.
const MOST_LINE_BYTES: usize = 64 * 1024;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    Nothing,
    /// The sender has ended.
    Sent(Word),
    /// Nothing more will come.
    End,
}

/// What the sender says of its run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Word {
    /// Frames of each stream that it handed to its kernel.
    pub sent: BTreeMap<u16, u64>,
    /// The clock of the send stamps in its frames, where they carry any.
    #[serde(default)]
    pub clock: Option<ClockIdentity>,
}

/// An input that is read when it is readable.
#[derive(Debug)]
pub struct Input {
    source: OwnedFd,
    line: Vec<u8>,
    ended: bool,
}

impl Input {
    #[must_use]
    pub fn new(source: OwnedFd) -> Self {
        Self { source, line: Vec::new(), ended: false }
    }

    /// For poll; a negative number once the input has ended, which poll passes over.
    #[must_use]
    pub fn poll_fd(&self) -> i32 {
        if self.ended { -1 } else { self.source.as_raw_fd() }
    }

    /// Reads once, when poll says so, and returns the word if a line is complete.
    ///
    /// # Errors
    /// The line is no word that we know, or too long.
    pub fn read(&mut self) -> Result<Heard, String> {
        let mut bytes = [0; 4096];
        // SAFETY: pointer and length describe `bytes`.
        let length = unsafe { libc::read(self.source.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) };
        match usize::try_from(length) {
            Ok(0) => {
                self.ended = true;
                return if self.line.is_empty() { Ok(Heard::End) } else { self.word() };
            }
            Ok(length) => self.line.extend(&bytes[..length]),
            Err(_) => match io::Error::last_os_error().kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => return Ok(Heard::Nothing),
                // Nothing will ever be read from it.
                _ => {
                    self.ended = true;
                    return Ok(Heard::End);
                }
            },
        }
        if self.line.contains(&b'\n') {
            return self.word();
        }
        if self.line.len() > MOST_LINE_BYTES {
            return Err(format!("a line of standard input is over {MOST_LINE_BYTES} bytes"));
        }
        Ok(Heard::Nothing)
    }

    fn word(&mut self) -> Result<Heard, String> {
        let line = std::mem::take(&mut self.line);
        serde_json::from_slice(&line).map(Heard::Sent).map_err(|e| {
            let shown = String::from_utf8_lossy(&line[..line.len().min(200)]).trim_end().to_owned();
            format!(
                r#"expected a line like {{"sent":{{"0":1000}}}} on standard input, found {shown:?} ({e})"#
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_word_in_pieces_is_heard_when_its_line_is_complete() {
        let (source, mut writer) = std::io::pipe().expect("pipe");
        let mut input = Input::new(source.into());
        writer.write_all(br#"{"sent":{"0":5,"#).expect("write");
        assert_eq!(input.read(), Ok(Heard::Nothing));
        writer.write_all(b"\"11\":18446744073709551615}}\n").expect("write");
        let word = Word { sent: BTreeMap::from([(0, 5), (11, u64::MAX)]), clock: None };
        assert_eq!(input.read(), Ok(Heard::Sent(word)));
        drop(writer);
        assert_eq!(input.read(), Ok(Heard::End));
        assert_eq!(input.poll_fd(), -1);
    }

    #[test]
    fn the_word_may_name_the_clock_of_the_send_stamps() {
        let (source, mut writer) = std::io::pipe().expect("pipe");
        let line = br#"{"sent":{"0":1},"clock":{"boot_id":"b","time_namespace":7}}"#;
        writer.write_all(&[&line[..], b"\n"].concat()).expect("write");
        let clock = Some(ClockIdentity { boot_id: "b".into(), time_namespace: 7 });
        let word = Word { sent: BTreeMap::from([(0, 1)]), clock };
        assert_eq!(Input::new(source.into()).read(), Ok(Heard::Sent(word)));
    }

    #[test]
    fn other_lines_are_refused_with_what_was_expected() {
        for wrong in
            ["hello\n", "{\"sent\":{\"a\":1}}\n", "{\"sent\":{\"0\":-1}}\n", "{\"sent\":{},\"x\":1}\n"]
        {
            let (source, mut writer) = std::io::pipe().expect("pipe");
            writer.write_all(wrong.as_bytes()).expect("write");
            let why = Input::new(source.into()).read().expect_err(wrong);
            assert!(why.contains("{\"sent\":{\"0\":1000}}"), "{why}");
        }
    }
}
