//! The arguments of every command.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::gate_args::{GateArgs, HistoryArgs, PublishArgs, UnpublishArgs};
use super::record_args::{AnnotateArgs, CompareArgs, ExportArgs, ReportArgs, ShowArgs};
use super::versus::VersusArgs;
use crate::agent::AgentArgs;
use crate::tool::Tool;

/// Runs declared performance experiments on lab hosts and publishes evidence that can be trusted.
///
/// A campaign is a YAML file: a control, treatments, and every combination of the variables'
/// levels. Each cell is first proven to do the same work with the same answer; only then is it
/// timed. Start with `fieldtrial init`, or run campaigns/quickstart.yaml.
#[derive(Debug, Parser)]
#[command(name = "fieldtrial", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 all that was asked was done and holds; 1 a fault of ours; 2 bad input; 3 regression; \
4 cells refused; 5 incomplete (rejected, timed out, failed or interrupted runs); 6 a host could not be put \
back; 7 stale baseline; 8 nothing measured; 9 not comparable; 10 inconclusive; 11 no baseline; 12 a host is unavailable; 13 this machine (disk full, folder not writable).";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check a campaign and its hosts file: every complaint at once, no host is touched
    Check(CampaignArgs),
    /// Show every run in order, excluded cells with reasons, counts, time and size
    Plan(PlanArgs),
    /// Run a campaign: provision, prove equal work, measure, write the record and its report
    Run(RunArgs),
    /// Compare command lines without a file: equal output first, then paired blocks and a verdict
    Versus(VersusArgs),
    /// Go on with a record that was interrupted: only what is missing is run
    Resume(ResumeArgs),
    /// Measure one cell again, with its control, as a new block beside the first runs
    Rerun(RerunArgs),
    /// Put a campaign on a calendar: units for systemd, or a line for cron, and the dates they mean
    Schedule(ScheduleArgs),
    /// Tell how far trials are, also those that another process on this machine runs
    Status(StatusArgs),
    /// Ask a trial on this machine to stop after its run under way, or at once
    Cancel(CancelArgs),
    /// Remove raw evidence by a retention; never of what was published or runs
    Prune(PruneArgs),
    /// Build the report and tables of a record again, from its journal, and print the answer with small plots
    Report(ReportArgs),
    /// Show one cell of a record: its runs, values, proof, commands, reasons, and how to measure it again
    Show(ShowArgs),
    /// Take a run out of the analysis of its record, or back into it, with a reason that every report shows
    Annotate(AnnotateArgs),
    /// Make a record official: its numbers become the published ones and the gate's, in one act
    Publish(PublishArgs),
    /// Take a publication back; the one before it is in force again
    Unpublish(UnpublishArgs),
    /// Judge a record by what is published: pass, regression, stale baseline and more, each with its exit code
    Gate(GateArgs),
    /// Measure every released artifact of a window, and name the release in which the level changed
    Ladder(super::ladder::LadderArgs),
    /// List the records of a campaign with outcomes, verdicts and the trend of the primary response
    History(HistoryArgs),
    /// Write a record in the format of another tool: OpenMetrics, JUnit, Markdown, Bencher, CSV or Parquet
    Export(ExportArgs),
    /// Lay two records beside each other: every fact that differs, and every number that moved
    Compare(CompareArgs),
    /// Judge a CSV table or hyperfine's JSON export as a record is judged
    Analyse(AnalyseArgs),
    /// Write a commented campaign and hosts file to start from
    Init(InitArgs),
    /// Look at hosts: their facts, requirements and settings, or a new one behind an SSH alias
    #[command(subcommand)]
    Hosts(HostsCommand),
    /// Put back on a host what a killed session left changed; the next session does it by itself too
    Restore(RestoreArgs),
    /// Print the JSON Schema of campaign, hosts or dead-ends files, or of findings; or what the columns of CSV files mean
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Built-in tools, the same ones that campaigns run on hosts
    #[command(subcommand)]
    Tool(Tool),
    /// The servant on a host; started by fieldtrial, never by hand
    #[command(hide = true)]
    Agent(AgentArgs),
}

