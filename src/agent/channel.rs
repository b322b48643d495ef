//! The agent's two ends of the line to the workstation, neither of which may ever block it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};

use crate::protocol::codec::MAX_LINE;
use crate::protocol::message::{Answer, Reply};

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
    /// # Errors
    /// Standard input is closed.
    pub fn standard() -> io::Result<Inbox> {
        Ok(Inbox { input: File::from(io::stdin().as_fd().try_clone_to_owned()?), held: Vec::new() })
    }

    /// What to wait for.
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
    /// # Errors
    /// Standard output is closed.
    pub fn standard() -> io::Result<Outbox> {
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        super::launch::set_nonblocking(output.as_raw_fd());
        Ok(Outbox { output, waiting: Vec::new() })
    }

    /// What to wait for room on; None when nothing waits to be written.
    pub fn descriptor(&self) -> Option<RawFd> {
        (!self.waiting.is_empty()).then(|| self.output.as_raw_fd())
    }

    /// Queues a message. One over the limit of a line is replaced by what can be said of it: whoever waits for
    /// an answer or for a job's end gets one in any case.
    pub fn put(&mut self, reply: &Reply) {
        let Some(line) = line(reply).or_else(|| shortened(reply).and_then(|r| line(&r))) else { return };
        self.waiting.extend_from_slice(&line);
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

fn line(reply: &Reply) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(reply).ok()?;
    line.push(b'\n');
    (line.len() <= MAX_LINE).then_some(line)
}

/// None for an event, which the output that it stands in has as well.
fn shortened(reply: &Reply) -> Option<Reply> {
    let answer = match &reply.answer {
        Answer::Event { .. } => return None,
        Answer::Ended { job, report } => {
            let mut report = report.clone();
            report.result = None;
            report.argv.truncate(1);
            report.argv.push("(arguments over the limit of a message)".into());
            Answer::Ended { job: *job, report }
        }
        _ => Answer::Fault { text: format!("the answer is over the limit of {MAX_LINE} bytes") },
    };
    Some(Reply { re: reply.re, answer })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::account;
    use crate::agent::launch::Isolation;
    use crate::agent::resolve::Refusal;

    #[test]
    fn an_end_too_long_to_be_told_is_told_shorter() {
        let refusal = Refusal { argv: vec!["/bin/x".into(), "y".repeat(MAX_LINE)], why: "z".into() };
        let report = Box::new(account::of_refusal(refusal, None, Isolation::ProcessGroup));
        let reply = Reply { re: None, answer: Answer::Ended { job: 7, report } };
        assert!(line(&reply).is_none());
        let short = shortened(&reply).unwrap();
        assert!(matches!(&short.answer, Answer::Ended { job: 7, report } if report.argv[0] == "/bin/x"));
        assert!(line(&short).is_some());
        let answer = Answer::Output { data: "y".repeat(MAX_LINE), last: true };
        let short = shortened(&Reply { re: Some(3), answer }).unwrap();
        assert!(matches!(short, Reply { re: Some(3), answer: Answer::Fault { .. } }));
    }
}
