//! The shape of a hosts file, from which its JSON schema is derived.

#![expect(dead_code, reason = "only the derived schema reads these fields")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

use crate::yaml::shape::{Duration, Level, Text, Whole, without_null};

/// The JSON schema (draft-07, which editors read) of hosts files.
pub fn schema() -> serde_json::Value {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<HostsFile>().to_value();
    without_null(&mut schema);
    schema
}

/// The hosts that campaigns run on: how they are reached, their ports, and which are cabled.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct HostsFile {
    /// Every host by its name in this file. Names hold letters, digits, `_` and `-`.
    hosts: BTreeMap<String, Host>,
    /// Cables: pairs of ports like `[tx.port0, rx.port0]`.
    links: Option<Vec<[Text; 2]>>,
    /// Silence after which a host ends the work it was given, 1s to 10m. Default: 10s.
    lease: Option<Duration>,
    /// Requirements of every host: a name, and a condition on a fact of the host or of its ports
    /// (`governor == performance`, `kernel >= 6.8`, `ntuple on`, `rx_filter can be all`), or a rule in CEL
    /// over the facts of the host.
    require: Option<BTreeMap<String, Text>>,
}

/// One host; give `transport` or `ssh`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Host {
    /// How the host is reached. With `ssh` alone its alias is the name of the host.
    transport: Option<Transport>,
    /// What `ssh` would be given: an alias of the ssh configuration, or an address. Means `transport: ssh`.
    ssh: Option<Text>,
    /// The user to log in as; otherwise as the ssh configuration says.
    user: Option<Text>,
    /// An ssh configuration file to use in place of the user's own.
    config: Option<Text>,
    /// How the agent gains the rights that raw frames and settings need. Default: no.
    r#become: Option<Become>,
    /// The ports that campaigns may use, by name.
    ports: Option<BTreeMap<String, Port>>,
    /// Requirements of this host: a name, and a rule over its facts such as `cpu_count >= 2`.
    require: Option<BTreeMap<String, Text>>,
}

/// How a host is reached.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Transport {
    /// Through the system's OpenSSH.
    Ssh,
    /// A network namespace that fieldtrial makes on this machine and ends again.
    Netns,
    /// This machine itself.
    Local,
}

/// How the agent gains rights.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Become {
    /// By `sudo -n`, so without a password.
    Sudo,
    No,
}

/// One port of a host.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Port {
    /// The network interface on the host, at most 15 characters.
    interface: Text,
    /// Facts that this port must show, such as `driver: ice`.
    expect: Option<BTreeMap<String, Level>>,
    /// Queues each way of a port in the embedded lab, 1 to 64. Default: 1.
    queues: Option<Whole>,
}
