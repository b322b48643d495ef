//! `status`: how far trials are, also those that another process on this machine runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::args::StatusArgs;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::voice::{answer, answer_json, counted};
use crate::evidence::fold::Evidence;
use crate::model::outcome::{Fate, RunOutcome};
use crate::record::{Folder, PRUNED, Worker, read, worker};
use crate::report::number::moment;

/// Between two looks while following.
const PAUSE: Duration = Duration::from_millis(500);

/// A record as it is now.
pub struct Standing {
    pub folder: PathBuf,
    pub worker: Option<Worker>,
    evidence: Option<Evidence>,
}

pub fn status(args: &StatusArgs) -> Outcome {
    let mut standings = standings(&args.reports, args.of.as_deref())?;
    if args.of.is_none() || standings.len() > 1 {
        let all = standings.len();
        // Where a whole folder is asked about, those at work are what matters, else the newest.
        let (at_work, mut rest): (Vec<_>, Vec<_>) = standings.into_iter().partition(|s| s.worker.is_some());
        let newest = rest.pop().filter(|_| at_work.is_empty());
        standings = at_work.into_iter().chain(newest).collect();
        if standings.is_empty() && all == 0 {
            answer("nothing runs, and there is no record")?;
            return Ok(vec![]);
        }
    }
    let mut said = String::new();
    loop {
        let text: Vec<String> = standings.iter().map(|standing| standing.text()).collect();
        let text = text.join("\n");
        match args.json {
            true if said != text => {
                let all: Vec<Value> = standings.iter().map(Standing::as_json).collect();
                answer_json(&json!({ "records": all }))?;
            }
            false if said != text => answer(&text)?,
            _ => {}
        }
        said = text;
        if !args.follow || standings.iter().all(|standing| standing.worker.is_none()) {
            break;
        }
        std::thread::sleep(PAUSE);
        standings = standings.iter().map(|standing| Standing::of(&standing.folder)).collect();
    }
    let unfinished = |s: &Standing| s.worker.is_none() && s.evidence.as_ref().is_none_or(|e| !e.complete);
    Ok(if standings.iter().any(unfinished) { vec![Exit::Incomplete] } else { vec![] })
}

