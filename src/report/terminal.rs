//! The answer of a record on a terminal: the summary, then small plots.

use super::dots::dots;
use super::intervals::intervals;
use super::look::Look;
use super::table::table;
use crate::analysis::findings::Findings;
use crate::evidence::fold::Evidence;

/// The summary and, for every primary response, effects with intervals and the runs of every cell.
pub fn terminal(evidence: &Evidence, findings: &Findings, look: &Look) -> String {
    let mut text = table(findings, look.width);
    for response in &findings.family.responses {
        for plot in [intervals(findings, response, look), dots(evidence, findings, response, look)] {
            if !plot.is_empty() {
                text.push('\n');
                text.push_str(&plot);
            }
        }
    }
    look.letters(&text)
}