#[derive(Debug, Args)]
pub struct CampaignArgs {
    /// Campaign file
    pub campaign: PathBuf,
    /// Use this hosts file instead of the one that the campaign names
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub campaign: CampaignArgs,
    /// Say what the design could detect if the ratio of an arm to its control has this standard deviation
    /// from block to block, such as 1%
    #[arg(long, value_name = "PERCENT")]
    pub sd: Option<String>,
    /// Folder with records: without --sd the newest one of this campaign tells the spread
    #[arg(long, default_value = "reports", value_name = "DIR")]
    pub reports: PathBuf,
    /// Show at most this many runs; all of them are counted
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub limit: u64,
}

#[derive(Debug, Clone, Args)]
pub struct LabArgs {
    /// Binary for hosts of another architecture, e.g. aarch64=target/aarch64/fieldtrial
    #[arg(long = "agent", value_name = "ARCH=PATH", value_parser = arch_and_path)]
    pub agents: Vec<(String, PathBuf)>,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub campaign: CampaignArgs,
    /// Folder that records are written to
    #[arg(long, default_value = "reports", value_name = "DIR")]
    pub reports: PathBuf,
    /// Wait so long for hosts that somebody else has, and for another trial of this campaign, such as 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub wait: Option<Duration>,
    /// Quiet the hosts first, as the campaign's `quiet` says: a treatment of its own, whose cells end in @quiet
    #[arg(long = "as", value_name = "CONDITION")]
    pub under: Option<Condition>,
    /// Judge the record by what is published, as `gate --again` does; with --json on a line of its own
    #[arg(long)]
    pub gate: bool,
    /// This start belongs to a schedule, which says so: never twice at once, and the record names the date
    /// that it is for and those that were missed
    #[arg(long, value_name = "CALENDAR")]
    pub due: Option<String>,
    #[command(flatten)]
    pub lab: LabArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Condition {
    /// Services stopped and caches dropped
    Quiet,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// A record, a campaign file or the name of a campaign; without it whatever runs
    pub of: Option<PathBuf>,
    /// Go on until it has ended
    #[arg(long)]
    pub follow: bool,
    /// Folder with records
    #[arg(long, default_value = "reports", value_name = "DIR")]
    pub reports: PathBuf,
    /// Answer as JSON on standard output; with --follow a line for every change
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CancelArgs {
    /// A record, a campaign file or the name of a campaign
    pub of: PathBuf,
    /// End the run under way too, as a second Ctrl-C does
    #[arg(long)]
    pub now: bool,
    /// Folder with records
    #[arg(long, default_value = "reports", value_name = "DIR")]
    pub reports: PathBuf,
}

#[derive(Debug, Args)]
pub struct PruneArgs {
    /// A record, a campaign file or the name of a campaign; without it all of them
    pub of: Option<PathBuf>,
    /// Keep what is younger [default, with --keep-last: what the campaign declares as `retention`]
    #[arg(long, value_name = "DAYS")]
    pub keep_days: Option<u64>,
    /// Keep so many of the newest of each campaign
    #[arg(long, value_name = "N")]
    pub keep_last: Option<u64>,
    /// Really remove; without it only what would go is told
    #[arg(long)]
    pub yes: bool,
    /// Folder with records
    #[arg(long, default_value = "reports", value_name = "DIR")]
    pub reports: PathBuf,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = SCHEDULE_EXAMPLES)]
pub struct ScheduleArgs {
    /// Campaign file
    pub campaign: PathBuf,
    /// When: a calendar expression of systemd, or the five fields of cron; a time zone may follow
    #[arg(long, value_name = "CALENDAR", required_unless_present = "remove")]
    pub on: Option<String>,
    /// Units of your own user in place of the system's
    #[arg(long)]
    pub user: bool,
    /// Write the units and start the timer
    #[arg(long, conflicts_with_all = ["print", "cron", "remove"])]
    pub install: bool,
    /// Print the units
    #[arg(long, conflicts_with_all = ["cron", "remove"])]
    pub print: bool,
    /// Print a line for a crontab, for machines without systemd
    #[arg(long, conflicts_with = "remove")]
    pub cron: bool,
    /// Stop the timer and remove the units
    #[arg(long)]
    pub remove: bool,
    /// What becomes of a date that was missed because the machine was off
    #[arg(long, value_name = "POLICY", default_value = "one")]
    pub catch_up: CatchUp,
    /// Wait so long for hosts that somebody else has
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = duration)]
    pub wait: Duration,
    /// Put each start off by a random time up to this, at most 30m
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub spread: Duration,
    /// Stop a trial that takes longer
    #[arg(long, value_name = "TIME", default_value = "12h", value_parser = duration)]
    pub longest: Duration,
    /// A resource limit of systemd, such as MemoryMax=4G; it also holds for what runs on this machine
    #[arg(long = "limit", value_name = "KEY=VALUE")]
    pub limits: Vec<String>,
    /// Unit to start when a trial ends with any exit code but 0
    #[arg(long, value_name = "UNIT")]
    pub on_failure: Option<String>,
    /// Do not judge each record by what is published
    #[arg(long)]
    pub no_gate: bool,
    /// Folder that records are written to
    #[arg(long, default_value = "reports", value_name = "DIR")]
    pub reports: PathBuf,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

