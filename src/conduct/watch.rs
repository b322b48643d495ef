//! What the spine tells whoever watches, and how it is asked to stop.

use crate::evidence::event::RunNote;
use crate::model::cell::{CellId, RunKey};

/// How far a request to stop goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    No,
    /// Finish the run under way, then stop.
    AfterRun,
    /// Kill what runs, record it as interrupted, stop.
    Now,
}

/// Someone who watches a trial: a progress bar, plain lines, or nobody.
pub trait Watch {
    /// Proofs of `cells` cells begin.
    fn proving(&mut self, cells: u64);
    /// A proof was accepted, or refused: a sentence, then its evidence line by line.
    fn proven(&mut self, cell: &CellId, refusal: Option<&str>);
    /// Runs begin; `runs` are still to be done in this session, as far as is known. Again where more
    /// blocks are found to be needed.
    fn measuring(&mut self, runs: u64);
    fn run_began(&mut self, run: &RunKey);
    fn run_ended(&mut self, note: &RunNote);
    /// Asked between and inside runs.
    fn stop(&self) -> Stop;
}
