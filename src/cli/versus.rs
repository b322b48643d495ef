//! `versus`: command lines as a campaign that nobody had to write.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::args::LabArgs;
use super::failure::{Failure, Outcome};
use super::load::load_text;
use super::run::carry_out;
use super::voice::{answer, aside};
use crate::campaign::{Comparison, arm_names, comparison};
use crate::model::job::DEFAULT_PATH;
use crate::model::shell::{NoWords, quote, words};
use crate::record::Folder;
use crate::yaml::Source;

/// Compares command lines that shall do the same. The first is the reference.
///
/// Every command runs once untimed. One whose output differs from the first one's is refused. Then all
/// are measured in mirrored blocks and compared pair by pair. It leaves a record with its page, and the
/// campaign file that it made.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct VersusArgs {
    /// Command lines, each as one argument; the first is the reference
    #[arg(required = true, num_args = 2.., value_name = "COMMAND")]
    pub commands: Vec<String>,
    /// Their names, in the same order [default: made from the commands]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub arms: Vec<String>,
    /// Name of the campaign, under which its records are kept [default: made from the commands]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// What it shall answer [default: made from the commands]
    #[arg(long, value_name = "SENTENCE")]
    pub question: Option<String>,
    /// Outputs need not be equal; the report says so
    #[arg(long, conflicts_with = "any_order")]
    pub outputs_may_differ: bool,
    /// Outputs must have the same lines, in any order
    #[arg(long)]
    pub any_order: bool,
    /// Give the commands to /bin/sh. Without it that is done only where one of them needs it: for a pipe,
    /// `*`, `$` or the like that is not quoted
    #[arg(long)]
    pub shell: bool,
    /// How often each command is measured
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub blocks: u32,
    /// Allow fewer blocks than a verdict needs; there is none then
    #[arg(long)]
    pub pilot: bool,
    /// Measure the reference a second time in every block, which shows the noise
    #[arg(long)]
    pub aa: bool,
    /// Difference of the wall time that counts as none
    #[arg(long, default_value = "2%", value_name = "PERCENT")]
    pub margin: String,
    /// A run that takes longer is killed and counted as timed out
    #[arg(long, default_value = "60s", value_name = "TIME")]
    pub timeout: String,
    /// File that is the standard input of every command [default: empty]
    #[arg(long, value_name = "FILE")]
    pub input: Option<String>,
    /// Files that decide what is done; their digests become part of the record
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub inputs: Vec<String>,
    /// Text for /bin/sh that is run before every run of every command, untimed
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Untimed invocations before every run
    #[arg(long, value_name = "N")]
    pub warmup: Option<u32>,
    /// Timed invocations in every run, of which the median counts [default: 1]
    #[arg(long, value_name = "N")]
    pub invocations: Option<u32>,
    /// Confine the commands to so many processors, or to those with these numbers, like 0,1
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub cpus: Vec<u32>,
    /// What the page cache holds of --inputs and --input when a run starts [default: as it is]
    #[arg(long, value_name = "STATE")]
    pub cache: Option<CacheState>,
    /// Variable of the environment, as NAME=VALUE, or NAME for the value that it has here. Nothing else is
    /// handed on but PATH, and that only on this machine
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub env: Vec<String>,
    /// Folder to run in [default: the current one, or on a lab host a fresh empty one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
    /// Host of the hosts file to run on [default: this machine]
    #[arg(long, value_name = "HOST", requires = "hosts")]
    pub on: Option<String>,
    /// Hosts file with the host
    #[arg(long, value_name = "FILE", requires = "on")]
    pub hosts: Option<PathBuf>,
    /// Print the campaign file and run nothing
    #[arg(long, conflicts_with = "json")]
    pub print: bool,
    /// Folder that records are written to
    #[arg(long, default_value = "reports", value_name = "DIR")]
    pub reports: PathBuf,
    #[command(flatten)]
    pub lab: LabArgs,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum CacheState {
    Cold,
    Warm,
}

const EXAMPLES: &str = "\
Examples:
  fieldtrial versus 'gzip -kc data' 'zstd -qc data' --outputs-may-differ
  fieldtrial versus 'sort words | uniq -c' 'sort words | uniq -c' --aa --arms one,two --env LC_ALL=C
  fieldtrial versus 'old/scan corpus' 'new/scan corpus' --inputs corpus --on tx --hosts hosts/lab.yaml
  fieldtrial versus --print 'grep -c x data' 'rg -c x data' > campaigns/grep-vs-rg.yaml";

/// What campaigns call it; it does not go through a shell.
const SOURCE: &str = "the campaign of this command line";

pub fn versus(args: &VersusArgs) -> Outcome {
    let text = comparison(&asked(args)?);
    let loaded = load_text(Source::new(SOURCE, text.clone()))?;
    if args.print {
        loaded.plan(&std::collections::BTreeMap::new())?;
        loaded.print_warnings();
        answer(text.trim_end())?;
        return Ok(vec![]);
    }
    let (folder, exits) = carry_out(&loaded, &args.reports, &args.lab, Some(args.json))?;
    if !args.json {
        let kept = folder.file(Folder::CAMPAIGN);
        answer(format_args!(
            "kept    {}  (copy it to change it; `fieldtrial run` takes it)",
            kept.display()
        ))?;
    }
    Ok(exits)
}