const SCHEDULE_EXAMPLES: &str = "\
Examples:
  fieldtrial schedule campaigns/rx-path.yaml --on 'Mon..Fri 02:00'
  fieldtrial schedule campaigns/rx-path.yaml --on '30 4 1,15 * *' --user --install
  fieldtrial schedule campaigns/rx-path.yaml --on 'Sun 03:00 Europe/Berlin' --limit MemoryMax=4G --print";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CatchUp {
    /// Run once when the machine is on again
    One,
    /// Wait for the next date
    None,
}

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Folder of the record
    pub record: PathBuf,
    #[command(flatten)]
    pub lab: LabArgs,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RerunArgs {
    /// Folder of the record
    pub record: PathBuf,
    /// Id of the cell, as tables and the report show it
    #[arg(long, value_name = "ID")]
    pub cell: String,
    #[command(flatten)]
    pub lab: LabArgs,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Judges data of any origin by the method that records are judged by.
///
/// Each row of the table is a run. A row without a value is counted with its reason and never
/// dropped without a word. Words for no value are NA, nan or nothing; a run that was cut off at 10
/// may be written as >10.
#[derive(Debug, Args)]
#[command(after_help = ANALYSE_EXAMPLES)]
pub struct AnalyseArgs {
    /// CSV file with a header, or hyperfine's JSON export; - reads standard input
    pub file: PathBuf,
    /// Columns with the measured values; the first decides, others are exploratory [for hyperfine: time]
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub response: Vec<String>,
    /// Columns whose levels make the grid
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub factors: Vec<String>,
    /// Column of the blocks: rows of one block are compared with each other
    #[arg(long, value_name = "COLUMN")]
    pub block: Option<String>,
    /// Column of the arms and the name of the control in it; without it nothing is compared
    /// [for hyperfine: the first command]
    #[arg(long, value_name = "COLUMN=LEVEL", value_parser = column_and_level)]
    pub control: Option<(String, String)>,
    /// Column that says in what order runs were made; without it row order means nothing
    #[arg(long, value_name = "COLUMN")]
    pub order: Option<String>,
    /// Factors that were set once for a group of runs, such as one that needs a reboot. They are judged by how
    /// often they were set
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub whole_plot: Vec<String>,
    /// Column that says which setting of --whole-plot each row belongs to [default: every block made each once]
    #[arg(long, value_name = "COLUMN", requires = "whole_plot")]
    pub group: Option<String>,
    /// Look for changes of level along the rows, one value each, which this column names. Rows stand in
    /// the order of --order, else in that of the file
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["ladder", "control", "factors", "samples"])]
    pub history: Option<String>,
    /// Look for changes of level along the releases of this column, each measured once in every block.
    /// They stand in the order of --order, else in that in which the file first names them
    #[arg(long, value_name = "COLUMN", requires = "block", conflicts_with_all = ["control", "factors", "samples"])]
    pub ladder: Option<String>,
    /// Deadline of runs: a number in the unit of the response, a time like 10s or 500ms where the
    /// response is in seconds, or a column with the deadline of each row
    #[arg(long, value_name = "LIMIT")]
    pub censored_at: Option<String>,
    /// Column of outcomes: measured (or ok), timed_out (or timeout), rejected, failed, interrupted
    #[arg(long, value_name = "COLUMN")]
    pub status: Option<String>,
    /// Rows of one cell and block are samples of one run: reduce them to this first
    #[arg(long, value_name = "HOW")]
    pub samples: Option<SamplesAs>,
    /// Effects are ratios (log) or differences (linear)
    #[arg(long, value_name = "SCALE", default_value = "log")]
    pub scale: ScaleOf,
    /// Which way a value is good
    #[arg(long, value_name = "WAY", default_value = "lower")]
    pub better: BetterWay,
    /// Difference that counts as none: in per cent (2%) on the log scale, in the unit of the response
    /// on the linear one
    #[arg(long, value_name = "MARGIN")]
    pub margin: Option<String>,
    /// Unit of the response, for reading
    #[arg(long, value_name = "UNIT", default_value = "")]
    pub unit: String,
    /// Answer as JSON on standard output; `fieldtrial schema findings` describes it
    #[arg(long)]
    pub json: bool,
}

