//! Where a number stands in what a program wrote.

use super::response::Better;

/// One number of a role's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extract {
    pub from: Written,
    pub at: At,
}

/// What a role writes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Written {
    Stdout,
    Stderr,
    /// A file, relative to its working folder.
    File(String),
}

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// A JSON pointer (RFC 6901); `*` stands for every element of a list or object.
    Json(String),
    /// A regular expression whose one group is the number.
    Pattern(String),
}

/// A response that is taken from the output of a role.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueRule {
    pub name: String,
    pub unit: String,
    pub better: Better,
    pub extract: Extract,
    pub range: Range,
    /// Numbers of the parts of a run, each of which must be above 0: an average hides that work stopped.
    pub intervals: Option<At>,
}

/// What a number must be; both ends are allowed, and an end that is None is open.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Range {
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// 0 means that nothing was done. So for every rate without a declared range.
    pub above_zero: bool,
}

impl Written {
    /// As the end of a sentence: `its standard output`.
    pub fn words(&self) -> String {
        match self {
            Written::Stdout => "its standard output".to_owned(),
            Written::Stderr => "its standard error".to_owned(),
            Written::File(path) => format!("the file {path} that it writes"),
        }
    }
}