fn asked(args: &VersusArgs) -> Result<Comparison, Failure> {
    let names = names(args)?;
    let here = args.on.is_none();
    let folder = std::env::current_dir()
        .map_err(|e| Failure::Workstation(format!("the current folder cannot be told: {e}")))?;
    let local = |path: &String| if here { folder.join(path).display().to_string() } else { path.clone() };
    let list = |commands: &[String]| {
        let quoted: Vec<String> = commands.iter().map(|c| format!("`{}`", c.trim())).collect();
        quoted.join(", ")
    };
    let question = format!("How fast is {} beside `{}`?", list(&args.commands[1..]), args.commands[0].trim());
    Ok(Comparison {
        name: args.name.clone().unwrap_or_else(|| campaign_name(&names)),
        question: args.question.clone().unwrap_or(question),
        shell: args.shell || needs_shell(args)?,
        arms: names.into_iter().zip(args.commands.iter().cloned()).collect(),
        on: args.hosts.as_ref().map(|path| path.display().to_string()).zip(args.on.clone()),
        env: environment(args, here)?,
        cwd: args.cwd.as_ref().map(local).or(here.then(|| folder.display().to_string())),
        stdin: args.input.as_ref().map(local),
        inputs: args.inputs.iter().map(local).collect(),
        prepare: args.prepare.clone(),
        warmup: args.warmup,
        invocations: args.invocations,
        cpus: (!args.cpus.is_empty()).then(|| args.cpus.clone()),
        cache: args.cache.map(|state| match state {
            CacheState::Cold => "cold",
            CacheState::Warm => "warm",
        }),
        outputs: match (args.outputs_may_differ, args.any_order) {
            (true, _) => "ignored",
            (_, true) => "any_order",
            _ => "exact",
        },
        aa: args.aa,
        blocks: args.blocks,
        pilot: args.pilot,
        timeout: args.timeout.clone(),
        margin: args.margin.clone(),
        made_by: command_line(),
    })
}

fn names(args: &VersusArgs) -> Result<Vec<String>, Failure> {
    for (at, command) in args.commands.iter().enumerate() {
        let number = at + 1;
        if command.chars().any(char::is_control) {
            return Err(Failure::Input(format!(
                "command {number}: expected one line, found a line break or another control character\n\
                 next: put the text into a script and name that"
            )));
        }
        let first = args.commands.iter().position(|other| other.trim() == command.trim()).unwrap_or(at);
        if first < at {
            return Err(Failure::Input(format!(
                "commands {} and {number} are the same: {command}\n\
                 next: leave one out; with --aa the reference is measured a second time, which shows the noise",
                first + 1
            )));
        }
    }
    match args.arms.len() {
        0 => Ok(arm_names(&args.commands)),
        n if n == args.commands.len() => Ok(args.arms.clone()),
        n => Err(Failure::Input(format!(
            "--arms: expected {} names, one for each command, found {n}",
            args.commands.len()
        ))),
    }
}

/// All arms are started alike, so one that needs a shell decides for all.
fn needs_shell(args: &VersusArgs) -> Result<bool, Failure> {
    for (at, command) in args.commands.iter().enumerate() {
        let wrong = |what: String| Failure::Input(format!("command {}: {what}\nfound: {command}", at + 1));
        match words(command) {
            Ok(_) => {}
            Err(NoWords::NeedsShell(sign)) => {
                aside(format_args!(
                    "all commands go through /bin/sh, since `{sign}` in command {} needs it",
                    at + 1
                ));
                return Ok(true);
            }
            Err(NoWords::Open(quote)) => return Err(wrong(format!("expected every {quote} to be closed"))),
            Err(NoWords::Empty) => return Err(wrong("expected a program and its arguments".to_owned())),
        }
    }
    Ok(false)
}

fn environment(args: &VersusArgs, here: bool) -> Result<Vec<(String, String)>, Failure> {
    let mut env: Vec<(String, String)> = vec![];
    if let Some(path) = std::env::var("PATH").ok().filter(|path| here && path != DEFAULT_PATH) {
        env.push(("PATH".to_owned(), path));
    }
    for wanted in &args.env {
        let (name, value) = match wanted.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => match std::env::var(wanted) {
                Ok(value) => (wanted.as_str(), value),
                Err(_) => {
                    return Err(Failure::Input(format!(
                        "--env {wanted}: expected a variable of this environment, and it has none of that name in UTF-8\n\
                         next: give its value: --env {wanted}=VALUE"
                    )));
                }
            },
        };
        env.retain(|(known, _)| known != name);
        env.push((name.to_owned(), value));
    }
    Ok(env)
}

/// Longest that `campaign:` takes.
const LONGEST_NAME: usize = 64;

fn campaign_name(names: &[String]) -> String {
    let all = names.join("-vs-");
    match all.len() {
        0..=LONGEST_NAME => all,
        _ => format!("{}-vs-{}-others", names[0], names.len() - 1),
    }
}

/// How this program was called, for the first line of a campaign that it made.
pub fn command_line() -> String {
    let mut all = std::env::args();
    let program = all.next().unwrap_or_default();
    let program = Path::new(&program).file_name().map(|name| name.to_string_lossy().into_owned());
    program.into_iter().chain(all).map(|word| quote(&word)).collect::<Vec<_>>().join(" ")
}
