//! Asks to an agent of the embedded lab: links and ports.

use std::collections::BTreeMap;

use super::error::SessionError;
use super::session::Session;
use crate::protocol::message::{Answer, Ask};

impl Session {
    /// Makes a veth pair with so many queues each way: `near` here, `far` in the network namespace of the
    /// process `peer_pid`.
    ///
    /// # Errors
    /// The agent's words, or its loss.
    pub fn make_link(&self, near: &str, far: &str, peer_pid: u32, queues: u32) -> Result<(), SessionError> {
        let (near, far) = (near.to_owned(), far.to_owned());
        self.ask(Ask::MakeLink { near, far, peer_pid, queues }).map(drop)
    }

    /// Brings an interface up, and the loopback with it.
    ///
    /// # Errors
    /// The agent's words, or its loss.
    pub fn bring_port_up(&self, interface: &str) -> Result<(), SessionError> {
        self.ask(Ask::PortUp { interface: interface.to_owned() }).map(drop)
    }

    /// Does the interface have carrier by now?
    ///
    /// # Errors
    /// The agent's loss.
    pub fn has_carrier(&self, interface: &str) -> Result<bool, SessionError> {
        let ports = BTreeMap::from([(interface.to_owned(), interface.to_owned())]);
        let answer = self.ask(Ask::Facts { ports, programs: vec![] })?;
        let Answer::Facts(facts) = answer else { return Ok(false) };
        Ok(facts.get("ports").is_some_and(|ports| ports[interface]["carrier"] == true))
    }
}
