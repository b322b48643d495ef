//! Everything of a record that is derived from its journal, written beside it.

use std::fs::File;
use std::io::{BufWriter, Write};

use super::exit::Exit;
use super::failure::Failure;
use crate::analysis::findings::Findings;
use crate::analysis::judge::{judge, losses};
use crate::campaign::Expected;
use crate::evidence::counters::counters;
use crate::evidence::fold::Evidence;
use crate::evidence::rows::{rejected, samples};
use crate::evidence::runs::runs;
use crate::evidence::sheet::{self, Sheet, dictionary};
use crate::model::cell::CellId;
use crate::model::outcome::{Fate, RunOutcome};
use crate::record::{Folder, RecordError};
use crate::report;

/// Judges the evidence and writes tables, findings and page.
pub fn derive(folder: &Folder, evidence: &Evidence) -> Result<Findings, Failure> {
    let findings = judge(evidence);
    // Tables of a large record take as long as all the rest.
    std::thread::scope(|scope| {
        let tables = scope.spawn(|| tables(folder, evidence, &findings));
        let told = tell(folder, evidence, &findings);
        tables.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(told)
    })?;
    Ok(findings)
}

/// One after the other and row by row: the samples of a large trial alone are a hundred megabytes of text.
fn tables(folder: &Folder, evidence: &Evidence, findings: &Findings) -> Result<(), Failure> {
    let mut heads = vec![];
    for sheet in sheets(evidence, findings) {
        let file = sheet.head.file;
        heads.push(sheet.head.clone());
        folder.put_by(file, |out| sheet.write(out)).map_err(|error| underived(folder, &error))?;
    }
    folder.put(sheet::DICTIONARY, &dictionary(&heads).csv()).map_err(|error| underived(folder, &error))
}

fn tell(folder: &Folder, evidence: &Evidence, findings: &Findings) -> Result<(), Failure> {
    let put = |name: &str, text: &str| folder.put(name, text).map_err(|error| underived(folder, &error));
    let json = |out: &mut File| {
        let mut out = BufWriter::new(out);
        serde_json::to_writer_pretty(&mut out, findings)?;
        out.write_all(b"\n")?;
        out.flush()
    };
    folder.put_by(Folder::FINDINGS, json).map_err(|error| underived(folder, &error))?;
    let in_ladder = folder.file(Folder::LADDER).is_file();
    let page = report::page_of(evidence, findings, in_ladder).map_err(|e| Failure::Fault(e.to_string()))?;
    put(Folder::PAGE, &page)?;
    match report::dead_ends::dead_ends(evidence, findings) {
        Some(text) => put(Folder::LOSSES, &text)?,
        // An annotation or a rerun may have taken back what an earlier judgement called a loss.
        None => drop(std::fs::remove_file(folder.file(Folder::LOSSES))),
    }
    Ok(())
}

/// The tables of a record, without their dictionary; each is made when it is asked for.
pub fn sheets<'e>(evidence: &'e Evidence, findings: &'e Findings) -> impl Iterator<Item = Sheet<'e>> {
    let makers: [fn(&'e Evidence, &Findings) -> Sheet<'e>; 4] =
        [|e, _| runs(e), |e, _| samples(e), |e, _| counters(e), |e, f| rejected(e, &losses(f))];
    makers.into_iter().map(move |make| make(evidence, findings))
}

fn underived(folder: &Folder, error: &RecordError) -> Failure {
    Failure::Workstation(format!(
        "{error}\nthe journal is whole: nothing that was measured is lost\n\
         next: make room or make the folder writable, then `fieldtrial report {}`",
        folder.path().display()
    ))
}

/// The exits that a record calls for; outcomes that the campaign declared it expects are none.
pub fn exits(evidence: &Evidence, expect: &Expected) -> Vec<Exit> {
    let mut exits = Vec::new();
    let refused = evidence.cells.values().filter(|c| c.fate == Fate::Refused);
    if refused.into_iter().any(|c| !listed(&expect.refused, &c.cell)) {
        exits.push(Exit::Refused);
    }
    let runs = evidence.planned_runs();
    if runs.iter().any(|r| !expected(expect, r.note.outcome, &r.note.run.cell)) || !evidence.complete {
        exits.push(Exit::Incomplete);
    }
    // Where rules leave no cell at all, nobody has said that nothing is what they want.
    let refused_all = evidence.cells.values().all(|c| c.fate != Fate::Live)
        && evidence.cells.values().any(|c| c.fate == Fate::Refused);
    let expected_none = refused_all && evidence.complete && exits.is_empty();
    if !runs.iter().any(|r| r.note.outcome == RunOutcome::Measured) && !expected_none {
        exits.push(Exit::NothingMeasured);
    }
    exits
}

/// Whether the campaign declared that it expects a refusal (None) or an outcome of this cell.
pub fn listed_as_expected(expect: &Expected, outcome: Option<RunOutcome>, cell: &CellId) -> bool {
    outcome.map_or_else(|| listed(&expect.refused, cell), |outcome| expected(expect, outcome, cell))
}

fn expected(expect: &Expected, outcome: RunOutcome, cell: &CellId) -> bool {
    match outcome {
        RunOutcome::Measured => true,
        RunOutcome::Rejected => listed(&expect.rejected, cell),
        RunOutcome::TimedOut => listed(&expect.timed_out, cell),
        RunOutcome::Failed => listed(&expect.failed, cell),
        RunOutcome::Interrupted => false,
    }
}

fn listed(patterns: &[String], cell: &CellId) -> bool {
    patterns.iter().any(|pattern| cell.fits(pattern))
}

/// The exits of a rerun: its own block's runs, and no others; expected outcomes are none here too.
pub fn rerun_exits(evidence: &Evidence, expect: &Expected) -> Vec<Exit> {
    let session = evidence.sessions.len().saturating_sub(1);
    let own: Vec<_> = evidence.runs.iter().filter(|r| r.session == session).collect();
    if own.is_empty() {
        return vec![Exit::NothingMeasured];
    }
    let as_expected = own.iter().all(|r| expected(expect, r.note.outcome, &r.note.run.cell));
    if as_expected { vec![] } else { vec![Exit::Incomplete] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::event::{Event, RunNote};
    use crate::model::cell::RunKey;

    #[test]
    fn a_rerun_that_is_rejected_as_declared_is_no_failure() {
        let mut evidence = Evidence::default();
        for (cell, outcome) in [("/control", RunOutcome::Measured), ("/slow", RunOutcome::Rejected)] {
            let run = RunKey { cell: CellId(cell.into()), block: 3, attempt: 1 };
            let note = RunNote::unobserved(run, 1, outcome, String::new());
            evidence.apply("t", Event::RunEnded(Box::new(note)));
        }
        let declared = Expected { rejected: vec!["/slow".into()], ..Expected::default() };
        assert_eq!(rerun_exits(&evidence, &declared), []);
        assert_eq!(rerun_exits(&evidence, &Expected::default()), [Exit::Incomplete]);
    }
}
