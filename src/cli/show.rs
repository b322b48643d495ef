//! `show`: one cell of a record, as words or as JSON.

use serde_json::json;

use super::failure::{Failure, Outcome};
use super::record_args::ShowArgs;
use super::report::{look, whole};
use super::selection;
use super::voice::{answer_json, painted};
use crate::analysis::findings::Findings;
use crate::analysis::judge::judge;
use crate::evidence::fold::{Evidence, RunRow};
use crate::model::cell::CellId;
use crate::model::shell::quote;
use crate::record::Folder;
use crate::report::show::show as words;

pub fn show(args: &ShowArgs) -> Outcome {
    let folder = Folder::open(&args.record)?;
    let evidence = whole(&folder)?.evidence;
    let cell = CellId(args.cell.clone());
    if !evidence.cells.contains_key(&cell) {
        let known = evidence.cells.keys().map(|id| id.0.clone());
        return Err(Failure::Input(selection::unknown("cell", &args.cell, known)));
    }
    let findings = judge(&evidence);
    let record = folder.path().display().to_string();
    let rerun = format!("fieldtrial rerun {} --cell {}", quote(&record), quote(&cell.0));
    if args.json {
        answer_json(&in_json(&evidence, &findings, &cell, &record, &rerun))?;
    } else if let Some(text) = words(&evidence, &findings, &cell, &rerun, &look(args.ascii)) {
        painted(text.trim_end())?;
    }
    Ok(vec![])
}

fn in_json(
    evidence: &Evidence,
    findings: &Findings,
    cell: &CellId,
    record: &str,
    rerun: &str,
) -> serde_json::Value {
    let own = |of: &Option<CellId>| of.as_ref() == Some(cell);
    let run = |row: &RunRow| {
        json!({
            "session": row.session + 1,
            "began_at": row.began,
            "ended_at": row.at,
            "outcome_as_run": row.as_run.as_ref().map(|as_run| as_run.outcome),
            "run": row.note,
        })
    };
    json!({
        "record": record,
        "cell": evidence.cells.get(cell),
        "summary": findings.cells.iter().find(|c| c.cell == *cell),
        "effects": findings.effects.iter().filter(|e| own(&e.cell)).collect::<Vec<_>>(),
        "effects_as_run": findings.as_run.iter().filter(|e| own(&e.cell)).collect::<Vec<_>>(),
        "effects_with_reruns": findings.effects_with_reruns.iter().filter(|r| r.cell == *cell).collect::<Vec<_>>(),
        "annotations": findings.annotations.iter().filter(|a| a.cell == *cell).collect::<Vec<_>>(),
        "proofs": evidence.proofs.iter().filter(|p| p.cell == *cell).collect::<Vec<_>>(),
        "runs": evidence.runs.iter().filter(|r| r.note.run.cell == *cell).map(run).collect::<Vec<_>>(),
        "rerun": rerun,
    })
}
