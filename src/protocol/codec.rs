//! Messages as lines: one JSON object each, of bounded length.

use std::io::{self, BufRead, Read, Write};

use serde::{Serialize, de::DeserializeOwned};

/// Longest line either side accepts.
pub const MAX_LINE: usize = 1024 * 1024;

/// Writes one message as one line and flushes it.
pub fn write_message<T: Serialize>(out: &mut impl Write, message: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
    if line.len() >= MAX_LINE {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a message of {} bytes is over the limit of {MAX_LINE}", line.len()),
        ));
    }
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Reads one line; None at the end of input.
///
/// # Errors
/// The line is over `MAX_LINE`, is no JSON of the expected shape, or input broke off inside it.
pub fn read_message<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    input.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        let what = if line.len() > MAX_LINE { "a line over the limit" } else { "a line that breaks off" };
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    serde_json::from_slice(&line).map(Some).map_err(|e| {
        let shown = String::from_utf8_lossy(&line[..line.len().min(200)]).trim_end().to_owned();
        io::Error::new(io::ErrorKind::InvalidData, format!("not a message ({e}): {shown}"))
    })
}
