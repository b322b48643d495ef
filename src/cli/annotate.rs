//! `annotate`: the only way for a run to leave the analysis, which takes nothing out of the record.

use super::derive::derive;
use super::failure::{Failure, Outcome, unwritable};
use super::record_args::AnnotateArgs;
use super::report::whole;
use super::selection;
use super::session::now;
use super::voice::{answer, answer_json, columns};
use crate::evidence::event::{Annotation, Event};
use crate::evidence::fold::{Evidence, RunRow};
use crate::model::outcome::RunOutcome;
use crate::record::{Folder, Writer};
use crate::remote::who;
use crate::report::table;

pub fn annotate(args: &AnnotateArgs) -> Outcome {
    let folder = Folder::open(&args.record)?;
    let before = whole(&folder)?;
    let invalid = args.invalid.is_some();
    let reason = args.invalid.as_ref().or(args.valid.as_ref()).map_or("", |reason| reason.trim());
    if reason.is_empty() {
        return Err(Failure::Input(
            "expected a reason, found none\nnext: say in a few words why, since every report of this record shows it".into(),
        ));
    }
    let mut rows = vec![];
    for asked in &args.runs {
        let row = selected(&before.evidence, asked)?;
        may(row, invalid).map_err(|why| Failure::Input(format!("{asked} {why}")))?;
        if rows.iter().all(|other: &&RunRow| other.note.run != row.note.run) {
            rows.push(row);
        }
    }
    let mut writer = Writer::append(&folder, &before)?;
    let mut evidence = before.evidence.clone();
    for run in rows.into_iter().map(|row| row.note.run.clone()) {
        let event = Event::Annotated(Annotation { run, invalid, reason: reason.to_owned(), who: who() });
        let at = now();
        writer.append_event(&at, &event).map_err(|e| unwritable(folder.path(), &e))?;
        evidence.apply(&at, event);
    }
    let findings = derive(&folder, &evidence)?;
    super::history::pages(&super::publish::campaign_folder(&folder)?);
    if args.json {
        answer_json(&serde_json::json!({ "record": folder.path(), "findings": findings }))?;
    } else {
        answer(table(&findings, columns()))?;
    }
    Ok(vec![])
}

fn selected<'a>(evidence: &'a Evidence, asked: &str) -> Result<&'a RunRow, Failure> {
    let found = evidence.runs.iter().rev().find(|row| row.note.run.to_string() == asked);
    found.ok_or_else(|| {
        let known = evidence.runs.iter().map(|row| row.note.run.to_string());
        Failure::Input(selection::unknown("run", asked, known))
    })
}

/// Whether the run may be annotated so, or what stands against it.
fn may(row: &RunRow, invalid: bool) -> Result<(), String> {
    let outcome = row.note.outcome.name().replace('_', " ");
    let reason = row.note.reason.as_deref().unwrap_or_default();
    match (invalid, &row.as_run) {
        (true, None) if matches!(row.note.outcome, RunOutcome::Measured | RunOutcome::TimedOut) => Ok(()),
        (true, None) => Err(format!("is in no estimate already, because it was {outcome}: {reason}")),
        (true, Some(_)) => {
            Err(format!("is out of the analysis already: {reason}\nnext: `--valid REASON` takes it back"))
        }
        (false, Some(_)) => Ok(()),
        (false, None) => Err(format!("is not annotated as invalid; it was {outcome}")),
    }
}
