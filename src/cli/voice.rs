//! Where a command's words go: the answer to standard output, everything else to standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use super::failure::Failure;
use crate::report::number::{acts, visible};

/// Columns of a page that nobody watches being written.
const PAGE: u16 = 110;

/// One line of the answer, or several. A reader who has gone (`| head -1`) is no trouble.
///
/// # Errors
/// Standard output cannot be written, for example to a full disk.
pub fn answer(text: impl Display) -> Result<(), Failure> {
    let mut out = words();
    written(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// One JSON document as the answer, on one line.
///
/// # Errors
/// As [`answer`].
pub fn answer_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut out = json();
    let all = serde_json::to_writer(&mut out, value).map_err(io::Error::from);
    written(all.and_then(|()| writeln!(out)).and_then(|()| out.flush()))
}

/// The answer in words that our own colours may mark. Names and outputs in it were made visible before they were
/// coloured; what is no colour is made visible here too.
///
/// # Errors
/// As [`answer`].
pub fn painted(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    written(writeln!(out, "{}", only_colours(text)).and_then(|()| out.flush()))
}

/// What another tool reads, as it is; on a terminal nothing in it may act.
///
/// # Errors
/// As [`answer`].
pub fn as_it_is(bytes: &[u8]) -> Result<(), Failure> {
    if on_a_terminal() {
        return answer(String::from_utf8_lossy(bytes).trim_end());
    }
    let mut out = io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Whether somebody reads the answer on a terminal.
pub fn on_a_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Standard output for words: whatever would act on a terminal is written out.
pub fn words() -> Neutral {
    Neutral { out: io::BufWriter::new(io::stdout().lock()), json: false }
}

/// Standard output for JSON: the same, by JSON's own escapes.
pub fn json() -> Neutral {
    Neutral { out: io::BufWriter::new(io::stdout().lock()), json: true }
}

/// The only way to standard output. Names, reasons and outputs come from hosts, tools and files, and none of them
/// may act on a terminal.
pub struct Neutral {
    out: io::BufWriter<io::StdoutLock<'static>>,
    json: bool,
}

impl Write for Neutral {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let shown = match (text.contains(acts), self.json) {
            (false, _) => text,
            (true, false) => visible(&text).into(),
            (true, true) => escaped(&text).into(),
        };
        self.out.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// JSON has escaped what is below a blank already; what else acts can only stand inside of a text.
fn escaped(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            c if acts(c) && u32::from(c) > 0x1f => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// All but colours (`ESC [ numbers m`) made visible.
fn only_colours(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        shown.push_str(&visible(&rest[..at]));
        rest = &rest[at..];
        let body = rest.strip_prefix("\u{1b}[").unwrap_or_default();
        let end = body.find(|c: char| !c.is_ascii_digit() && c != ';');
        let length = match end.filter(|end| body[*end..].starts_with('m')) {
            Some(end) => "\u{1b}[".len() + end + 1,
            None => 1,
        };
        let (piece, after) = rest.split_at(length);
        shown.push_str(&if length == 1 { visible(piece) } else { piece.to_owned() });
        rest = after;
    }
    shown + &visible(rest)
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
    let _ = writeln!(anstream::stderr().lock(), "{}", visible(&text.to_string()));
}

/// The same for lines that our own colours mark.
pub fn painted_aside(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", only_colours(text));
}

/// Whether the answer may be coloured: on a terminal, unless NO_COLOR or the like forbids it.
pub fn in_colour() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Whether the terminal that the answer goes to can show no more than ASCII, by its locale.
pub fn only_ascii() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(std::env::var_os).find(|v| !v.is_empty());
    let unicode = locale.is_some_and(|locale| {
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    on_a_terminal() && !unicode
}

/// A number with its noun, as in `1 cell` and `2 cells`.
pub fn counted(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// Columns of the terminal that the answer goes to; elsewhere what COLUMNS says, or those of a page.
pub fn columns() -> u16 {
    if on_a_terminal() {
        let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the kernel fills in a struct of the type that this request is defined for.
        let known = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) } == 0;
        if known && size.ws_col > 0 {
            return size.ws_col;
        }
    }
    std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|n| *n > 0).unwrap_or(PAGE)
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

    #[test]
    fn only_our_colours_reach_a_terminal() {
        let hostile = "\u{1b}[32mgood\u{1b}[0m \u{1b}]0;title\u{7} \u{1b}[2J \u{9b}1m \u{1b}";
        let shown = "\u{1b}[32mgood\u{1b}[0m \\x1b]0;title\\x07 \\x1b[2J \\x9b1m \\x1b";
        assert_eq!(only_colours(hostile), shown);
    }

    #[test]
    fn json_that_cannot_act_reads_back_as_it_was() {
        let original = "a\u{1b}[2J\u{9b}\u{202e}b\u{7f}\n";
        let shown = escaped(&serde_json::to_string(original).unwrap());
        assert!(!shown.contains(acts), "{shown:?}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), original);
    }
}
