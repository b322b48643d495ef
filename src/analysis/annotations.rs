//! Runs that a person took out of the analysis, and what the answer is with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::findings::{Effect, Findings};
use super::judge::judge_trial;
use super::of_record;
use crate::evidence::event::Annotation;
use crate::evidence::fold::Evidence;
use crate::model::cell::CellId;

/// A person took a run out of the analysis, or back into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnnotationFinding {
    /// `CELL#BLOCK.ATTEMPT`.
    pub run: String,
    #[schemars(with = "String")]
    pub cell: CellId,
    /// Out of the analysis; else back in it.
    pub invalid: bool,
    pub reason: String,
    pub who: String,
    /// RFC 3339 in UTC.
    pub at: String,
    /// Whether the run is out of the analysis because of this.
    pub holds: bool,
    /// Outcome of the run before anybody annotated it; null where the record lacks the run.
    pub outcome_as_run: Option<String>,
}

/// Every annotation in order, also those that a later one took back.
pub fn annotations(evidence: &Evidence) -> Vec<AnnotationFinding> {
    let all = &evidence.annotations;
    let finding = |(place, (at, annotation)): (usize, &(String, Annotation))| {
        let row = evidence.runs.iter().rev().find(|row| row.note.run == annotation.run);
        let outcome = row.map(|row| row.as_run.as_ref().map_or(row.note.outcome, |as_run| as_run.outcome));
        AnnotationFinding {
            run: annotation.run.to_string(),
            cell: annotation.run.cell.clone(),
            invalid: annotation.invalid,
            reason: annotation.reason.clone(),
            who: annotation.who.clone(),
            at: at.clone(),
            holds: annotation.invalid
                && all[place + 1..].iter().all(|(_, later)| later.run != annotation.run),
            outcome_as_run: outcome.map(|outcome| outcome.name().to_owned()),
        }
    };
    all.iter().enumerate().map(finding).collect()
}

/// Answers and effects on primary responses as if nobody had annotated a run, those that then differ.
pub fn as_run(evidence: &Evidence, now: &Findings) -> Vec<Effect> {
    let Some(evidence) = evidence.as_run() else { return vec![] };
    let then = judge_trial(&of_record::trial(&evidence));
    let all = then.answers.into_iter().zip(&now.answers).chain(then.effects.into_iter().zip(&now.effects));
    all.filter(|(then, now)| !then.exploratory && then != *now).map(|(then, _)| then).collect()
}
