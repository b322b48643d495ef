//! `ladder`: every release of a window on one host, and where the level changes.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use serde_json::json;

use super::args::LabArgs;
use super::exit::Exit;
use super::failure::{Failure, Outcome, unreadable};
use super::ladder_files;
use super::load::{load, load_as};
use super::publish::campaign_folder;
use super::run::carry_out;
use super::versus::command_line;
use super::voice::{answer, answer_json, aside};
use crate::analysis::change_point::{ChangePoints, Search, none_between};
use crate::analysis::history::change_points;
use crate::analysis::rungs::{Climb, cliff, climbs};
use crate::campaign::{Rungs, rungs};
use crate::gate::history::of as lines_of;
use crate::model::digest;
use crate::model::path_pattern::expand;
use crate::record::{Folder, history, read};
use crate::release::order::order;
use crate::release::says::{Says, says};
use crate::report::ladder::{Ladder, Released, Step, VERSION};
use crate::report::number::quantity;
use crate::yaml::Source;

/// Fewest releases on the coarse grid of a bisection, its two ends among them.
const COARSE: usize = 5;

/// Measures every released artifact of a window and names the release in which the level changed.
///
/// The campaign's control names its artifact by a setting. Each release takes that setting's place in turn, does
/// the same work, is proven to give the same answer, and is measured in the same mirrored blocks.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct LadderArgs {
    /// Campaign file
    pub campaign: PathBuf,
    /// Released files: a pattern, or an address followed by # and its SHA-256; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub artifacts: Vec<String>,
    /// Levels of the setting instead, oldest first: versions, or revisions that the campaign's `build` checks out
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', conflicts_with = "artifacts")]
    pub releases: Vec<String>,
    /// Setting of the control that names the release
    #[arg(long, default_value = "release", value_name = "NAME")]
    pub setting: String,
    /// Release that the others are proven against, and whose side of the cliff is told [default: the control's
    /// own, else the newest]
    #[arg(long, value_name = "RELEASE")]
    pub control: Option<String>,
    /// Measure a coarse grid first, and then only between the two releases where the level changed
    #[arg(long)]
    pub bisect: bool,
    /// Look at the campaign's history instead of measuring
    #[arg(long, conflicts_with_all = ["artifacts", "releases", "bisect"])]
    pub history: bool,
    /// How often each release is measured; an even number, so that a drift cancels
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub blocks: u32,
    /// Use this hosts file instead of the one that the campaign names
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// Folder that records are written to
    #[arg(long, default_value = "reports", value_name = "DIR")]
    pub reports: PathBuf,
    #[command(flatten)]
    pub lab: LabArgs,
    /// Answer as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fieldtrial ladder campaigns/scan.yaml --artifacts 'releases/scan-*'
  fieldtrial ladder campaigns/scan.yaml --artifacts 'releases/*' --bisect --control 0.5.118
  fieldtrial ladder campaigns/scan.yaml --releases v1.0,v1.1,v1.2
  fieldtrial ladder campaigns/scan.yaml --history";

/// A release to be measured.
#[derive(Debug, Clone)]
struct Release {
    name: String,
    /// What the setting becomes.
    level: String,
    file: Option<(String, Says)>,
}

pub fn ladder(args: &LadderArgs) -> Outcome {
    if args.history {
        return from_history(args);
    }
    let text = std::fs::read_to_string(&args.campaign).map_err(|error| unreadable(&args.campaign, &error))?;
    let source = Source::new(args.campaign.display().to_string(), text);
    let releases = releases(args)?;
    let own = load(&args.campaign, args.hosts.as_deref())?.campaign.arms.first().and_then(|arm| {
        let level = arm.settings.get(&args.setting)?.text.clone();
        releases.iter().position(|release| same(&release.level, &level))
    });
    let control = match &args.control {
        None => own.unwrap_or(releases.len() - 1),
        Some(name) => releases.iter().position(|release| release.name == *name).ok_or_else(|| {
            let known: Vec<&str> = releases.iter().map(|release| release.name.as_str()).collect();
            Failure::Input(format!("no release is called `{name}`\nthere are: {}", known.join(", ")))
        })?,
    };
    let climber = Climber { args, source, releases, control };
    match args.bisect {
        false => climber.all(),
        true => climber.bisect(),
    }
}

