//! The JSON that hyperfine exports, as a table of its runs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::question::Question;
use super::table::{Complaint, Entry, Interner, Table};

/// The columns that an export has beside those of its parameters.
pub const COMMAND: &str = "command";
pub const TIME: &str = "time";
const STATUS: &str = "status";

/// Does the text look like JSON, and not like a table?
pub fn recognises(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Reads an export: one row for each run, in seconds, with its command and parameters. What the
/// question does not say is taken from the export: the first command is the control.
///
/// # Errors
/// Everything that is not as hyperfine writes it.
pub fn read(text: &str, question: &Question) -> Result<(Table, Question), Vec<Complaint>> {
    let expected = |found: String| {
        vec![Complaint::whole(
            format!(
                "expected the JSON that `hyperfine --export-json` writes, with results and their times; {found}"
            ),
            "give it such a file, or a CSV table",
        )]
    };
    let export: Value = serde_json::from_str(text).map_err(|e| expected(format!("found {e}")))?;
    let results = export["results"].as_array().filter(|r| !r.is_empty());
    let results = results.ok_or_else(|| expected("found no results".to_owned()))?;
    let mut complaints = vec![];
    let parameters: BTreeSet<&String> =
        results.iter().filter_map(|r| r["parameters"].as_object()).flat_map(|p| p.keys()).collect();
    let mut commands = Interner::default();
    let mut statuses = Interner::default();
    let mut levels: Vec<Interner> = parameters.iter().map(|_| Interner::default()).collect();
    let mut times = vec![];
    for (at, result) in results.iter().enumerate() {
        let command = result["command"].as_str();
        let runs = result["times"].as_array();
        let (Some(command), Some(runs)) = (command, runs) else {
            complaints.extend(expected(format!("result {} has no command or no times", at + 1)));
            continue;
        };
        for (run, time) in runs.iter().enumerate() {
            match time.as_f64() {
                Some(time) => times.push(Entry::Number(time)),
                None => {
                    complaints.extend(expected(format!("time {} of result {} is {time}", run + 1, at + 1)));
                    times.push(Entry::Nothing("".into()));
                }
            }
            // Without exit codes hyperfine itself has checked that they are 0.
            let failed = result["exit_codes"][run].as_i64().is_some_and(|code| code != 0);
            statuses.push(if failed { "failed" } else { "measured" });
            commands.push(command);
            for (name, column) in parameters.iter().zip(&mut levels) {
                let level = &result["parameters"][name.as_str()];
                column.push(&level.as_str().map_or_else(|| level.to_string(), str::to_owned));
            }
        }
    }
    if times.is_empty() && complaints.is_empty() {
        complaints.extend(expected("found no times".to_owned()));
    }
    if !complaints.is_empty() {
        return Err(complaints);
    }
    let mut table = Table { rows: times.len(), ..Table::default() };
    table.numbers.insert(TIME.to_owned(), times);
    table.labels.insert(COMMAND.to_owned(), commands.finish());
    table.labels.insert(STATUS.to_owned(), statuses.finish());
    for (name, column) in parameters.into_iter().zip(levels) {
        table.labels.insert(name.clone(), column.finish());
    }
    let mut question = question.clone();
    question.status = Some(STATUS.to_owned());
    if question.unit.is_empty() {
        question.unit = "s".to_owned();
    }
    if question.control.is_none() && question.factors.is_empty() {
        let first = results[0]["command"].as_str().unwrap_or_default();
        question.control = Some((COMMAND.to_owned(), first.to_owned()));
    }
    let known = |name: &&String| !table.labels.contains_key(*name);
    let unknown: Vec<Complaint> = question
        .label_columns()
        .into_iter()
        .filter(known)
        .map(|name| {
            Complaint::whole(format!("the export has no `{name}`"), "it has command, time and its parameters")
        })
        .collect();
    let wrong = question.responses.iter().find(|r| *r != TIME);
    let wrong = wrong.map(|r| Complaint::whole(format!("the export has no response `{r}`"), "it has time"));
    let complaints: Vec<Complaint> = unknown.into_iter().chain(wrong).collect();
    if complaints.is_empty() { Ok((table, question)) } else { Err(complaints) }
}
