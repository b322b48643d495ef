//! Opens the hosts that a plan needs: sessions, facts, and the ports that must not be touched.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::LabArgs;
use super::failure::Failure;
use super::load::cache;
use super::restore::told;
use super::voice::aside;
use crate::design::audit::hosts_used;
use crate::design::plan::Plan;
use crate::embedded::{self, EmbeddedError};
use crate::evidence::event::{HostNote, PutBackNote};
use crate::model::digest;
use crate::model::facts::Facts;
use crate::model::hosts::{Host, Hosts, Transport};
use crate::record::{last_seen, remember};
use crate::remote::error::ConnectError;
use crate::remote::fleet::Fleet;
use crate::remote::session::Session;
use crate::remote::{holder, local, ssh};
use crate::yaml::Source;

/// Hosts that answered, with what they are.
pub struct Opened {
    pub fleet: Fleet,
    pub facts: BTreeMap<String, Facts>,
    pub notes: Vec<HostNote>,
    /// What agents put back before anything else, because an earlier one was killed.
    pub found: Vec<PutBackNote>,
    pub tool_sha256: String,
}

/// Longest wait for a host to answer at all.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// Opens every host that the plan's cells use.
pub fn open(plan: &Plan, hosts_source: &Source, args: &LabArgs) -> Result<Opened, Failure> {
    let used = hosts_used(plan);
    let mut hosts = plan.hosts.clone();
    hosts.hosts.retain(|name, _| used.contains(name));
    hosts.links.retain(|(a, b)| used.contains(&a.host) && used.contains(&b.host));
    open_hosts(&hosts, hosts_source, args)
}

/// Opens hosts, all of them; every host that does not answer is named before this fails.
pub fn open_hosts(hosts: &Hosts, hosts_source: &Source, args: &LabArgs) -> Result<Opened, Failure> {
    let exe = own_program()?;
    let mut fleet = Fleet::new();
    let mut troubles = Vec::new();
    if hosts.hosts.values().any(|h| h.transport == Transport::Netns) {
        for (name, session) in embedded::open(hosts, &exe, &holder()).map_err(embedded_failure)? {
            fleet.add(&name, session);
        }
    }
    for host in hosts.hosts.values().filter(|h| h.transport != Transport::Netns) {
        match connect(host, hosts.lease_ms, &exe, args) {
            Ok(session) => fleet.add(&host.name, session),
            Err(error) => troubles.push((host, error)),
        }
    }
    if !troubles.is_empty() {
        return Err(unavailable(&troubles));
    }
    let mut facts = BTreeMap::new();
    let mut notes = Vec::new();
    let mut found = Vec::new();
    for host in hosts.hosts.values() {
        let ports = host.ports.iter().map(|(name, port)| (name.clone(), port.interface.clone())).collect();
        let mut seen =
            fleet.facts(&host.name, ports, vec![]).map_err(|e| Failure::Unavailable(e.to_string()))?;
        let welcome = fleet.welcome(&host.name);
        if let Some(done) = welcome.map(|w| w.found.clone()).filter(|done| !done.is_empty()) {
            aside(told(&host.name, &done));
            if !done.stuck.is_empty() {
                seen.insert("not_put_back".into(), done.stuck.clone().into());
            }
            found.push(PutBackNote { host: host.name.clone(), at_start: true, done });
        }
        notes.push(HostNote {
            host: host.name.clone(),
            transport: transport(host).into(),
            isolation: welcome.map(|w| w.isolation.clone()).unwrap_or_default(),
            lease: welcome.map_or(0, |w| w.lease),
            facts: seen.clone(),
        });
        facts.insert(host.name.clone(), seen);
    }
    guard_management(hosts, &facts)?;
    let mut all = last_seen(&cache(), &hosts_source.text);
    all.extend(facts.clone());
    // A plan made later would only be less certain without it.
    let _ = remember(&cache(), &hosts_source.text, &all);
    let tool_sha256 = own_digest(&exe)?;
    Ok(Opened { fleet, facts, notes, found, tool_sha256 })
}

/// The path of this program, which is also the agent.
pub fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|e| Failure::Fault(format!("where this program lies: {e}")))
}

pub fn connect(host: &Host, lease_ms: u64, exe: &Path, args: &LabArgs) -> Result<Session, ConnectError> {
    let lease = Duration::from_millis(lease_ms);
    if host.transport == Transport::Local {
        return local::connect(&host.name, exe, &[], &holder(), lease);
    }
    let options = ssh::SshOptions {
        holder: holder(),
        lease,
        exe: exe.to_owned(),
        agents: args.agents.iter().cloned().collect::<BTreeMap<String, PathBuf>>(),
        limit: CONNECT_LIMIT,
        agent_args: vec![],
    };
    ssh::connect(host, &options)
}

fn transport(host: &Host) -> &'static str {
    match host.transport {
        Transport::Ssh { .. } => "ssh",
        Transport::Netns => "netns",
        Transport::Local => "local",
    }
}

/// Every trouble with reaching hosts in one failure.
pub fn unavailable(troubles: &[(&Host, ConnectError)]) -> Failure {
    let mut text = String::new();
    for (host, trouble) in troubles {
        let newline = if text.is_empty() { "" } else { "\n" };
        let _ = match &host.transport {
            Transport::Ssh { alias, .. } if *alias != host.name => {
                write!(text, "{newline}{} (ssh {alias}): {trouble}", host.name)
            }
            _ => write!(text, "{newline}{trouble}"),
        };
    }
    if troubles.iter().all(|(_, t)| matches!(t, ConnectError::Ours { .. })) {
        Failure::Workstation(text)
    } else if troubles.iter().all(|(_, t)| matches!(t, ConnectError::Leased { .. })) {
        Failure::Taken(text)
    } else {
        Failure::Unavailable(text)
    }
}

fn embedded_failure(error: EmbeddedError) -> Failure {
    match error {
        EmbeddedError::Agent(ConnectError::Leased { .. }) => Failure::Taken(error.to_string()),
        EmbeddedError::Agent(ConnectError::Ours { .. }) => Failure::Workstation(error.to_string()),
        _ => Failure::Unavailable(error.to_string()),
    }
}

/// The port that carries SSH or the default route is never a test port, whatever a file says.
fn guard_management(hosts: &Hosts, facts: &BTreeMap<String, Facts>) -> Result<(), Failure> {
    for host in hosts.hosts.values() {
        let management: BTreeSet<&str> = facts
            .get(&host.name)
            .and_then(|f| f.get("management_interfaces"))
            .and_then(|v| v.as_array())
            .into_iter()
            .flatten()
            .filter_map(|v| v.as_str())
            .collect();
        for (name, port) in &host.ports {
            if management.contains(port.interface.as_str()) {
                return Err(Failure::Input(format!(
                    "host {0}: its port {name} is {1}, which carries SSH or the default route of that host\n\
                     a test port is loaded and reconfigured, so {1} is never touched\n\
                     next: name a port that is used for nothing else",
                    host.name, port.interface
                )));
            }
        }
    }
    Ok(())
}

fn own_digest(exe: &Path) -> Result<String, Failure> {
    let read = std::fs::File::open(exe).and_then(|mut file| digest::of_all(&mut file));
    read.map(|(sha256, _)| sha256)
        .map_err(|e| Failure::Fault(format!("{} cannot be read: {e}", exe.display())))
}
