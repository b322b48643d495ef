//! The agent's two ends of the line to the workstation, neither of which may ever block it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};

use crate::protocol::codec::MAX_LINE;
use crate::protocol::message::Reply;

/// Standard input as bounded lines.
pub struct Inbox {
    input: File,
    held: Vec<u8>,
}

/// Bytes that wait for a workstation that does not read; beyond it, it counts as gone.
const MOST_WAITING: usize = 32 * 1024 * 1024;

/// Standard output, written when there is room.
pub struct Outbox {
    output: File,
    waiting: Vec<u8>,
}

impl Inbox {
    pub fn standard() -> io::Result<Inbox> {
        Ok(Inbox { input: File::from(io::stdin().as_fd().try_clone_to_owned()?), held: Vec::new() })
    }

    pub fn descriptor(&self) -> RawFd {
        self.input.as_raw_fd()
    }

    /// Reads once, after the descriptor was found readable; complete lines, or None at the end of input.
    ///
    /// # Errors
    /// Input failed, or a line is over the limit.
    pub fn lines(&mut self) -> io::Result<Option<Vec<Vec<u8>>>> {
        let mut buffer = [0; 16 * 1024];
        match self.input.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(n) => self.held.extend_from_slice(&buffer[..n]),
            Err(e) if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
            Err(e) => return Err(e),
        }
        let Some(end) = self.held.iter().rposition(|b| *b == b'\n') else {
            if self.held.len() > MAX_LINE {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line over the limit"));
            }
            return Ok(Some(vec![]));
        };
        let rest = self.held.split_off(end + 1);
        let lines = std::mem::replace(&mut self.held, rest);
        Ok(Some(lines[..end].split(|b| *b == b'\n').map(<[u8]>::to_vec).collect()))
    }
}

impl Outbox {
    pub fn standard() -> io::Result<Outbox> {
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        super::launch::set_nonblocking(output.as_raw_fd());
        Ok(Outbox { output, waiting: Vec::new() })
    }

    pub fn descriptor(&self) -> Option<RawFd> {
        (!self.waiting.is_empty()).then(|| self.output.as_raw_fd())
    }

    pub fn put(&mut self, reply: &Reply) {
        match serde_json::to_vec(reply) {
            Ok(line) if line.len() < MAX_LINE => {
                self.waiting.extend_from_slice(&line);
                self.waiting.push(b'\n');
            }
            // An event just below its own limit can grow over the line's by escaping: its job's report still has it counted.
            _ => {}
        }
    }

    /// Writes what there is room for.
    ///
    /// # Errors
    /// The workstation is gone, or has not read for so long that too much waits.
    pub fn flush(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match self.output.write(&self.waiting) {
                Ok(n) => drop(self.waiting.drain(..n)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        if self.waiting.len() > MOST_WAITING {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the workstation does not read"));
        }
        Ok(())
    }
}
