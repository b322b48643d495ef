//! The arguments of commands that publish and judge.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::args::LabArgs;

#[derive(Debug, Args)]
pub struct PublishArgs {
    /// Folder of the record
    pub record: PathBuf,
    /// Why these numbers become official; it is kept
    #[arg(long, value_name = "TEXT")]
    pub why: String,
    /// Who publishes [default: the name of the user]
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// Lower what is official, for this reason; it is printed from then on
    #[arg(long, value_name = "REASON")]
    pub lower: Option<String>,
    /// Publish in spite of what speaks against it, for this reason; the page shows both
    #[arg(long, value_name = "REASON")]
    pub force: Option<String>,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct UnpublishArgs {
    /// Folder of the published record; it need not be there any more
    pub record: PathBuf,
    /// Why; it is kept beside the publication
    #[arg(long, value_name = "TEXT")]
    pub why: String,
    /// Who takes it back [default: the name of the user]
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Judges every gated response of every cell by what `publish` made official.
///
/// A value passes where every replicate stands at or above the floor, and is a regression where the median is
/// below it. The baseline is stale where this record, or two in a row since it was published, stand above it:
/// the product did not fail, but a fall could hide.
#[derive(Debug, Args)]
#[command(after_help = GATE_EXITS)]
pub struct GateArgs {
    /// Folder of the record
    pub record: PathBuf,
    /// Measure every cell that failed once more, with its control, before the verdict stands
    #[arg(long)]
    pub again: bool,
    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: GateFormat,
    /// Write the answer to this file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub lab: LabArgs,
    /// Answer as JSON on standard output; `fieldtrial schema gate` describes it
    #[arg(long)]
    pub json: bool,
}

const GATE_EXITS: &str = "\
Exit codes: 0 pass; 3 regression; 7 stale baseline; 8 nothing measured; 9 not comparable; 10 inconclusive; \
11 no baseline.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GateFormat {
    Text,
    Json,
    Junit,
    Markdown,
}

#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Campaign file, or the name of a campaign
    pub campaign: PathBuf,
    /// Folder that records lie in
    #[arg(long, default_value = "reports", value_name = "DIR")]
    pub reports: PathBuf,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}
