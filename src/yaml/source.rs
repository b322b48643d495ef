//! A text with its name, and places within it.

/// A file's text and the name that complaints show for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub text: String,
}

/// A range of bytes of a source, end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// A value and where it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loc<T> {
    pub value: T,
    pub span: Span,
}

impl<T> Loc<T> {
    /// `value`, written at `span`.
    pub fn new(value: T, span: Span) -> Loc<T> {
        Loc { value, span }
    }
}

impl Source {
    /// A text under the name that complaints shall show.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source { name: name.into(), text: text.into() }
    }

    /// Line and column of a byte offset, both from 1; columns count characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let (line, start, _) = self.line_at(offset);
        let column = self.text[start..].char_indices().take_while(|(at, _)| start + at < offset).count() + 1;
        (line, column)
    }

    /// The line a byte offset lies in: its number from 1, its first byte, and its text.
    pub fn line_at(&self, offset: usize) -> (usize, usize, &str) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let start = self.text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let number = self.text[..start].bytes().filter(|byte| *byte == b'\n').count() + 1;
        let rest = &self.text[start..];
        let text = rest.split('\n').next().unwrap_or(rest);
        (number, start, text.strip_suffix('\r').unwrap_or(text))
    }
}
