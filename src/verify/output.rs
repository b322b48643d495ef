//! What a role wrote: the account of all of it, and the bytes that were fetched from its host.

use std::collections::BTreeMap;

use crate::model::extract::Written;
use crate::model::job::Captured;
use crate::model::size;

/// Most bytes of one output that are fetched and compared one by one; larger ones are compared by digest.
pub const MOST: u64 = 16 << 20;

/// Everything that a role wrote in one pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    pub stdout: Piece,
    pub stderr: Piece,
    /// Files by their path below the working folder; one that was not written is not among them.
    pub files: BTreeMap<String, Piece>,
}

/// One stream or file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Piece {
    pub account: Captured,
    /// From its first byte on; all of it unless the account has more bytes.
    pub kept: Vec<u8>,
}

impl Output {
    /// One of its pieces; the error is a sentence.
    pub fn piece(&self, written: &Written) -> Result<&Piece, String> {
        match written {
            Written::Stdout => Ok(&self.stdout),
            Written::Stderr => Ok(&self.stderr),
            Written::File(path) => {
                self.files.get(path).ok_or_else(|| format!("it did not write the file {path}"))
            }
        }
    }
}

impl Piece {
    /// All bytes.
    ///
    /// # Errors
    /// A sentence: there are more than were fetched.
    pub fn whole(&self) -> Result<&[u8], String> {
        if self.is_whole() {
            return Ok(&self.kept);
        }
        if self.account.kept == self.account.bytes && self.account.bytes <= MOST {
            return Err(format!("its {} bytes could not be fetched from the host", self.account.bytes));
        }
        Err(format!(
            "it wrote {} bytes, and at most {} are read for this; let it write less, or compare `exact`",
            self.account.bytes,
            size::shown(MOST as f64)
        ))
    }

    pub fn is_whole(&self) -> bool {
        self.account.bytes == self.kept.len() as u64
    }
}
