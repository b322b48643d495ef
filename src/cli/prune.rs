//! `prune`: makes room by a declared retention, and never at the cost of what is published or runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::json;

use super::args::PruneArgs;
use super::failure::{Failure, Outcome};
use super::session::now;
use super::status::{Standing, standings};
use super::voice::{answer, answer_json};
use crate::campaign;
use crate::gate::publication::Book;
use crate::model::retention::Retention;
use crate::record::{Folder, prune as remove, published, raw, read};
use crate::remote::who;
use crate::yaml::Source;

pub fn prune(args: &PruneArgs) -> Outcome {
    let asked = Retention { days: args.keep_days, last: args.keep_last };
    let found = standings(&args.reports, args.of.as_deref())?;
    let policies: Vec<(PathBuf, Retention)> = campaigns(&found)
        .into_iter()
        .map(|campaign| {
            let retention = if asked.is_empty() { declared(&campaign) } else { asked };
            (campaign, retention)
        })
        .collect();
    if asked.is_empty() && policies.iter().all(|(_, retention)| retention.is_empty()) {
        return Err(Failure::Input(
            "expected what to keep, found neither --keep-days N, --keep-last N nor a campaign with `retention`\n\
             next: `fieldtrial prune CAMPAIGN --keep-days 90 --keep-last 10` shows what would go; --yes removes it"
                .into(),
        ));
    }
    let mut rows = vec![];
    let mut freed = 0;
    for (campaign, retention) in policies {
        let official = official(&campaign)?;
        let of: Vec<&Standing> =
            found.iter().filter(|s| s.folder.parent() == Some(campaign.as_path())).collect();
        let newer = |at: usize| (of.len() - 1 - at) as u64;
        for (at, standing) in of.iter().enumerate() {
            let Ok(folder) = Folder::open(&standing.folder) else { continue };
            let kept = why_kept(retention, &folder, standing, &official, newer(at));
            let bytes: u64 = raw(folder.path()).iter().map(|(_, bytes)| bytes).sum();
            if kept.is_none() {
                if args.yes {
                    remove(&folder, &now(), &who())?;
                }
                freed += bytes;
            }
            rows.push((standing.folder.clone(), kept, bytes));
        }
    }
    if args.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(record, kept, bytes)| json!({ "record": record, "kept": kept, "raw_bytes": bytes }))
            .collect();
        answer_json(&json!({ "removed": args.yes, "freed_bytes": freed, "records": rows }))?;
        return Ok(vec![]);
    }
    let mut lines: Vec<String> = rows
        .iter()
        .map(|(record, kept, bytes)| match (kept, args.yes) {
            (Some(why), _) => format!("{}: kept, {why}", record.display()),
            (None, true) => format!("{}: {} of raw evidence removed", record.display(), size(*bytes)),
            (None, false) => format!("{}: {} of raw evidence would go", record.display(), size(*bytes)),
        })
        .collect();
    lines.push(match args.yes {
        true => format!("{} freed; reports, findings, tables of runs and the history stay", size(freed)),
        false => format!("{} would be freed; nothing was removed: --yes removes it", size(freed)),
    });
    answer(lines.join("\n"))?;
    Ok(vec![])
}

/// What the campaign said of it when its newest record was made; nothing where that cannot be read any more.
fn declared(campaign: &Path) -> Retention {
    let newest = Folder::newest(campaign, "");
    let text = newest.and_then(|folder| folder.text(Folder::CAMPAIGN).ok());
    let parsed = text.map(|text| campaign::parse(&Source::new(Folder::CAMPAIGN, text)));
    parsed.and_then(|parsed| parsed.campaign).map(|own| own.retention).unwrap_or_default()
}

fn campaigns(found: &[Standing]) -> BTreeSet<PathBuf> {
    found.iter().filter_map(|standing| standing.folder.parent().map(Path::to_owned)).collect()
}

/// Names of records that were ever published; a list that cannot be read ends this command.
fn official(campaign: &Path) -> Result<BTreeSet<String>, Failure> {
    let book: Option<Book> = published(campaign)?;
    Ok(book.iter().flat_map(Book::published).map(|own| own.record.clone()).collect())
}

fn why_kept(
    retention: Retention,
    folder: &Folder,
    standing: &Standing,
    official: &BTreeSet<String>,
    newer: u64,
) -> Option<String> {
    if standing.worker.is_some() {
        return Some("it is being worked on".into());
    }
    if official.contains(&folder.name()) {
        return Some("it was published".into());
    }
    if retention.is_empty() {
        return Some("its campaign declares no retention".into());
    }
    if let Some(last) = retention.last.filter(|last| newer < *last) {
        return Some(format!("one of the last {last}"));
    }
    let days = retention.days?;
    match read(folder).ok().and_then(|read| read.evidence.opened_at.parse::<Timestamp>().ok()) {
        None => Some("its journal does not say when it was begun".into()),
        Some(at) => {
            let age = (Timestamp::now().as_second() - at.as_second()) / 86_400;
            (age < i64::try_from(days).unwrap_or(i64::MAX)).then(|| format!("{age} days old"))
        }
    }
}

fn size(bytes: u64) -> String {
    crate::report::number::quantity(bytes as f64, "B")
}
