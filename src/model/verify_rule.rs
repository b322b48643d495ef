//! What is proven of a command's work before anything is timed, and again of every timed run.

use super::workload::Template;

/// The proof that a campaign asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifyRule {
    pub output: OutputRule,
    /// Roles whose standard output is compared; None is every timed one.
    pub of: Option<Vec<String>>,
    /// Files, relative to the working folder, whose digests must equal the control's.
    pub files: Vec<Template>,
    /// Conditions on figures of the work itself, like `bytes_read <= 1MiB`.
    pub effects: Vec<Template>,
}

/// What of the output must equal the control's.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputRule {
    /// Every byte.
    Exact,
    /// The same lines in the same order; how lines end, and whether the last one does, is left out.
    Lines,
    /// The same lines in any order, each as often.
    AnyOrder,
    /// Text of `name=value` words, of which these names may differ.
    Fields {
        ignore: Vec<String>,
    },
    Json(JsonRule),
    /// The number in the one group of a pattern, or how often a pattern without a group is found.
    Count(String),
    /// Only the exit status; a campaign has to ask for it.
    Ignored,
}

/// One JSON document, whatever its spacing and the order of its keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JsonRule {
    /// Pointers (RFC 6901) of what is left out; `*` stands for every element.
    pub ignore: Vec<String>,
    /// Pointers of numbers that may be this far from the control's, relative to it (0.01 is 1 %).
    pub tolerance: Vec<(String, f64)>,
}

impl Default for VerifyRule {
    fn default() -> VerifyRule {
        VerifyRule { output: OutputRule::Exact, of: None, files: vec![], effects: vec![] }
    }
}

impl OutputRule {
    /// Does the comparison read the output itself? For the others its counts and digests are enough.
    pub fn reads(&self) -> bool {
        !matches!(self, OutputRule::Exact | OutputRule::AnyOrder | OutputRule::Ignored)
    }
}
