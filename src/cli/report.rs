//! `report`: everything derived from a journal, built again; and the answer on the terminal.

use std::io::{IsTerminal, Write};

use super::args::RecordArgs;
use super::derive::{derive, exits};
use super::failure::{Failure, Outcome};
use super::load::load_record;
use crate::analysis::findings::Findings;
use crate::campaign::Expected;
use crate::record::{Folder, read};
use crate::report::table;

pub fn report(args: &RecordArgs) -> Outcome {
    let folder = Folder::open(&args.record)?;
    let read = read(&folder)?;
    if read.torn_bytes > 0 {
        eprintln!("the journal's last line is torn ({} bytes) and is left out", read.torn_bytes);
    }
    let findings = derive(&folder, &read.evidence)?;
    print_answer(&folder, &findings, args.json)?;
    let campaign = load_record(&folder, &read.evidence);
    let expect = campaign.map(|loaded| loaded.campaign.expect).unwrap_or_else(|_| Expected::default());
    Ok(exits(&read.evidence, &expect))
}

/// The summary table and where the record lies, or the findings as JSON.
pub fn print_answer(folder: &Folder, findings: &Findings, json: bool) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = if json {
        let answer = serde_json::json!({ "record": folder.path(), "findings": findings });
        writeln!(out, "{answer}")
    } else {
        let width = if std::io::stdout().is_terminal() { terminal_width() } else { 110 };
        writeln!(out, "{}", table(findings, width))
            .and_then(|()| writeln!(out, "record  {}", folder.path().display()))
            .and_then(|()| writeln!(out, "report  {}", folder.file(Folder::PAGE).display()))
    };
    match written {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Workstation(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

fn terminal_width() -> u16 {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).unwrap_or(100)
}
