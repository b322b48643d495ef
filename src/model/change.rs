//! Changes of settings: what is wanted, what came of it, and what was put back.

use serde::{Deserialize, Serialize};

/// A setting that shall have a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    pub setting: String,
    /// None for a setting of the host itself.
    pub interface: Option<String>,
    pub value: String,
}

/// A setting as it was found and as it reads back now; both are the same where nothing had to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    pub setting: String,
    pub interface: Option<String>,
    pub was: String,
    pub now: String,
}

/// Why a setting cannot have the value that was wanted, a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfit {
    pub setting: String,
    pub interface: Option<String>,
    pub why: String,
}

/// What came of a list of wanted settings: up to the first that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Applications {
    pub applied: Vec<Applied>,
    pub refused: Option<Unfit>,
}

/// What became of the originals that an agent had written down.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PutBack {
    /// As they were again, proven by reading back.
    pub back: Vec<Applied>,
    /// Of interfaces that are not there any more, hence with nothing to put back; sentences.
    pub gone: Vec<String>,
    /// Not as they were, in spite of trying; sentences.
    pub stuck: Vec<String>,
    /// Written down before the host was started anew, which has put them back itself; sentences.
    pub before_reboot: Vec<String>,
}

impl PutBack {
    pub fn is_empty(&self) -> bool {
        *self == PutBack::default()
    }
}

/// A setting as a host has it: its text, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub setting: String,
    pub interface: Option<String>,
    pub now: Option<String>,
    /// Why it cannot be changed here, a sentence; None where it can.
    pub why: Option<String>,
}

/// `mtu of eth0`, or `governor`.
pub fn named(setting: &str, interface: Option<&str>) -> String {
    interface.map_or(setting.to_owned(), |interface| format!("{setting} of {interface}"))
}

impl std::fmt::Display for Applied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} → {}", named(&self.setting, self.interface.as_deref()), self.was, self.now)
    }
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", named(&self.setting, self.interface.as_deref()), self.why)
    }
}