struct Climber<'a> {
    args: &'a LadderArgs,
    source: Source,
    releases: Vec<Release>,
    control: usize,
}

/// A measured set of releases.
struct Measured {
    record: PathBuf,
    campaign: String,
    control: String,
    climbs: Vec<Climb>,
    exits: Vec<Exit>,
}

impl Climber<'_> {
    fn all(&self) -> Outcome {
        let every: Vec<usize> = (0..self.releases.len()).collect();
        let measured = self.measure(&every)?;
        self.tell(&[measured])
    }

    /// A coarse grid first, since halving alone is blind to a level that went down and up again.
    fn bisect(&self) -> Outcome {
        let last = self.releases.len() - 1;
        let mut grid: Vec<usize> = (0..COARSE).map(|at| at * last / (COARSE - 1)).collect();
        grid.dedup();
        let mut steps = vec![self.measure(&grid)?];
        let place = |name: &str| self.releases.iter().position(|release| release.name == name);
        while let Some(change) = cliff(&steps[steps.len() - 1].climbs) {
            let (Some(before), Some(after)) = (place(&change.after), place(&change.name)) else { break };
            if after - before < 2 {
                break;
            }
            aside(format_args!(
                "the level changes between {} and {}; looking between them",
                change.after, change.name
            ));
            steps.push(self.measure(&[before, before + (after - before) / 2, after])?);
        }
        self.tell(&steps)
    }

    fn measure(&self, which: &[usize]) -> Result<Measured, Failure> {
        let chosen: Vec<&Release> = which.iter().map(|at| &self.releases[*at]).collect();
        let control = which.iter().position(|at| *at == self.control).unwrap_or(which.len() - 1);
        let asked = Rungs {
            setting: self.args.setting.clone(),
            releases: chosen.iter().map(|release| (release.name.clone(), release.level.clone())).collect(),
            control,
            blocks: self.args.blocks,
            made_by: command_line(),
        };
        let text = rungs(&self.source, &asked)
            .map_err(|complaints| Failure::Complaints { complaints, source: self.source.clone() })?;
        let source = Source::new(format!("the ladder of {}", self.source.name), text);
        let loaded = load_as(source, &self.args.campaign, self.args.hosts.as_deref())?;
        let (folder, exits) = carry_out(&loaded, &self.args.reports, &self.args.lab, None)?;
        let names: Vec<String> = chosen.iter().map(|release| release.name.clone()).collect();
        let evidence = read(&folder)?.evidence;
        let climbs = climbs(&evidence, &names, &names[control]);
        let control = names[control].clone();
        let campaign = loaded.campaign.name;
        Ok(Measured { record: folder.path().to_owned(), campaign, control, climbs, exits })
    }

    fn tell(&self, steps: &[Measured]) -> Outcome {
        let ladder = self.ladder(steps);
        ladder_files::write(&ladder)?;
        if let Some(step) = steps.first() {
            super::history::pages(&campaign_folder(&Folder::open(&step.record)?)?);
        }
        match self.args.json {
            true => answer_json(&ladder)?,
            false => answer(self.words(steps))?,
        }
        Ok(steps.iter().flat_map(|step| step.exits.clone()).collect())
    }

    fn ladder(&self, steps: &[Measured]) -> Ladder {
        let released = |release: &Release| Released {
            name: release.name.clone(),
            level: release.level.clone(),
            sha256: release.file.as_ref().map(|(digest, _)| digest.clone()),
            says: release.file.as_ref().map(|(_, says)| says.words()),
        };
        let step = |step: &Measured| Step {
            record: step.record.display().to_string(),
            control: step.control.clone(),
            climbs: step.climbs.clone(),
        };
        Ladder {
            version: VERSION,
            campaign: steps.first().map_or(String::new(), |step| step.campaign.clone()),
            command: command_line(),
            releases: self.releases.iter().map(released).collect(),
            control: self.releases[self.control].name.clone(),
            steps: steps.iter().map(step).collect(),
        }
    }

    fn words(&self, steps: &[Measured]) -> String {
        let mut lines = vec![];
        for step in steps {
            let mut points: Vec<Vec<&Climb>> = vec![];
            for climb in &step.climbs {
                match points.iter_mut().find(|point| point[0].levels == climb.levels) {
                    Some(point) => point.push(climb),
                    None => points.push(vec![climb]),
                }
            }
            for point in points {
                let control = point[0].control.clone();
                let valued = |climb: &&Climb| climb.rungs.iter().any(|rung| rung.median.is_some());
                let (valued, empty): (Vec<&Climb>, Vec<&Climb>) = point.into_iter().partition(valued);
                if !valued.is_empty() {
                    lines.extend(table(&valued));
                }
                for climb in empty {
                    let why = climb.rungs.iter().find_map(|rung| rung.reason.as_deref()).unwrap_or_default();
                    lines.push(format!("{}: no release has a value, {why}", climb.response));
                }
                for climb in &valued {
                    lines.push(format!("{}: {}", climb.response, climb.found.sentence));
                    let changes = climb.found.changes.iter().filter(|change| !change.below_smallest_step);
                    lines.extend(changes.map(|change| format!("  {}", change.sentence)));
                    lines.extend(climb.found.notes.iter().map(|note| format!("  {note}")));
                }
                lines.push(control);
            }
            lines.push(format!("record  {}", step.record.display()));
        }
        if let Some(last) = steps.last() {
            lines.push(format!("ladder  {}", last.record.join(Folder::LADDER_PAGE).display()));
        }
        if self.args.bisect && steps.last().is_some_and(|step| cliff(&step.climbs).is_none()) {
            let name = |release: Option<&Release>| release.map(|own| own.name.clone()).unwrap_or_default();
            lines.push(none_between(&name(self.releases.first()), &name(self.releases.last())));
        }
        lines.extend(self.makers());
        lines.join("\n")
    }

    /// What the programs say of themselves, so that another toolchain is seen or ruled out.
    fn makers(&self) -> Vec<String> {
        let files: Vec<(&str, String)> = self
            .releases
            .iter()
            .filter_map(|release| Some((release.name.as_str(), release.file.as_ref()?.1.words())))
            .collect();
        match files.first() {
            None => vec![],
            Some((_, first)) if files.iter().all(|(_, words)| words == first) => {
                vec![format!("all releases say the same of their making: {first}")]
            }
            Some(_) => files.iter().map(|(name, words)| format!("{name}: {words}")).collect(),
        }
    }
}

