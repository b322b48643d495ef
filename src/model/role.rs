//! Roles of a workload: programs on hosts, what they wait for and how they end.

use std::collections::BTreeMap;

use super::job::{Cpus, PageCache, Ready};
use super::workload::Template;

/// A role as a campaign declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleDeclared {
    pub name: String,
    pub on: Template,
    pub program: Invocation,
    /// The whole environment of every phase; nothing is inherited.
    pub env: BTreeMap<String, Template>,
    /// None is a folder of the run's own, which its phases share.
    pub cwd: Option<Template>,
    /// Path of a file on the host; None is an empty standard input.
    pub stdin: Option<Template>,
    pub inputs: Vec<Template>,
    pub cpus: Option<CpusDeclared>,
    /// `cold` or `warm`: the page cache of its input files.
    pub cache: Option<Template>,
    /// Roles, by place in the list, that must be ready before it starts.
    pub after: Vec<usize>,
    pub ready: Option<ReadyDeclared>,
    pub ends: Ends,
    /// Whether its time is the run's.
    pub timed: bool,
}

/// What is started, as declared.
#[derive(Debug, Clone, PartialEq)]
pub enum Invocation {
    Argv(Vec<Template>),
    /// One line that is split into words once it is filled in; no shell.
    Line(Template),
    Shell(Template),
    /// Arguments of `fieldtrial tool`.
    Tool(Vec<Template>),
}

/// Processors that a role is confined to, as declared.
#[derive(Debug, Clone, PartialEq)]
pub enum CpusDeclared {
    Count(Template),
    List(Vec<Template>),
}

/// When a role counts as ready, as declared.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadyDeclared {
    pub when: ReadyWhenDeclared,
    /// How long that may take, from its start.
    pub within: Template,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ReadyWhenDeclared {
    Event,
    Port(Template),
    Line(Template),
}

/// How a role comes to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ends {
    ByItself,
    /// It lives until all of these roles, by place in the list, have ended, and is then sent a signal.
    With {
        roles: Vec<usize>,
        signal: i32,
    },
}

/// A role of one cell, every template filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleWork {
    pub name: String,
    pub host: String,
    pub program: ResolvedProgram,
    pub env: BTreeMap<String, String>,
    pub cwd: Option<String>,
    pub stdin: Option<String>,
    pub inputs: Vec<String>,
    pub cpus: Option<Cpus>,
    pub cache: Option<PageCache>,
    pub after: Vec<usize>,
    pub ready: Option<Ready>,
    pub ends: Ends,
    pub timed: bool,
}

/// What is started, filled in.
#[derive(Debug, Clone, PartialEq)]
pub enum ResolvedProgram {
    Argv(Vec<String>),
    Shell(String),
    Tool(Vec<String>),
}

/// Signals that may end a role, by the names that campaigns have for them.
pub const SIGNALS: [(&str, i32); 6] =
    [("TERM", 15), ("INT", 2), ("QUIT", 3), ("HUP", 1), ("USR1", 10), ("USR2", 12)];

/// `TERM` for 15; the number itself where it has no name here.
pub fn signal_name(number: i32) -> String {
    let known = SIGNALS.iter().find(|(_, signal)| *signal == number);
    known.map_or_else(|| number.to_string(), |(name, _)| (*name).to_owned())
}

/// The ranks in which roles start: each role stands one rank behind the last of those that it waits for.
/// None where roles wait for each other in a circle.
pub fn ranks(after: &[&[usize]]) -> Option<Vec<Vec<usize>>> {
    let mut placed: Vec<usize> = vec![];
    let mut ranks = vec![];
    while placed.len() < after.len() {
        let free = |role: &usize| !placed.contains(role) && after[*role].iter().all(|r| placed.contains(r));
        let rank: Vec<usize> = (0..after.len()).filter(free).collect();
        if rank.is_empty() {
            return None;
        }
        placed.extend(&rank);
        ranks.push(rank);
    }
    Some(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_stands_behind_the_last_that_it_waits_for() {
        let ranks_of = |after: &[&[usize]]| ranks(after);
        assert_eq!(ranks_of(&[&[1], &[], &[0, 1], &[]]), Some(vec![vec![1, 3], vec![0], vec![2]]));
        assert_eq!(ranks_of(&[&[1], &[0]]), None);
        assert_eq!(ranks_of(&[&[0]]), None);
    }
}
