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
    /// Numbers of the result that need only be near the control's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub near: BTreeMap<String, Near>,
    /// Exact command to its program's digest: the same command must mean the same program on
    /// every host.
    pub programs: BTreeMap<String, String>,
}

/// A number with how far another one may be from it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Near {
    pub value: f64,
    /// Relative to this value: 0.01 is 1 %.
    pub tolerance: f64,
}

impl Near {
    /// Is `other` within the tolerance around this one?
    pub fn holds(&self, other: f64) -> bool {
        (other - self.value).abs() <= self.tolerance * self.value.abs()
    }
}
