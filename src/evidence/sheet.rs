//! A table of a record as CSV, in which every column knows its unit, type and meaning.
//!
//! One rule keeps spreadsheets from running a cell as a formula and loses nothing: a text that
//! begins with `=`, `+`, `-`, `@`, a tab, a carriage return or an apostrophe and is no plain number
//! gets one apostrophe in front; a reader takes one leading apostrophe off. Text is quoted, and
//! numbers are bare and have all their digits. The first line names the columns, with units.

use csv::{QuoteStyle, Writer, WriterBuilder};

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
        safe(&if self.unit.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, self.unit) })
    }
}

/// One field. Empty where there is nothing, which is not the same as 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    Text(String),
    Integer(i128),
    Number(f64),
    Boolean(bool),
    Nothing,
}

impl From<&str> for Field {
    fn from(text: &str) -> Field {
        Field::Text(text.to_owned())
    }
}

impl From<&String> for Field {
    fn from(text: &String) -> Field {
        Field::Text(text.clone())
    }
}

impl From<String> for Field {
    fn from(text: String) -> Field {
        Field::Text(text)
    }
}

impl From<f64> for Field {
    fn from(number: f64) -> Field {
        Field::Number(number)
    }
}

impl From<bool> for Field {
    fn from(truth: bool) -> Field {
        Field::Boolean(truth)
    }
}

impl From<u32> for Field {
    fn from(number: u32) -> Field {
        Field::Integer(number.into())
    }
}

impl From<u64> for Field {
    fn from(number: u64) -> Field {
        Field::Integer(number.into())
    }
}

impl From<i32> for Field {
    fn from(number: i32) -> Field {
        Field::Integer(number.into())
    }
}

impl From<usize> for Field {
    fn from(number: usize) -> Field {
        Field::Integer(number as i128)
    }
}

impl<T: Into<Field>> From<Option<T>> for Field {
    fn from(value: Option<T>) -> Field {
        value.map_or(Field::Nothing, Into::into)
    }
}

impl Field {
    fn written(&self) -> String {
        match self {
            Field::Text(text) => safe(text),
            Field::Integer(number) => number.to_string(),
            Field::Number(number) if number.is_finite() => number.to_string(),
            Field::Boolean(truth) => truth.to_string(),
            Field::Number(_) | Field::Nothing => String::new(),
        }
    }
}

/// A table under way; rows are written as they come, so that a million of them stay small.
#[derive(Debug)]
pub struct Sheet {
    /// Its file in a record's folder.
    pub file: &'static str,
    pub columns: Vec<Column>,
    writer: Writer<Vec<u8>>,
}

impl Sheet {
    pub fn new(file: &'static str, columns: Vec<Column>) -> Sheet {
        let writer = WriterBuilder::new().quote_style(QuoteStyle::NonNumeric).from_writer(Vec::new());
        let mut sheet = Sheet { file, columns, writer };
        let headings: Vec<String> = sheet.columns.iter().map(Column::heading).collect();
        sheet.write(&headings);
        sheet
    }

    /// One more row, a field for each column.
    pub fn push(&mut self, row: Vec<Field>) {
        let fields: Vec<String> = row.iter().map(Field::written).collect();
        self.write(&fields);
    }

    fn write(&mut self, fields: &[String]) {
        // Memory takes every write and all rows have the header's length.
        if let Err(e) = self.writer.write_record(fields) {
            unreachable!("a row of {} fields cannot be written to {}: {e}", fields.len(), self.file);
        }
    }

    /// The whole file.
    pub fn csv(self) -> String {
        match self.writer.into_inner() {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) => unreachable!("rows cannot be flushed to memory: {e}"),
        }
    }
}

/// File of the dictionary in a record's folder.
pub const DICTIONARY: &str = "dictionary.csv";

/// What every column of these tables, and of this one itself, means.
pub fn dictionary<'a>(sheets: impl IntoIterator<Item = &'a Sheet>) -> Sheet {
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
    let mut dictionary = Sheet::new(DICTIONARY, columns);
    let own = dictionary.columns.clone();
    let others = sheets.into_iter().flat_map(|sheet| sheet.columns.iter().map(|column| (sheet.file, column)));
    let rows: Vec<Vec<Field>> = others
        .chain(own.iter().map(|column| (DICTIONARY, column)))
        .map(|(file, c)| {
            vec![
                file.into(),
                Field::Text(c.heading()),
                c.kind.name().into(),
                (&c.unit).into(),
                (&c.meaning).into(),
            ]
        })
        .collect();
    rows.into_iter().for_each(|row| dictionary.push(row));
    dictionary
}

/// A text field as it was before the rule at the head of this file.
pub fn original(field: &str) -> &str {
    field.strip_prefix('\'').unwrap_or(field)
}

/// A text under the rule at the head of this file.
fn safe(text: &str) -> String {
    let risky = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\'']);
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    let is_number = text.chars().all(digits) && text.parse::<f64>().is_ok_and(f64::is_finite);
    if risky && !is_number { format!("'{text}") } else { text.to_owned() }
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
        let mut sheet =
            Sheet::new("x.csv", vec![Column::number("sd", "s", "spread"), Column::text("why", "")]);
        sheet.push(vec![0.0.into(), "".into()]);
        sheet.push(vec![None::<f64>.into(), "one value".into()]);
        assert_eq!(sheet.csv(), "\"sd (s)\",\"why\"\n0,\"\"\n\"\",\"one value\"\n");
    }
}
