//! What an agent saw of a job beside its end: counters, processors, page cache, and files that it wrote.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::job::{Captured, PageCache};

/// Counters of the work itself, over the whole tree where not said otherwise.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Of the program and the children it waited for; likewise the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// In user mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Only where the job asks for them to be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_calls: Option<u64>,
    /// Counter to why it has no value here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// What the page cache held of the input files right before the start, as the kernel told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residency {
    pub asked: PageCache,
    /// Of all input files together.
    pub pages: u64,
    pub resident: u64,
}

/// A file that a job was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Below the working folder.
    pub path: String,
    /// None where it is not there, or no file.
    pub content: Option<Captured>,
}
