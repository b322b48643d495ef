//! Where a command's words go: the answer to standard output, everything else to standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use super::failure::Failure;

/// Columns of a page that nobody watches being written.
const PAGE: u16 = 110;

/// One line of the answer, or several. A reader who has gone (`| head -1`) is no trouble.
///
/// # Errors
/// Standard output cannot be written, for example to a full disk.
pub fn answer(text: impl Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    written(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// What became of writing the answer.
///
/// # Errors
/// Anything but a reader who has gone.
pub fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Workstation(format!(
            "the answer cannot be written to standard output: {e}\nnext: make room there, or send it elsewhere"
        ))),
        _ => Ok(()),
    }
}

/// A line for whoever watches. Measuring goes on when nobody does, so a failure is none.
pub fn aside(text: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// A number with its noun, as in `1 cell` and `2 cells`.
pub fn counted(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// Columns of the terminal that the answer goes to; those of a page where it goes elsewhere.
pub fn columns() -> u16 {
    if !io::stdout().is_terminal() {
        return PAGE;
    }
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the kernel fills in a struct of the type that this request is defined for.
    let known = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) } == 0;
    if known && size.ws_col > 0 { size.ws_col } else { PAGE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit::Exit;

    #[test]
    fn a_reader_who_has_gone_is_no_trouble_and_a_full_disk_is() {
        assert!(written(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        let full = written(Err(io::Error::from_raw_os_error(libc::ENOSPC))).unwrap_err();
        assert_eq!(full.exit(), Exit::Workstation);
    }
}