const ANALYSE_EXAMPLES: &str = "\
Examples:
  fieldtrial analyse runs.csv --response seconds --block block --control arm=old --margin 2%
  fieldtrial analyse runs.csv --response mpps --better higher --factors frame,queues --control arm=old
  fieldtrial analyse runs.csv --response seconds --control arm=old --censored-at 10s --status status
  fieldtrial analyse runs.csv --response mpps --better higher --history release
  fieldtrial analyse runs.csv --response mpps --better higher --ladder release --block block
  hyperfine --export-json - 'old' 'new' | fieldtrial analyse -";

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ScaleOf {
    Log,
    Linear,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum BetterWay {
    Lower,
    Higher,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SamplesAs {
    Median,
    Mean,
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Folder to write into; nothing that is there is overwritten
    #[arg(default_value = ".")]
    pub folder: PathBuf,
}

#[derive(Debug, Subcommand)]
pub enum HostsCommand {
    /// Facts, requirements and settings of every host of a hosts file, as tables
    Check {
        /// Hosts file
        file: PathBuf,
        #[command(flatten)]
        lab: LabArgs,
        /// Answer as JSON on standard output
        #[arg(long)]
        json: bool,
    },
    /// Print a hosts file for what an SSH alias answers
    Discover {
        /// What you would give to `ssh`
        alias: String,
        /// ssh configuration file to use instead of your own
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Become root on the host through sudo
        #[arg(long)]
        sudo: bool,
        #[command(flatten)]
        lab: LabArgs,
    },
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// A host of the hosts file, or without one what you would give to `ssh`
    pub host: String,
    /// Hosts file that says how the host is reached
    #[arg(long, value_name = "FILE", conflicts_with_all = ["config", "sudo"])]
    pub hosts: Option<PathBuf>,
    /// ssh configuration file to use instead of your own
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Become root on the host through sudo
    #[arg(long)]
    pub sudo: bool,
    #[command(flatten)]
    pub lab: LabArgs,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    pub file: SchemaOf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SchemaOf {
    Campaign,
    Hosts,
    DeadEnds,
    Findings,
    Comparison,
    Gate,
    /// A record's ladder.json
    Ladder,
    /// Not a schema: every column of a record's CSV files with type, unit and meaning, as CSV
    Columns,
}

fn duration(text: &str) -> Result<Duration, String> {
    let most = 30 * 24 * 3_600_000;
    let ms = crate::yaml::quantity::duration_ms(text, 1..=most).map_err(|why| format!("expected {why}"))?;
    Ok(Duration::from_millis(ms))
}

fn column_and_level(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((column, level)) if !column.is_empty() => Ok((column.into(), level.into())),
        _ => Err("expected COLUMN=LEVEL, for example arm=old".into()),
    }
}

fn arch_and_path(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((arch, path)) if !arch.is_empty() && !path.is_empty() => Ok((arch.into(), path.into())),
        _ => Err("expected ARCH=PATH, for example aarch64=./fieldtrial-aarch64".into()),
    }
}
