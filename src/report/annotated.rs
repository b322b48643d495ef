//! Runs that a person took out of the analysis, as rows of the page.

use serde::Serialize;

use super::number::moment;
use super::view::anchor;
use crate::analysis::annotations::AnnotationFinding;
use crate::analysis::findings::Findings;

/// One annotation.
#[derive(Debug, Serialize)]
pub struct AnnotatedView {
    pub run: String,
    pub anchor: String,
    pub was: String,
    /// What the person said, and whether it still holds.
    pub said: String,
    pub reason: String,
    pub who: String,
    pub at: String,
}

/// Every annotation in order, also those that a later one took back.
pub fn annotated(findings: &Findings) -> Vec<AnnotatedView> {
    let view = |a: &AnnotationFinding| AnnotatedView {
        run: a.run.clone(),
        anchor: anchor(&a.cell),
        was: a.outcome_as_run.as_deref().unwrap_or("not in this record").replace('_', " "),
        said: match (a.invalid, a.holds) {
            (true, true) => "invalid",
            (true, false) => "invalid, taken back later",
            (false, _) => "valid again",
        }
        .to_owned(),
        reason: a.reason.clone(),
        who: a.who.clone(),
        at: moment(&a.at),
    };
    findings.annotations.iter().map(view).collect()
}
