//! A table of a record as CSV, in which every column knows its unit, type and meaning.
//!
//! One rule keeps spreadsheets from running a cell as a formula and loses nothing: a text that
//! begins with `=`, `+`, `-`, `@`, a tab, a carriage return or an apostrophe and is no plain number
//! gets one apostrophe in front; a reader takes one leading apostrophe off. Text is quoted, and
//! numbers are bare and have all their digits. The first line names the columns, with units.

use std::borrow::Cow;
use std::io::{self, Write};

use csv::{QuoteStyle, WriterBuilder};

/// What the fields of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// A whole number.
    Integer,
    /// The shortest decimal text that reads back as the same 64-bit floating-point number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// RFC 3339 in UTC.
    Instant,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::Instant => "instant",
        }
    }
}

/// One column. Its heading is the name, and the unit in brackets where it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// Empty where there is none.
    pub unit: String,
    pub kind: Kind,
    pub meaning: String,
}

impl Column {
    pub fn of(kind: Kind, name: impl Into<String>, unit: &str, meaning: impl Into<String>) -> Column {
        Column { name: name.into(), unit: unit.to_owned(), kind, meaning: meaning.into() }
    }

    pub fn text(name: impl Into<String>, meaning: impl Into<String>) -> Column {
        Column::of(Kind::Text, name, "", meaning)
    }

    pub fn integer(name: impl Into<String>, unit: &str, meaning: impl Into<String>) -> Column {
        Column::of(Kind::Integer, name, unit, meaning)
    }

    pub fn number(name: impl Into<String>, unit: &str, meaning: impl Into<String>) -> Column {
        Column::of(Kind::Number, name, unit, meaning)
    }

    /// As the first line of the file has it.
    pub fn heading(&self) -> String {
        let heading =
            if self.unit.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, self.unit) };
        safe(&heading).into_owned()
    }
}

/// One field. Empty where there is nothing, which is not the same as 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Field<'e> {
    Text(Cow<'e, str>),
    Integer(i128),
    Number(f64),
    Boolean(bool),
    Nothing,
}

impl<'e> From<&'e str> for Field<'e> {
    fn from(text: &'e str) -> Field<'e> {
        Field::Text(text.into())
    }
}

impl<'e> From<&'e String> for Field<'e> {
    fn from(text: &'e String) -> Field<'e> {
        Field::Text(text.into())
    }
}

impl From<String> for Field<'_> {
    fn from(text: String) -> Self {
        Field::Text(text.into())
    }
}

impl From<f64> for Field<'_> {
    fn from(number: f64) -> Self {
        Field::Number(number)
    }
}

impl From<bool> for Field<'_> {
    fn from(truth: bool) -> Self {
        Field::Boolean(truth)
    }
}

impl From<u32> for Field<'_> {
    fn from(number: u32) -> Self {
        Field::Integer(number.into())
    }
}

impl From<u64> for Field<'_> {
    fn from(number: u64) -> Self {
        Field::Integer(number.into())
    }
}

impl From<i32> for Field<'_> {
    fn from(number: i32) -> Self {
        Field::Integer(number.into())
    }
}

impl From<usize> for Field<'_> {
    fn from(number: usize) -> Self {
        Field::Integer(number as i128)
    }
}

impl<'e, T: Into<Field<'e>>> From<Option<T>> for Field<'e> {
    fn from(value: Option<T>) -> Field<'e> {
        value.map_or(Field::Nothing, Into::into)
    }
}

impl Field<'_> {
    fn written(&self) -> Cow<'_, str> {
        match self {
            Field::Text(text) => safe(text),
            Field::Integer(number) => number.to_string().into(),
            Field::Number(number) if number.is_finite() => number.to_string().into(),
            Field::Boolean(truth) => if *truth { "true" } else { "false" }.into(),
            Field::Number(_) | Field::Nothing => "".into(),
        }
    }
}

/// A table without its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Its file in a record's folder.
    pub file: &'static str,
    pub columns: Vec<Column>,
}

/// A table; each row is made when it is written, so that a million of them stay small.
pub struct Sheet<'e> {
    pub head: Head,
    rows: Box<dyn Iterator<Item = Vec<Field<'e>>> + 'e>,
}

