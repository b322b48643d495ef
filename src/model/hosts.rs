//! Hosts, their ports and how they are reached.

use std::collections::BTreeMap;
use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The inventory a campaign runs on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hosts {
    pub hosts: IndexMap<String, Host>,
    /// Which port is cabled to which.
    pub links: Vec<(PortRef, PortRef)>,
    /// Silence after which either side gives the other up.
    pub lease_ms: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    pub name: String,
    pub transport: Transport,
    pub ports: IndexMap<String, Port>,
    /// Requirement name to a rule over the host's facts, e.g. `cpu_count >= 2`.
    pub requirements: IndexMap<String, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Transport {
    /// Through the system's OpenSSH; `alias` is what `ssh` would be given.
    Ssh { alias: String, user: Option<String>, config: Option<PathBuf>, r#become: Become },
    /// A network namespace of the embedded lab, made and ended by us.
    Netns,
    /// This machine itself.
    Local,
}

/// How the agent gains the rights it needs on a host reached over ssh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Become {
    No,
    Sudo,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Port {
    pub interface: String,
    /// Facts this port must show, e.g. `driver: ice`.
    pub expect: BTreeMap<String, String>,
    /// Receive and send queues of a port that the embedded lab makes.
    pub queues: u32,
}

/// `host.port`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PortRef {
    pub host: String,
    pub port: String,
}

impl std::fmt::Display for PortRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.host, self.port)
    }
}
