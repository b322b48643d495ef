//! One role of a pass: its jobs in order, whom it waits for, and how it ends.

use crate::model::job::JobSpec;
use crate::model::phase::Phase;

/// Fetched of each stream for reading, in bytes.
pub const HEAD: u64 = 2048;

/// One role of a pass.
#[derive(Debug, Clone)]
pub struct Role {
    pub name: String,
    pub host: String,
    /// Jobs before its part of the window, one after the other.
    pub prepare: Vec<Step>,
    /// Its part of the window, one job after the other.
    pub window: Vec<Step>,
    /// Runs when all roles have ended, whatever came of them, if anything of this role was started.
    pub teardown: Option<JobSpec>,
    /// Started only when all of these roles, by index, have said that they are ready.
    pub after: Vec<usize>,
    pub ends: Ends,
    /// Bytes of each of its outputs that are fetched from its host when it has ended.
    pub fetch: u64,
}

/// One job of a role.
#[derive(Debug, Clone)]
pub struct Step {
    pub phase: Phase,
    pub spec: JobSpec,
}

/// How a role comes to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ends {
    ByItself,
    /// When all of these have ended well, the result of the first is told to it, and it then ends.
    Told(Vec<usize>),
    /// When all of these have ended well, it is sent a signal, and however it then ends is well.
    Signalled {
        with: Vec<usize>,
        signal: i32,
    },
}

impl Role {
    /// A role of one job that waits for nobody and ends by itself.
    pub fn new(name: &str, host: &str, spec: JobSpec) -> Role {
        Role {
            name: name.to_owned(),
            host: host.to_owned(),
            prepare: vec![],
            window: vec![Step { phase: Phase::Run, spec }],
            teardown: None,
            after: vec![],
            ends: Ends::ByItself,
            fetch: HEAD,
        }
    }

    /// The job number `at` of preparation and window.
    pub fn step(&self, at: usize) -> Option<&Step> {
        self.prepare.iter().chain(&self.window).nth(at)
    }

    pub fn steps(&self) -> usize {
        self.prepare.len() + self.window.len()
    }

    /// Every job that it may have.
    pub fn specs(&self) -> impl Iterator<Item = &JobSpec> {
        self.prepare.iter().chain(&self.window).map(|step| &step.spec).chain(&self.teardown)
    }

    /// Whether its jobs share one folder, which is then kept from the first to the last of them.
    pub fn shares_folder(&self) -> bool {
        self.specs().nth(1).is_some()
    }

    /// Roles that it has to outlive.
    pub fn outlives(&self) -> &[usize] {
        match &self.ends {
            Ends::ByItself => &[],
            Ends::Told(with) | Ends::Signalled { with, .. } => with,
        }
    }
}
