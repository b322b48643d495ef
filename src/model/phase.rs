//! Phases of a role: what its jobs are for.

use serde::{Deserialize, Serialize};

/// What a job of a role is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Makes what the work needs, before it.
    Setup,
    /// The work itself, before it counts.
    Warmup,
    /// The work.
    #[default]
    Run,
    /// Takes away what setup made, whatever came of the work.
    Teardown,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Setup => "setup",
            Phase::Warmup => "warmup",
            Phase::Run => "run",
            Phase::Teardown => "teardown",
        }
    }

    pub fn is_run(&self) -> bool {
        *self == Phase::Run
    }
}
