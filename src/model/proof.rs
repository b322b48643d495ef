//! Proof: evidence of the work done by one cell, computed on hosts from what really ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Evidence of work from one pass of a cell. `identity` decides *what* is done, `answer` is what
/// came out; both are facts read off the hosts, never off the campaign file. Keys name the fact and
/// where it was seen, e.g. `stdout.sha256@run` or `stream.0.digest`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Proof {
    /// Facts that must be equal in every cell that is compared (inputs, frames sent, counts).
    pub identity: BTreeMap<String, String>,
    /// Facts of the result that must be equal to the control's.
    pub answer: BTreeMap<String, String>,
    /// Exact command to its program's digest: the same command must mean the same program on
    /// every host.
    pub programs: BTreeMap<String, String>,
}
