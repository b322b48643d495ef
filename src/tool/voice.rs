//! What a tool says: JSON events to programs, plain text to people.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use serde_json::json;

/// Why a tool ended without a result.
#[derive(Debug)]
pub enum Fault {
    /// Arguments, input or an interface that is not there: exit code 2.
    BadInput(String),
    /// This host or its interface cannot do what was asked: exit code 3. A campaign refuses the cell.
    Refused(String),
    /// Anything else: exit code 1.
    Failed(String),
    /// A change stays half done, since it could not be taken back: exit code 6.
    NotPutBack(String),
}

impl Fault {
    pub fn bad_input(why: impl std::fmt::Display) -> Self {
        Self::BadInput(why.to_string())
    }

    pub fn refused(why: impl std::fmt::Display) -> Self {
        Self::Refused(why.to_string())
    }

    pub fn failed(why: impl std::fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }
}

/// Standard output in one of two languages.
#[derive(Debug, Clone, Copy)]
pub struct Voice {
    json: bool,
}

impl Voice {
    /// JSON when asked for, or when nobody reads along.
    #[must_use]
    pub fn new(json: bool) -> Self {
        Self { json: json || !io::stdout().is_terminal() }
    }

    /// One JSON event on a line of its own, or `plain` for people; an empty text prints nothing.
    pub fn say(&self, event: &impl Serialize, plain: impl FnOnce() -> String) {
        let line = if self.json { serde_json::to_string(event).unwrap_or_default() } else { plain() };
        if !line.is_empty() {
            let mut out = io::stdout().lock();
            // Where nobody reads any more there is nobody left to tell.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    }

    /// A line for people alone.
    pub fn plain(&self, text: impl FnOnce() -> String) {
        if !self.json {
            self.say(&(), text);
        }
    }

    /// Prints the fault, if that is what came out, and returns the exit code.
    #[must_use]
    pub fn end(&self, outcome: Result<(), Fault>) -> i32 {
        let (why, code, refused) = match outcome {
            Ok(()) => return 0,
            Err(Fault::BadInput(why)) => (why, 2, false),
            Err(Fault::Refused(why)) => (why, 3, true),
            Err(Fault::Failed(why)) => (why, 1, false),
            Err(Fault::NotPutBack(why)) => (why, 6, false),
        };
        if self.json {
            self.say(&json!({"event": "fault", "why": why, "refused": refused}), String::new);
        } else {
            let _ = writeln!(io::stderr(), "error: {why}");
        }
        code
    }
}
