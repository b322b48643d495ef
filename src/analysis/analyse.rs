//! Data of any origin judged: text and question in, findings out.

use super::findings::Findings;
use super::judge::judge_trial;
use super::of_table::trial;
use super::question::Question;
use super::table::Complaint;
use super::{along, hyperfine, table};

/// Judges a CSV table or hyperfine's export, which is told by its content. `name` is what the
/// findings call it.
///
/// # Errors
/// Every complaint about the data at once.
pub fn analyse(text: &str, question: &Question, name: &str) -> Result<Findings, Vec<Complaint>> {
    let exported = hyperfine::recognises(text);
    let (table, question) = if exported {
        hyperfine::read(text, question)?
    } else {
        (table::read(text, question)?, question.clone())
    };
    let (trial, mut finding) = trial(&table, &question, name)?;
    if exported {
        finding.format = "hyperfine".to_owned();
    }
    let mut findings = judge_trial(&trial);
    let within = |e: &super::findings::Effect| e.test.starts_with("rank-sum within");
    if question.block.is_some() && findings.answers.iter().chain(&findings.effects).any(within) {
        findings.cautions.push("Some blocks hold a cell several times, and each such row counts as a run of its own. If they are samples of one run, reduce them first: --samples median.".to_owned());
    }
    findings.change_points = along::change_points(&table, &question);
    findings.table = Some(finding);
    Ok(findings)
}
