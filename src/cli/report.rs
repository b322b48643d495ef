//! `report`: everything derived from a journal, built again; and the answer on the terminal.

use std::io::Write;

use super::args::RecordArgs;
use super::derive::{derive, exits};
use super::failure::{Failure, Outcome};
use super::load::load_record;
use super::voice::{aside, columns};
use crate::analysis::findings::Findings;
use crate::campaign::Expected;
use crate::record::{Folder, read};
use crate::report::table;

pub fn report(args: &RecordArgs) -> Outcome {
    let folder = Folder::open(&args.record)?;
    let read = read(&folder)?;
    if read.torn_bytes > 0 {
        aside(format_args!("the journal's last line is torn ({} bytes) and is left out", read.torn_bytes));
    }
    let findings = derive(&folder, &read.evidence)?;
    print_answer(&folder, &findings, args.json)?;
    let expect = match load_record(&folder, &read.evidence) {
        Ok(loaded) => loaded.campaign.expect,
        Err(failure) => {
            failure.print();
            aside("the report is whole without it, but every refusal counts as one that was not expected");
            Expected::default()
        }
    };
    Ok(exits(&read.evidence, &expect))
}

/// The summary table and where the record lies, or the findings as JSON.
pub fn print_answer(folder: &Folder, findings: &Findings, json: bool) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = if json {
        let answer = serde_json::json!({ "record": folder.path(), "findings": findings });
        writeln!(out, "{answer}")
    } else {
        writeln!(out, "{}", table(findings, columns()))
            .and_then(|()| writeln!(out, "record  {}", folder.path().display()))
            .and_then(|()| writeln!(out, "report  {}", folder.file(Folder::PAGE).display()))
            .and_then(|()| match folder.file(Folder::LOSSES) {
                losses if losses.is_file() => {
                    writeln!(out, "losses  {}  (entries ready for a dead-ends file)", losses.display())
                }
                _ => Ok(()),
            })
    };
    super::voice::written(written)
}
