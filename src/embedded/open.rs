//! Opening the embedded lab: an agent per host in a network namespace of its own, and the links between them.

use std::path::Path;
use std::time::{Duration, Instant};

use super::rights;
use crate::model::hosts::{Hosts, PortRef, Transport};
use crate::remote::error::ConnectError;
use crate::remote::local;
use crate::remote::session::Session;

const CARRIER_LIMIT: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Why there is no lab in a box.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddedError {
    #[error(
        "the embedded lab needs network namespaces, which this user cannot make here ({found})\n  missing: {missing}\n  next: allow it, run as root, or run the campaign that needs no network: `fieldtrial run campaigns/commands.yaml`"
    )]
    NotAllowed { found: String, missing: String },
    #[error("the embedded lab: {0}")]
    Agent(#[from] ConnectError),
    #[error("the embedded link between {near} and {far} cannot be made: {found}")]
    Link { near: String, far: String, found: String },
}

/// Starts an agent for every `netns` host of `hosts` and makes the links between their ports. `exe` is this
/// program; the namespaces end with the sessions returned.
///
/// # Errors
/// Namespaces are not allowed here, an agent did not start, or a link could not be made.
pub fn open(hosts: &Hosts, exe: &Path, holder: &str) -> Result<Vec<(String, Session)>, EmbeddedError> {
    let lease = Duration::from_millis(hosts.lease_ms);
    let mut sessions: Vec<(String, Session)> = vec![];
    for host in hosts.hosts.values().filter(|h| h.transport == Transport::Netns) {
        let mut args = vec!["--netns".to_owned()];
        if !rights::is_root() {
            // All in one user namespace: a link needs rights over both of its ends.
            args.extend(match sessions.first() {
                None => vec!["--userns".into()],
                Some((_, first)) => vec!["--join-userns".into(), first.welcome().pid.to_string()],
            });
        }
        let session = local::connect(&host.name, exe, &args, holder, lease).map_err(explain)?;
        sessions.push((host.name.clone(), session));
    }
    for (near, far) in &hosts.links {
        link(hosts, &sessions, near, far)?;
    }
    Ok(sessions)
}

fn explain(error: ConnectError) -> EmbeddedError {
    match error {
        ConnectError::Agent { found, .. } if found.contains("-namespace:") => {
            let mut missing = rights::obstacles();
            if missing.is_empty() {
                missing.push("CAP_SYS_ADMIN, or user namespaces for ordinary users; a container or security module forbids both".into());
            }
            EmbeddedError::NotAllowed { found, missing: missing.join("; ") }
        }
        other => EmbeddedError::Agent(other),
    }
}

/// Makes one link when both of its ends are ours; one that is not is another transport's cable.
fn link(
    hosts: &Hosts,
    sessions: &[(String, Session)],
    near: &PortRef,
    far: &PortRef,
) -> Result<(), EmbeddedError> {
    let session = |port: &PortRef| sessions.iter().find(|(name, _)| *name == port.host).map(|(_, s)| s);
    let declared = |port: &PortRef| hosts.hosts.get(&port.host)?.ports.get(&port.port);
    let interface = |port: &PortRef| declared(port).map(|port| port.interface.clone());
    let (Some(near_session), Some(far_session)) = (session(near), session(far)) else { return Ok(()) };
    let failed = |found: String| EmbeddedError::Link { near: near.to_string(), far: far.to_string(), found };
    let (Some(near_interface), Some(far_interface)) = (interface(near), interface(far)) else {
        return Err(failed("one of them is not a port of its host".into()));
    };
    let peer_pid = far_session.welcome().pid;
    // A frame leaves on the queue that it arrives on, so both ends have the same number.
    let queues = [near, far].into_iter().filter_map(declared).map(|port| port.queues).max().unwrap_or(1);
    near_session
        .make_link(&near_interface, &far_interface, peer_pid, queues)
        .map_err(|e| failed(e.to_string()))?;
    for (session, interface) in [(near_session, &near_interface), (far_session, &far_interface)] {
        session.bring_port_up(interface).map_err(|e| failed(e.to_string()))?;
    }
    for (session, interface) in [(near_session, &near_interface), (far_session, &far_interface)] {
        until_carrier(session, interface).map_err(failed)?;
    }
    Ok(())
}

/// The kernel tells a new link's carrier up to a second late, and drops frames until then.
fn until_carrier(session: &Session, interface: &str) -> Result<(), String> {
    let until = Instant::now() + CARRIER_LIMIT;
    loop {
        if session.has_carrier(interface).map_err(|e| e.to_string())? {
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(format!("{interface} has no carrier after {} s", CARRIER_LIMIT.as_secs()));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
