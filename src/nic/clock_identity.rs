//! Which clock a time stamp of this process comes from.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

/// Two processes with equal identities read one and the same clock: the same boot of the same kernel,
/// in the same time namespace. Written as the value of `clock` in a tool's result and in the word that
/// a receiver is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockIdentity {
    /// The kernel's random number of this boot.
    pub boot_id: String,
    /// Inode of the time namespace; 0 where the kernel has none (before Linux 5.6, or built without).
    pub time_namespace: u64,
}

impl ClockIdentity {
    /// # Errors
    /// /proc cannot be read.
    pub fn read() -> io::Result<Self> {
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
        let time_namespace = fs::metadata("/proc/self/ns/time").map_or(0, |file| file.ino());
        Ok(Self { boot_id, time_namespace })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn every_process_of_one_boot_and_time_namespace_has_the_same_identity() {
        let own = ClockIdentity::read().expect("proc");
        assert_eq!(own.boot_id.len(), 36, "{own:?}");
        let script = "cat /proc/sys/kernel/random/boot_id; stat -Lc %i /proc/self/ns/time || echo 0";
        let other = Command::new("sh").args(["-c", script]).output().expect("sh");
        let other = String::from_utf8(other.stdout).expect("text");
        assert_eq!(other.lines().collect::<Vec<_>>(), [own.boot_id, own.time_namespace.to_string()]);
    }
}
