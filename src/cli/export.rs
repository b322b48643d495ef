//! `export`: a record in the formats of other tools.

use std::path::Path;

use super::derive::{listed_as_expected, sheets};
use super::failure::{Failure, Outcome};
use super::load::load_record;
use super::record_args::{ExportArgs, ExportFormat, ExportTable};
use super::report::whole;
use super::voice::{as_it_is, aside, counted};
use crate::analysis::findings::Findings;
use crate::analysis::judge::judge;
use crate::evidence::fold::Evidence;
use crate::evidence::sheet::{Head, Sheet, dictionary};
use crate::export::bencher::bencher;
use crate::export::junit::junit;
use crate::export::markdown::markdown;
use crate::export::openmetrics::openmetrics;
use crate::export::summary::summary;
use crate::model::cell::CellId;
use crate::model::outcome::RunOutcome;
use crate::record::{Folder, put};

/// Values left out that are told one by one.
const TOLD: usize = 5;

pub fn export(args: &ExportArgs) -> Outcome {
    let tables = matches!(args.format, ExportFormat::Csv | ExportFormat::Parquet);
    if args.table != ExportTable::Summary && !tables {
        return Err(Failure::Input(
            "--table is for `--format csv` and `--format parquet`; other formats have no tables".into(),
        ));
    }
    let folder = Folder::open(&args.record)?;
    let evidence = whole(&folder)?.evidence;
    let findings = judge(&evidence);
    let bytes = match args.format {
        ExportFormat::Openmetrics => openmetrics(&findings).into_bytes(),
        ExportFormat::Junit => in_junit(&folder, &evidence, &findings)?.into_bytes(),
        ExportFormat::Markdown => markdown(&evidence, &findings).into_bytes(),
        ExportFormat::Bencher => in_bencher(&findings)?.into_bytes(),
        ExportFormat::Csv => table(args.table, &evidence, &findings).csv().into_bytes(),
        ExportFormat::Parquet => in_parquet(args, table(args.table, &evidence, &findings))?,
    };
    match &args.output {
        Some(path) => write("--output", path, &bytes)?,
        None => as_it_is(&bytes)?,
    }
    Ok(vec![])
}

/// Writes a file whole or not at all; a device or pipe, which cannot be replaced, is written to.
pub fn write(option: &str, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let there = std::fs::metadata(path).ok();
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wrong = |found: &str| {
        Failure::Input(format!("{option}: expected a file to write, found {}, which {found}", path.display()))
    };
    match there {
        Some(there) if there.is_dir() => Err(wrong("is a folder")),
        Some(there) if there.is_file() => {
            Ok(put(&path.canonicalize().unwrap_or_else(|_| path.to_owned()), bytes)?)
        }
        Some(_) => std::fs::write(path, bytes)
            .map_err(|error| Failure::Workstation(format!("{} cannot be written: {error}", path.display()))),
        None if !parent.is_dir() => Err(wrong("lies in no folder that is there")),
        None => Ok(put(path, bytes)?),
    }
}

fn table<'e>(which: ExportTable, evidence: &'e Evidence, findings: &'e Findings) -> Sheet<'e> {
    let named = |file: &str| sheets(evidence, findings).find(|sheet| sheet.head.file == file);
    let found = match which {
        ExportTable::Summary => None,
        ExportTable::Runs => named("runs.csv"),
        ExportTable::Samples => named("samples.csv"),
        ExportTable::Counters => named("counters.csv"),
        ExportTable::Rejected => named("rejected.csv"),
        ExportTable::Dictionary => {
            let heads: Vec<Head> =
                sheets(evidence, findings).chain([summary(findings)]).map(|sheet| sheet.head).collect();
            Some(dictionary(&heads))
        }
    };
    found.unwrap_or_else(|| summary(findings))
}

fn in_junit(folder: &Folder, evidence: &Evidence, findings: &Findings) -> Result<String, Failure> {
    let expect = match load_record(folder, evidence) {
        Ok(loaded) => loaded.campaign.expect,
        Err(failure) => {
            failure.print();
            aside("the export is whole without it, but every outcome counts as one that was not expected");
            crate::campaign::Expected::default()
        }
    };
    let expected = |outcome: Option<RunOutcome>, cell: &CellId| listed_as_expected(&expect, outcome, cell);
    junit(evidence, findings, &expected).map_err(|e| Failure::Fault(e.to_string()))
}

/// The format has no place for reasons, so they are told.
fn in_bencher(findings: &Findings) -> Result<String, Failure> {
    let made = bencher(findings);
    if !made.left_out.is_empty() {
        let first: Vec<&str> = made.left_out.iter().take(TOLD).map(String::as_str).collect();
        let more = made.left_out.len() - first.len();
        let more = if more == 0 { String::new() } else { format!("\n  and {more} more") };
        aside(format_args!(
            "the format has no place for a missing value, so {} left out:\n  {}{more}",
            match made.left_out.len() {
                1 => "1 is".to_owned(),
                n => format!("{} are", counted(n as u64, "value")),
            },
            first.join("\n  ")
        ));
    }
    serde_json::to_string_pretty(&made.document)
        .map(|text| text + "\n")
        .map_err(|e| Failure::Fault(e.to_string()))
}

#[cfg(feature = "parquet")]
fn in_parquet(args: &ExportArgs, sheet: Sheet) -> Result<Vec<u8>, Failure> {
    if args.output.is_none() && super::voice::on_a_terminal() {
        return Err(Failure::Input(
            "Parquet is no text\nnext: name a file with --output, or send it elsewhere".into(),
        ));
    }
    crate::export::parquet::parquet(sheet).map_err(|e| Failure::Fault(e.to_string()))
}

#[cfg(not(feature = "parquet"))]
fn in_parquet(_: &ExportArgs, _: Sheet) -> Result<Vec<u8>, Failure> {
    Err(Failure::Input(
        "this fieldtrial was built without Parquet\nnext: `cargo build --release --features parquet`, or take `--format csv`".into(),
    ))
}