/// One row for each release: every response beside the other.
fn table(point: &[&Climb]) -> Vec<String> {
    let at: Vec<String> = point[0].levels.iter().map(|(name, level)| format!("{name}={level}")).collect();
    let mut rows = vec![];
    let mut header = vec![if at.is_empty() { "release".to_owned() } else { at.join(",") }];
    header.extend(point.iter().map(|climb| climb.response.clone()));
    rows.push(header);
    for (place, rung) in point[0].rungs.iter().enumerate() {
        let mut row = vec![rung.release.clone()];
        for climb in point {
            let own = &climb.rungs[place];
            row.push(match own.median {
                Some(median) => quantity(median, &climb.unit),
                None => own.reason.clone().unwrap_or_default(),
            });
        }
        rows.push(row);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count().min(40)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let fields = row.iter().zip(&widths).map(|(text, width)| format!("{text:<width$}"));
        fields.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Two levels that name the same file.
fn same(a: &str, b: &str) -> bool {
    let last = |text: &str| text.rsplit('/').next().map(str::to_owned);
    a == b || last(a) == last(b)
}

fn releases(args: &LadderArgs) -> Result<Vec<Release>, Failure> {
    let plain = |level: &String| Release { name: level.clone(), level: level.clone(), file: None };
    let found = match args.artifacts.is_empty() {
        true => args.releases.iter().map(plain).collect(),
        false => files(args)?,
    };
    if found.len() < 2 {
        return Err(Failure::Input(format!(
            "expected at least two releases, found {}\nnext: name files with --artifacts 'releases/*', or levels with \
             --releases 1.0,1.1",
            found.len()
        )));
    }
    if let Some(twice) =
        found.iter().enumerate().find(|(at, own)| found[..*at].iter().any(|o| o.name == own.name))
    {
        return Err(Failure::Input(format!(
            "two releases are called `{}`\nnext: name one of them",
            twice.1.name
        )));
    }
    Ok(found)
}

fn files(args: &LadderArgs) -> Result<Vec<Release>, Failure> {
    let names = |folder: &str| -> Vec<String> {
        let folder = if folder.is_empty() { "." } else { folder };
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    };
    let mut paths: Vec<String> = vec![];
    for pattern in &args.artifacts {
        match pattern.contains("://") {
            true => paths.push(fetched(pattern, &args.reports)?),
            false => {
                let fitting: Vec<String> =
                    expand(pattern, &names).into_iter().filter(|path| Path::new(path).is_file()).collect();
                if fitting.is_empty() {
                    return Err(Failure::Input(format!("no file fits {pattern}\nnext: `ls {pattern}`")));
                }
                paths.extend(fitting);
            }
        }
    }
    let ordered = order(&paths).map_err(|error| {
        Failure::Input(format!("{error}\nnext: give the order yourself with --releases, oldest first"))
    })?;
    let one = |(name, at): (String, usize)| {
        let path =
            std::fs::canonicalize(&paths[at]).map_err(|error| unreadable(Path::new(&paths[at]), &error))?;
        let bytes = std::fs::read(&path).map_err(|error| unreadable(&path, &error))?;
        let file = Some((digest::of_bytes(&bytes), says(&bytes)));
        Ok(Release { name, level: path.display().to_string(), file })
    };
    ordered.into_iter().map(one).collect()
}

/// Fetches `ADDRESS#SHA256` with curl, once.
fn fetched(address: &str, reports: &Path) -> Result<String, Failure> {
    let wrong = |what: String| Failure::Input(format!("{address}: {what}"));
    let (url, expected) =
        address.split_once('#').filter(|(_, digest)| digest.len() == 64).ok_or_else(|| {
            wrong(
                "expected # and the SHA-256 of the file behind the address\nnext: write ADDRESS#DIGEST"
                    .into(),
            )
        })?;
    let name = url.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("artifact");
    let folder = reports.join("artifacts").join(expected);
    let path = folder.join(name);
    let digest_of = |path: &Path| std::fs::read(path).ok().map(|bytes| digest::of_bytes(&bytes));
    if digest_of(&path).as_deref() != Some(expected) {
        let full =
            |e: std::io::Error| Failure::Workstation(format!("{} cannot be made: {e}", folder.display()));
        std::fs::create_dir_all(&folder).map_err(full)?;
        let status = Command::new("curl")
            .args(["--fail", "--silent", "--show-error", "--location", "--max-time", "600", "--output"])
            .arg(&path)
            .arg(url)
            .status()
            .map_err(|error| {
                wrong(format!("curl cannot be started: {error}\nnext: install it, or fetch the file by hand"))
            })?;
        if !status.success() {
            return Err(wrong("curl could not fetch it; see its words above".into()));
        }
        let found = digest_of(&path).unwrap_or_default();
        if found != expected {
            let _ = std::fs::remove_file(&path);
            return Err(wrong(format!("expected sha256 {expected}, found {found}; it was not kept")));
        }
    }
    Ok(path.display().to_string())
}

/// The same question over stored records.
fn from_history(args: &LadderArgs) -> Outcome {
    let name = load(&args.campaign, args.hosts.as_deref())?.campaign.name;
    let campaign = args.reports.join(&name);
    let lines = history(&campaign)?;
    let mut rows: Vec<(String, ChangePoints)> = vec![];
    let newest = lines.last().map(|line| line.cells.as_slice()).unwrap_or_default();
    for own in newest {
        let points: Vec<(String, f64)> = lines_of(&lines, &own.cell, &own.response, &own.key)
            .into_iter()
            .map(|(line, reached)| (line.record.clone(), reached.median))
            .collect();
        rows.push((format!("{} {}", own.cell, own.response), change_points(&points, &Search::default())));
    }
    if rows.is_empty() {
        return Err(Failure::Input(format!(
            "{} has no history of {name}\nnext: `fieldtrial run` leaves a line for every valid trial",
            campaign.display()
        )));
    }
    if args.json {
        let rows: Vec<_> = rows.iter().map(|(of, found)| json!({ "of": of, "found": found })).collect();
        answer_json(&json!({ "campaign": name, "history": rows }))?;
        return Ok(vec![]);
    }
    let told = rows.iter().map(|(of, found)| {
        let changes =
            found.changes.iter().map(|change| format!("\n  {}", change.sentence)).collect::<String>();
        let notes = found.notes.iter().map(|note| format!("\n  {note}")).collect::<String>();
        format!("{of}: {}{changes}{notes}", found.sentence)
    });
    answer(told.collect::<Vec<_>>().join("\n"))?;
    Ok(vec![])
}
