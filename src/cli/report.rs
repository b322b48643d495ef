//! `report`: everything derived from a journal, built again; and the answer on the terminal.

use super::derive::{derive, exits};
use super::desktop;
use super::failure::{Failure, Outcome};
use super::history;
use super::ladder_files;
use super::load::load_record;
use super::publish::campaign_folder;
use super::record_args::ReportArgs;
use super::voice::{answer_json, aside, columns, in_colour, only_ascii, painted};
use crate::analysis::findings::Findings;
use crate::campaign::Expected;
use crate::record::{Folder, Read, read};
use crate::report::look::Look;
use crate::report::terminal;

pub fn report(args: &ReportArgs) -> Outcome {
    let folder = Folder::open(&args.record)?;
    let read = whole(&folder)?;
    let findings = derive(&folder, &read.evidence)?;
    if let Err(failure) = ladder_files::again(&folder) {
        failure.print();
        aside("the report of the record is whole; only the page of its ladder was not built again");
    }
    let text = terminal(&read.evidence, &findings, &look(args.ascii));
    print_answer(&folder, &findings, &text, args.json)?;
    // What follows reads the findings of every record, and those of this one may be large.
    drop((findings, text));
    history::pages(&campaign_folder(&folder)?);
    if args.open {
        desktop::open(&folder.file(Folder::PAGE))?;
    }
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

/// The journal of a record; a torn last line is told and left out.
pub fn whole(folder: &Folder) -> Result<Read, Failure> {
    let read = read(folder)?;
    if read.torn_bytes > 0 {
        aside(format_args!("the journal's last line is torn ({} bytes) and is left out", read.torn_bytes));
    }
    Ok(read)
}

/// What standard output can show.
pub fn look(ascii: bool) -> Look {
    Look { width: columns(), ascii: ascii || only_ascii(), colour: in_colour() }
}

/// The answer in words and where the record lies, or the findings as JSON.
pub fn print_answer(folder: &Folder, findings: &Findings, words: &str, json: bool) -> Result<(), Failure> {
    if json {
        return answer_json(&serde_json::json!({ "record": folder.path(), "findings": findings }));
    }
    let mut text = format!(
        "{words}\nrecord  {}\nreport  {}",
        folder.path().display(),
        folder.file(Folder::PAGE).display()
    );
    let losses = folder.file(Folder::LOSSES);
    if losses.is_file() {
        text.push_str(&format!("\nlosses  {}  (entries ready for a dead-ends file)", losses.display()));
    }
    painted(&text)
}
