//! Facts last seen of each host, kept in the user's cache so that a plan can use them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::RecordError;
use super::layout::put;
use crate::model::digest;
use crate::model::facts::Facts;

/// Facts last seen of the hosts of one hosts file; empty when there are none.
pub fn last_seen(cache: &Path, hosts_file: &str) -> BTreeMap<String, Facts> {
    std::fs::read_to_string(file(cache, hosts_file))
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// Keeps the facts of the hosts of one hosts file for later plans.
///
/// # Errors
/// The cache folder cannot be written; nothing else is harmed by that.
pub fn remember(cache: &Path, hosts_file: &str, facts: &BTreeMap<String, Facts>) -> Result<(), RecordError> {
    std::fs::create_dir_all(cache).map_err(RecordError::io("made", cache))?;
    let path = file(cache, hosts_file);
    let text = serde_json::to_string(facts).map_err(|e| RecordError::io("written", &path)(e.into()))?;
    put(&path, &text)
}

fn file(cache: &Path, hosts_file: &str) -> PathBuf {
    let name = &digest::of_bytes(hosts_file.as_bytes())[..16];
    cache.join(format!("facts-{name}.json"))
}