impl<'e> Sheet<'e> {
    /// Every row has a field for each column.
    pub fn new(
        file: &'static str,
        columns: Vec<Column>,
        rows: impl IntoIterator<Item = Vec<Field<'e>>, IntoIter: 'e>,
    ) -> Sheet<'e> {
        Sheet { head: Head { file, columns }, rows: Box::new(rows.into_iter()) }
    }

    /// Writes the whole file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(self, out: impl Write) -> io::Result<()> {
        let mut writer = WriterBuilder::new().quote_style(QuoteStyle::NonNumeric).from_writer(out);
        writer.write_record(self.head.columns.iter().map(Column::heading))?;
        for row in self.rows {
            for field in &row {
                writer.write_field(field.written().as_bytes())?;
            }
            // Ends the row, and complains where it has another length than the first.
            writer.write_record(None::<&[u8]>)?;
        }
        writer.flush()
    }

    /// The whole file as text.
    pub fn csv(self) -> String {
        let mut bytes = Vec::new();
        if let Err(e) = self.write(&mut bytes) {
            unreachable!("memory takes every write, and rows have the length of their head: {e}");
        }
        String::from_utf8(bytes).unwrap_or_else(|e| unreachable!("every field is text: {e}"))
    }
}

/// File of the dictionary in a record's folder.
pub const DICTIONARY: &str = "dictionary.csv";

/// What every column of these tables, and of this one itself, means.
pub fn dictionary<'a, 's>(heads: impl IntoIterator<Item = &'a Head>) -> Sheet<'s> {
    let columns = vec![
        Column::text("file", "file that the column is in"),
        Column::text("column", "its heading, as the first line of that file has it"),
        Column::text(
            "type",
            "text, integer, number (64-bit floating point, all digits), boolean (true or false) or instant (RFC 3339 \
             in UTC); an empty field is none of these: there is no value",
        ),
        Column::text("unit", "unit of its values; empty where there is none"),
        Column::text(
            "meaning",
            "what it says. In every file a text that begins with = + - @, a tab, a carriage return or an apostrophe, \
             and is no plain number, has one apostrophe in front, so that no spreadsheet runs it as a formula; take \
             one leading apostrophe off to have the original, which the JSON files hold as it is",
        ),
    ];
    let own = Head { file: DICTIONARY, columns: columns.clone() };
    let row = |file: &'static str, c: &Column| -> Vec<Field<'s>> {
        let (unit, meaning) = (c.unit.clone(), c.meaning.clone());
        vec![file.into(), c.heading().into(), c.kind.name().into(), unit.into(), meaning.into()]
    };
    let mut heads: Vec<&Head> = heads.into_iter().collect();
    heads.push(&own);
    let rows: Vec<_> = heads.iter().flat_map(|head| head.columns.iter().map(|c| row(head.file, c))).collect();
    Sheet::new(DICTIONARY, columns, rows)
}

/// A text field as it was before the rule at the head of this file.
pub fn original(field: &str) -> &str {
    field.strip_prefix('\'').unwrap_or(field)
}

/// A text under the rule at the head of this file.
fn safe(text: &str) -> Cow<'_, str> {
    let risky = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\'']);
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    let is_number = || text.chars().all(digits) && text.parse::<f64>().is_ok_and(f64::is_finite);
    if risky && !is_number() { format!("'{text}").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_look_like_formulas_are_neutralised_and_numbers_stay_numbers() {
        // Case R01.
        for (text, expected) in [
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("+1-2", "'+1-2"),
            ("-rf", "'-rf"),
            ("@x", "'@x"),
            ("'quoted", "''quoted"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("-5.55", "-5.55"),
            ("-22.75", "-22.75"),
            ("-inf", "'-inf"),
            ("plain", "plain"),
        ] {
            let written = safe(text);
            assert_eq!(written, expected);
            assert_eq!(original(&written), text, "the rule loses nothing");
        }
        assert_eq!(Field::from(-5.55).written(), "-5.55");
        assert_eq!(Field::from(0.1 + 0.2).written(), "0.30000000000000004");
        assert_eq!(Field::from(f64::NAN).written(), "");
    }

    #[test]
    fn nothing_and_zero_are_two_things() {
        // Case R04.
        let rows = [vec![0.0.into(), "".into()], vec![None::<f64>.into(), "one value".into()]];
        let sheet =
            Sheet::new("x.csv", vec![Column::number("sd", "s", "spread"), Column::text("why", "")], rows);
        assert_eq!(sheet.csv(), "\"sd (s)\",\"why\"\n0,\"\"\n\"\",\"one value\"\n");
    }
}