/// Records by folder, campaign file, name of a campaign, or all; in the order of their names.
pub fn standings(reports: &Path, of: Option<&Path>) -> Result<Vec<Standing>, Failure> {
    let campaigns = match of {
        Some(path) if is_record(path) => return Ok(vec![Standing::of(path)]),
        Some(path) if path.is_file() && path.file_name().is_some_and(|name| name == Folder::JOURNAL) => {
            return Ok(vec![Standing::of(path.parent().unwrap_or(Path::new(".")))]);
        }
        Some(path) if path.is_file() => vec![reports.join(super::load::load(path, None)?.campaign.name)],
        Some(name) => vec![if name.is_dir() { name.to_owned() } else { reports.join(name) }],
        None => folders(reports),
    };
    if let (Some(of), [campaign]) = (of, campaigns.as_slice())
        && !campaign.is_dir()
    {
        return Err(Failure::Input(format!(
            "expected a record, a campaign file or a campaign's name, found {}: there is no folder {}\n\
             next: --reports names another folder of records",
            of.display(),
            campaign.display()
        )));
    }
    let records = campaigns.iter().flat_map(|campaign| folders(campaign));
    let mut found: Vec<PathBuf> = records.filter(|path| is_record(path)).collect();
    found.sort_by_key(|path| path.file_name().map(|name| name.to_owned()));
    Ok(found.iter().map(|path| Standing::of(path)).collect())
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(of).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn is_record(path: &Path) -> bool {
    path.join(Folder::JOURNAL).is_file() || path.join(PRUNED).is_file() || worker(path).is_some()
}

impl Standing {
    pub fn of(folder: &Path) -> Standing {
        // The worker first: a trial that ends in between has then all its events.
        let worker = worker(folder);
        let evidence = Folder::open(folder).and_then(|folder| read(&folder)).ok().map(|read| read.evidence);
        Standing { folder: folder.to_owned(), worker, evidence }
    }

    /// Runs that have an outcome, and all that are planned as far as is known.
    fn progress(&self) -> (u64, u64) {
        let Some(evidence) = &self.evidence else { return (0, 0) };
        let rows = evidence.planned_runs();
        let done = rows.iter().filter(|row| row.note.outcome != RunOutcome::Interrupted);
        let live = evidence.cells.values().filter(|cell| cell.fate == Fate::Live).count() as u64;
        let planned = evidence.blocks.values().filter(|block| block.rerun_of.is_none()).count() as u64;
        let blocks = evidence.opening.as_ref().map_or(0, |opening| u64::from(opening.blocks)).max(planned);
        (done.count() as u64, live * blocks)
    }

    fn state(&self) -> &'static str {
        match (&self.worker, &self.evidence) {
            (Some(worker), _) if !worker.waits_for.is_empty() => "waiting",
            (Some(_), Some(evidence)) if evidence.blocks.is_empty() => "proving",
            (Some(_), Some(_)) => "measuring",
            (Some(_), None) => "beginning",
            (None, Some(evidence)) if evidence.complete => "complete",
            (None, Some(_)) => "incomplete",
            (None, None) if self.folder.join(PRUNED).is_file() => "pruned",
            (None, None) => "nothing measured",
        }
    }

    fn under_way(&self) -> Option<String> {
        let evidence = self.evidence.as_ref().filter(|_| self.worker.is_some())?;
        let row = evidence.runs.iter().rev().find(|row| {
            row.note.outcome == RunOutcome::Interrupted
                && !evidence.complete
                && row.session + 1 == evidence.sessions.len()
        })?;
        Some(row.note.run.to_string())
    }

    /// Seconds that are left by the pace so far.
    fn left_s(&self) -> Option<u64> {
        let evidence = self.evidence.as_ref().filter(|_| self.worker.is_some())?;
        let (done, all) = self.progress();
        let spent: u64 = evidence.planned_runs().iter().map(|row| row.note.elapsed_ns).sum();
        (done > 0).then(|| spent / done * all.saturating_sub(done) / 1_000_000_000)
    }

    fn text(&self) -> String {
        let mut text = format!("{}: {}", self.folder.display(), self.state());
        let (done, all) = self.progress();
        if all > 0 {
            text += &format!(", {done} of {}", counted(all, "run"));
        }
        if let Some(evidence) = &self.evidence {
            let odd: Vec<String> = evidence
                .sums()
                .by_outcome
                .iter()
                .filter(|(name, count)| **count > 0 && !["measured", "interrupted"].contains(&name.as_str()))
                .map(|(name, count)| format!("{count} {}", name.replace('_', " ")))
                .collect();
            if !odd.is_empty() {
                text += &format!(" ({})", odd.join(", "));
            }
        }
        if let Some(run) = self.under_way() {
            text += &format!(", at {run}");
        }
        if let Some(left) = self.left_s() {
            text += &format!(", about {left} s left");
        }
        if let Some(worker) = &self.worker {
            text += &format!("; pid {} of {}, since {}", worker.pid, worker.who, moment(&worker.since));
            if !worker.waits_for.is_empty() {
                text += &format!("; it waits: {}", worker.waits_for);
            }
        } else if self.state() == "incomplete" {
            text += "; nobody works on it, `fieldtrial resume` goes on";
        }
        text
    }

    fn as_json(&self) -> Value {
        let (done, all) = self.progress();
        let outcomes = self.evidence.as_ref().map(|evidence| evidence.sums().by_outcome);
        json!({
            "record": self.folder, "state": self.state(), "done": done, "runs": all, "outcomes": outcomes,
            "under_way": self.under_way(), "left_s": self.left_s(), "worker": self.worker,
        })
    }
}
