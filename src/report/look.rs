//! How a terminal wants its text: width, letters and colours.

use anstyle::{AnsiColor, Style};

use super::number::visible;
use crate::analysis::findings::Verdict;

/// Narrowest width that is still laid out; a smaller one is treated as this.
pub const NARROWEST: u16 = 40;

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// In columns.
    pub width: u16,
    /// No other letters than ASCII.
    pub ascii: bool,
    pub colour: bool,
}

impl Look {
    /// Columns that lines may fill.
    pub fn room(&self) -> usize {
        self.width.max(NARROWEST).into()
    }

    /// Text in the colour of a verdict. It has to be visible before.
    pub fn paint(&self, verdict: Verdict, text: &str) -> String {
        let colour = match verdict {
            Verdict::Better => AnsiColor::Green,
            Verdict::Worse => AnsiColor::Red,
            Verdict::Equivalent => AnsiColor::Cyan,
            Verdict::NotComparable => AnsiColor::Yellow,
            Verdict::Inconclusive => return text.to_owned(),
        };
        if !self.colour || text.trim().is_empty() {
            return text.to_owned();
        }
        let style = Style::new().fg_color(Some(colour.into()));
        format!("{style}{text}{style:#}")
    }

    /// The whole text, in letters that the terminal has.
    pub fn letters(&self, text: &str) -> String {
        if self.ascii { text.chars().map(ascii).collect() } else { text.to_owned() }
    }
}

/// One letter for each, so that columns stay.
fn ascii(c: char) -> char {
    match c {
        c if c.is_ascii() => c,
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '╞' | '╡' | '╪' => '+',
        '─' | '–' | '—' | '−' | '‐' => '-',
        '═' => '=',
        '│' | '┃' => '|',
        '┊' | '┆' => ':',
        '·' => '.',
        '•' => 'o',
        '●' => '@',
        '»' => '>',
        '«' => '<',
        '…' | '±' | '≈' => '~',
        '×' => 'x',
        'µ' | 'μ' => 'u',
        '→' => '>',
        '≤' => '<',
        '≥' => '>',
        '’' | '‘' => '\'',
        '“' | '”' => '"',
        _ => '?',
    }
}

/// Text from outside on one line, with nothing in it that acts.
pub fn line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// A name cut in its middle where it is longer than its column, and filled up to it.
pub fn column(name: &str, width: usize) -> String {
    let letters: Vec<char> = line(name).chars().collect();
    if letters.len() <= width {
        return format!("{:width$}", letters.iter().collect::<String>());
    }
    let tail = (width - 1) / 2;
    let (head, end) = (&letters[..width - 1 - tail], &letters[letters.len() - tail..]);
    head.iter().chain(['…'].iter()).chain(end).collect()
}

/// Words on lines of at most `width`, from the second on indented; a word that is longer is broken.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    let room = width.saturating_sub(2).max(1);
    let words = text.split([' ', '\n']).filter(|w| !w.is_empty());
    for word in words.flat_map(|word| pieces(word, room)) {
        let last = lines.last().map_or(0, |l: &String| l.chars().count());
        match lines.last_mut() {
            Some(line) if last == 0 => line.push_str(&word),
            Some(line) if last + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(format!("  {word}")),
        }
    }
    lines.join("\n") + "\n"
}

/// Pieces of at most `most` characters.
pub fn pieces(text: &str, most: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(most).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_without_letters_and_colours_gets_neither() {
        let look = Look { width: 20, ascii: true, colour: false };
        assert_eq!(look.room(), 40);
        assert_eq!(look.letters("├─●─┤ 5 µs ± 2 – é"), "+-@-+ 5 us ~ 2 - ?");
        assert_eq!(look.paint(Verdict::Worse, "worse"), "worse");
        let coloured = Look { colour: true, ..look }.paint(Verdict::Worse, "worse");
        assert_eq!(coloured, "\u{1b}[31mworse\u{1b}[0m");
    }

    #[test]
    fn names_fit_their_column_and_nothing_in_them_acts() {
        assert_eq!(column("short", 8), "short   ");
        assert_eq!(column("a-very-long-name", 9), "a-ve…name");
        assert_eq!(line("a\u{1b}[2J\nb"), "a\\x1b[2J b");
        for line in wrapped(&"x".repeat(100), 40).lines() {
            assert!(line.chars().count() <= 40, "{line}");
        }
    }
}
