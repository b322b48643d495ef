//! Why a command could not go on, and how that is told.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use super::exit::Exit;
use super::voice::{aside, painted_aside};
use crate::record::{Folder, RecordError};
use crate::yaml::{Complaint, Source, render};

/// What a command answers: the exits that hold, or why it could not go on.
pub type Outcome = Result<Vec<Exit>, Failure>;

#[derive(Debug)]
pub enum Failure {
    /// Faults in files that the user wrote, with the sources they point into.
    Complaints {
        complaints: Vec<Complaint>,
        source: Source,
    },
    /// Another mistake of the user, with the next step.
    Input(String),
    Unavailable(String),
    /// Hosts that somebody else has, and nothing worse: with patience they can be had.
    Taken(String),
    Workstation(String),
    Fault(String),
}

impl Failure {
    pub fn exit(&self) -> Exit {
        match self {
            Failure::Complaints { .. } | Failure::Input(_) => Exit::BadInput,
            Failure::Unavailable(_) | Failure::Taken(_) => Exit::HostUnavailable,
            Failure::Workstation(_) => Exit::Workstation,
            Failure::Fault(_) => Exit::Fault,
        }
    }

    pub fn print(&self) {
        match self {
            Failure::Complaints { complaints, source } => print_complaints(complaints, source),
            Failure::Input(text)
            | Failure::Unavailable(text)
            | Failure::Taken(text)
            | Failure::Workstation(text)
            | Failure::Fault(text) => aside(format_args!("error: {text}")),
        }
    }
}

/// All complaints about one file, with carets, on standard error.
pub fn print_complaints(complaints: &[Complaint], source: &Source) {
    let colour = std::io::stderr().is_terminal();
    painted_aside(render(complaints, source, colour).trim_end_matches('\n'));
    aside("");
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Failure {
        match error {
            RecordError::Io { .. } => Failure::Workstation(format!(
                "{error}\nnext: see that the folder can be written and has room; `run --reports DIR` names another"
            )),
            RecordError::NotARecord { ref path } => {
                let next = match Folder::newest(path, "") {
                    Some(record) => {
                        format!("name one of the records in it; the newest is {}", record.path().display())
                    }
                    None => {
                        "name a folder like reports/CAMPAIGN/RECORD; `ls reports/*` shows them".to_owned()
                    }
                };
                Failure::Input(format!("{error}\nnext: {next}"))
            }
            RecordError::Pruned { .. } => Failure::Input(format!(
                "{error}\nnext: open its index.html; what was removed stands in its pruned.json"
            )),
            RecordError::Damaged { .. } => Failure::Input(error.to_string()),
            RecordError::InUse { .. } => {
                Failure::Unavailable(format!("{error}\nnext: wait until it has ended, or end it"))
            }
        }
    }
}

/// A file that the user named cannot be read.
pub fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let shown: PathBuf = path.to_owned();
    Failure::Input(format!("{} cannot be read: {error}", shown.display()))
}

/// The journal of a record cannot be written any more.
pub fn unwritable(folder: &Path, error: &std::io::Error) -> Failure {
    Failure::Workstation(format!(
        "the record in {} cannot be written: {error}\n\
         everything up to the last whole line is kept\n\
         next: make room or make the folder writable, then `fieldtrial resume {}`",
        folder.display(),
        folder.display()
    ))
}
