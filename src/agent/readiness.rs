//! Whether a job is ready yet: it says so, prints a line, or something listens on its port.

use std::fs;
use std::time::{Duration, Instant};

use regex::bytes::Regex;
use serde_json::{Value, json};

use crate::model::job::{JobSpec, Ready, ReadyWhen};

/// A job that is waited for.
pub struct Readiness {
    ready: Ready,
    since: Instant,
}

/// The kernel's tables of TCP sockets in the network namespace of this agent.
const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
/// `TCP_LISTEN` of include/net/tcp_states.h, as the tables write it.
const LISTEN: &str = "0A";

impl Readiness {
    /// None where nobody waits for the job.
    ///
    /// # Errors
    /// Its port is taken already, so that nobody could tell when the job itself listens.
    pub fn new(spec: &JobSpec) -> Result<Option<Readiness>, String> {
        let Some(ready) = spec.ready.clone() else { return Ok(None) };
        if let ReadyWhen::Port(port) = ready.when
            && listening(port)
        {
            return Err(format!(
                "another program of this host listens on port {port} already; end it, or choose another port"
            ));
        }
        Ok(Some(Readiness { ready, since: Instant::now() }))
    }

    /// What is to be told of it now, given whether it said itself that it is ready.
    fn news(&self, said: bool) -> Option<Value> {
        match self.ready.when {
            _ if said => Some(Value::Null),
            ReadyWhen::Port(port) if listening(port) => Some(json!({"event": "ready"})),
            _ if self.since.elapsed() >= Duration::from_millis(self.ready.within_ms) => {
                let within = self.ready.within_ms as f64 / 1e3;
                let why = format!("not ready after {within} s: {}", self.lacking());
                Some(json!({"event": "fault", "why": why, "timeout": true}))
            }
            _ => None,
        }
    }

    fn lacking(&self) -> String {
        match &self.ready.when {
            ReadyWhen::Event => "it printed no event `ready`".into(),
            ReadyWhen::Port(port) => format!("nothing listens on port {port}"),
            ReadyWhen::Line(line) => format!(
                "no line of its output fits `{line}` (a program that writes to a pipe may hold its lines back)"
            ),
        }
    }
}

/// Looks at a job that is waited for; `told` is what it said, to which is added what is found.
pub fn look(readiness: &mut Option<Readiness>, told: &mut Vec<Value>) {
    let said = told.iter().any(|event| event.get("event").and_then(Value::as_str) == Some("ready"));
    if let Some(news) = readiness.as_ref().and_then(|readiness| readiness.news(said)) {
        *readiness = None;
        if !news.is_null() {
            told.push(news);
        }
    }
}

/// The line that makes a job ready, compiled.
///
/// # Errors
/// It is no regular expression.
pub fn pattern(spec: &JobSpec) -> Result<Option<Regex>, String> {
    match &spec.ready {
        Some(Ready { when: ReadyWhen::Line(line), .. }) => {
            Regex::new(line).map(Some).map_err(|e| format!("the pattern `{line}` of its readiness: {e}"))
        }
        _ => Ok(None),
    }
}

/// Whether something listens on a TCP port, at any address.
fn listening(port: u16) -> bool {
    TABLES.iter().any(|table| fs::read_to_string(table).is_ok_and(|text| listens(&text, port)))
}

fn listens(table: &str, port: u16) -> bool {
    let port = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        words.next().is_some_and(|local| local.ends_with(&port)) && words.nth(1) == Some(LISTEN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_listening_socket_makes_a_port_ready() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
                     \x20  0: 00000000:1451 00000000:0000 0A 00000000:00000000 00:00000000\n\
                     \x20  1: 0100007F:1452 0100007F:9C40 01 00000000:00000000 00:00000000\n\
                     \x20  2: 00000000000000000000000000000000:0050 00000000:0000 0A 00000000\n";
        assert!(listens(table, 5201) && listens(table, 80));
        assert!(!listens(table, 5202), "established, not listening");
        assert!(!listens(table, 0x145), "a part of a port is no port");
        assert!(!listens("", 80));
    }
}
