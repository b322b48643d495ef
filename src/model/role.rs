//! Roles of a workload: programs on hosts, what they wait for and how they end.

use std::collections::BTreeMap;

use super::extract::ValueRule;
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
    /// Responses that are read from its output.
    pub values: Vec<ValueRule>,
    pub phases: PhasesDeclared,
    pub build: Option<BuildDeclared>,
    pub artifact: Option<ArtifactDeclared>,
}

/// What of a role is not its work itself, as declared; in its environment and its folder.
#[derive(Debug, Clone, PartialEq)]
pub struct PhasesDeclared {
    pub setup: Option<(Invocation, SetupTime)>,
    pub warmup: Option<WarmupDeclared>,
    /// How often its program is started in each run.
    pub invocations: Template,
    pub teardown: Option<Invocation>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WarmupDeclared {
    Invocations(Template),
    Program(Invocation),
}

/// What becomes of the time that setup takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupTime {
    Untimed,
    /// It is a response of its own, `setup_time`.
    Response,
    /// Setup comes before every invocation and counts as a part of it.
    Each,
}

/// What makes a role's program on its host, before anything is proven, as declared.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildDeclared {
    pub program: Invocation,
    pub env: BTreeMap<String, Template>,
    /// None is a fresh folder.
    pub cwd: Option<Template>,
    /// Command whose first line of output says what builds.
    pub toolchain: Option<Vec<Template>>,
    pub target: Option<Template>,
    pub profile: Option<Template>,
    pub timeout: Template,
}

/// Where a role's program comes from, as declared.
#[derive(Debug, Clone, PartialEq)]
pub struct ArtifactDeclared {
    pub from: Source,
    /// Path or pattern of it.
    pub place: Template,
    /// The digest that it must have.
    pub sha256: Option<Template>,
    /// Arguments with which it tells its version.
    pub version: Option<Vec<Template>>,
}

/// What the place of an artifact means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A file of the workstation, from the folder of the campaign on.
    Path,
    /// A pattern that fits exactly one such file.
    Glob,
    /// A path or pattern of a file that the role's build makes on its host.
    Build,
}

/// Stands in templates for the path that a role's artifact has on its host. Of two characters that no text
/// has, since it is replaced only when that path is known.
pub const ARTIFACT: &str = "\u{fdd0}artifact\u{fdd1}";

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
    pub values: Vec<ValueRule>,
    pub phases: Phases,
    pub build: Option<Build>,
    pub artifact: Option<Artifact>,
}

/// What of a role is not its work itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Phases {
    pub setup: Option<(ResolvedProgram, SetupTime)>,
    pub warmup: Option<Warmup>,
    pub invocations: u32,
    pub teardown: Option<ResolvedProgram>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Warmup {
    Invocations(u32),
    Program(ResolvedProgram),
}

/// What makes a role's program on its host; equal ones on one host are made once.
#[derive(Debug, Clone, PartialEq)]
pub struct Build {
    pub program: ResolvedProgram,
    pub env: BTreeMap<String, String>,
    pub cwd: Option<String>,
    pub toolchain: Option<Vec<String>>,
    pub target: Option<String>,
    pub profile: Option<String>,
    pub timeout_ms: u64,
}

/// Where a role's program comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub from: Source,
    pub place: String,
    pub sha256: Option<String>,
    pub version: Option<Vec<String>>,
    /// Its path on the host, once it is there.
    pub on_host: Option<String>,
}

impl Artifact {
    /// As it was declared, in a few words.
    pub fn shown(&self) -> String {
        match self.from {
            Source::Path | Source::Glob => self.place.clone(),
            Source::Build => format!("{} of the build", self.place),
        }
    }
}

impl RoleWork {
    /// The same role, its artifact being at `path` of its host.
    pub fn equipped(mut self, path: &str) -> RoleWork {
        let fill = |text: &mut String| {
            if text.contains(ARTIFACT) {
                *text = text.replace(ARTIFACT, path);
            }
        };
        let phases = &mut self.phases;
        let warmup = match &mut phases.warmup {
            Some(Warmup::Program(program)) => Some(program),
            _ => None,
        };
        let setup = phases.setup.as_mut().map(|(program, _)| program);
        for program in [&mut self.program].into_iter().chain(setup).chain(warmup).chain(&mut phases.teardown)
        {
            match program {
                ResolvedProgram::Argv(words) | ResolvedProgram::Tool(words) => {
                    words.iter_mut().for_each(fill)
                }
                ResolvedProgram::Shell(text) => fill(text),
            }
        }
        self.env
            .values_mut()
            .chain(&mut self.cwd)
            .chain(&mut self.stdin)
            .chain(&mut self.inputs)
            .for_each(fill);
        if let Some(artifact) = &mut self.artifact {
            artifact.on_host = Some(path.to_owned());
        }
        self
    }
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
