//! How much work a run declares, and where its output says what became of it.

use super::extract::Extract;
use super::workload::Template;

/// Units of work and their four fates.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkRule {
    /// The role whose output says it; None is the timed one.
    pub of: Option<String>,
    pub units: Units,
    /// None where every unit counts as done once the run's answer is proven.
    pub success: Option<Extract>,
    pub timeout: Option<Extract>,
    pub transport_error: Option<Extract>,
    pub wrong_answer: Option<Extract>,
}

/// How many units a run has.
#[derive(Debug, Clone, PartialEq)]
pub enum Units {
    /// As typed; then the output must say how many were done.
    Declared(Template),
    /// Counted on the host, in the proof: by a program of its own, or by the output of the work.
    Counted { by: Option<Vec<Template>>, extract: Extract },
}

impl WorkRule {
    /// Fates with the names that campaigns and records have for them.
    pub fn fates(&self) -> [(&'static str, Option<&Extract>); 4] {
        [
            ("success", self.success.as_ref()),
            ("timeout", self.timeout.as_ref()),
            ("transport_error", self.transport_error.as_ref()),
            ("wrong_answer", self.wrong_answer.as_ref()),
        ]
    }
}
