//! The arguments of the commands that read a record, annotate it or write it in other formats.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder of the record
    pub record: PathBuf,
    /// Open the page in the desktop's browser
    #[arg(long)]
    pub open: bool,
    /// Draw with no other letters than ASCII; a terminal whose locale is not UTF-8 gets that anyway
    #[arg(long, conflicts_with = "json")]
    pub ascii: bool,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Writes the findings and rows of a record in the format of another tool.
///
/// A value that does not exist is left out or null, with the reason where the format has a place for
/// one, and is never 0. Text from outside is escaped for where it lands.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Folder of the record
    pub record: PathBuf,
    #[arg(long, value_name = "FORMAT")]
    pub format: ExportFormat,
    /// Which table to write as CSV or Parquet
    #[arg(long, value_name = "TABLE", default_value = "summary")]
    pub table: ExportTable,
    /// File to write, whole or not at all [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Gauges as OpenMetrics text, for Prometheus and its kin
    Openmetrics,
    /// A test case for each planned cell: refused cells and runs that went amiss are failures
    Junit,
    /// The answer and its tables, for the page of a pipeline or a pull request
    Markdown,
    /// Bencher Metric Format: the median of each cell with the ends of its interval
    Bencher,
    /// One table, of which `fieldtrial schema columns` says what each column means
    Csv,
    /// The same with typed columns; only in a fieldtrial built with `--features parquet`
    Parquet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportTable {
    /// A row for each cell and response: numbers, effect, verdict
    Summary,
    /// A row for each attempt of each run
    Runs,
    /// A row for each reading inside a run
    Samples,
    /// What the counters of ports said beside each run
    Counters,
    /// What was turned down, at whatever stage
    Rejected,
    /// What every column means
    Dictionary,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Folder of the record
    pub record: PathBuf,
    /// Id of the cell, as tables and the report show it
    #[arg(long, value_name = "ID")]
    pub cell: String,
    /// Draw with no other letters than ASCII; a terminal whose locale is not UTF-8 gets that anyway
    #[arg(long, conflicts_with = "json")]
    pub ascii: bool,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Takes a run out of the analysis of its record, or back into it.
///
/// There is no other way to leave a run out. Nothing is deleted: the run, who annotated it, when and
/// why stay in the record, and every report gives the verdict with the run and without it. The run
/// counts as rejected, so that an arm that loses more runs than its control cannot win by that.
#[derive(Debug, Args)]
#[command(after_help = ANNOTATE_EXAMPLES)]
pub struct AnnotateArgs {
    /// Folder of the record
    pub record: PathBuf,
    /// The run, as CELL#BLOCK.ATTEMPT; may be given several times
    #[arg(long = "run", value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Take it out of the analysis, because of this
    #[arg(long, value_name = "REASON", conflicts_with = "valid", required_unless_present = "valid")]
    pub invalid: Option<String>,
    /// Take it back into the analysis, because of this
    #[arg(long, value_name = "REASON")]
    pub valid: Option<String>,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

const ANNOTATE_EXAMPLES: &str = "\
Examples:
  fieldtrial annotate RECORD --run 'size=64/new#3.1' --invalid 'the cable was pulled at 14:02'
  fieldtrial annotate RECORD --run 'size=64/new#3.1' --valid 'it was the other cable'";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub struct CompareArgs {
    /// Folder of the earlier record
    pub before: PathBuf,
    /// Folder of the later record
    pub after: PathBuf,
    /// Write it as a page too
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Answer as JSON on standard output; `fieldtrial schema comparison` describes it
    #[arg(long)]
    pub json: bool,
}

const COMPARE_EXAMPLES: &str = "\
Was the box only busy? Measure again with the hosts quieted as the campaign's `quiet` says, and compare:
  fieldtrial run --as quiet campaigns/scanner.yaml
  fieldtrial compare reports/scanner/20261130T020000Z reports/scanner/20261130T093000Z

Exit codes: 0 compared, whatever moved; 9 no cell of the two can be compared (other deadlines, other work).";
