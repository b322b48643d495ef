//! `publish` and `unpublish`: making a record official, and taking that back.

use std::path::PathBuf;

use serde_json::json;

use super::failure::{Failure, Outcome};
use super::gate_args::{PublishArgs, UnpublishArgs};
use super::load::load_record;
use super::session::now;
use super::voice::{answer, answer_json, aside};
use crate::campaign::Expected;
use crate::gate::history::line;
use crate::gate::measured::measured;
use crate::gate::publication::{Book, Entry, Forced, Published, Unpublished, baselines};
use crate::gate::refusal::{against, invalid, lowered};
use crate::model::cell::CellId;
use crate::model::digest;
use crate::record::{Folder, Held, PUBLISHED, RecordError, history, published, read};
use crate::report::number::quantity;

pub fn publish(args: &PublishArgs) -> Outcome {
    let folder = Folder::open(&args.record)?;
    let evidence = read(&folder)?.evidence;
    let expect =
        load_record(&folder, &evidence).map_or_else(|_| Expected::default(), |it| it.campaign.expect);
    let campaign = campaign_folder(&folder)?;
    // Two publishers at once come one after the other, and the second sees what the first did.
    let held = Held::take(&campaign)?;
    let mut book = published(&campaign)?.unwrap_or_else(|| {
        Book::new(evidence.opening.as_ref().map_or("", |opening| opening.campaign.as_str()))
    });
    let past = history(&campaign)?;
    let measured = measured(&evidence);
    if book.active().is_some_and(|active| active.record == measured.record) && args.force.is_none() {
        aside(format_args!("{} is published already; nothing was changed", measured.record));
        return Ok(vec![]);
    }
    let cells = baselines(&measured);
    let expected = |cell: &CellId| expect.refused.iter().any(|pattern| cell.fits(pattern));
    let why_not = against(&evidence, &measured, &expected);
    if !why_not.is_empty() && args.force.is_none() {
        return Err(Failure::Input(format!(
            "{} cannot become official:\n  {}\n\
             next: measure again, or give the reason for publishing it all the same with --force REASON, which the \
             page then shows",
            folder.path().display(),
            shortened(&why_not)
        )));
    }
    if cells.is_empty() {
        return Err(Failure::Input("no cell has a level to publish\nnext: measure again".into()));
    }
    let falls = lowered(&cells, Some(&book), &past, &measured.record);
    if !falls.is_empty() && args.lower.is_none() {
        return Err(Failure::Input(format!(
            "this would lower what is official:\n  {}\n\
             next: find the fall with `fieldtrial ladder`, or give the reason with --lower REASON, which is printed \
             from then on",
            shortened(&falls)
        )));
    }
    let journal = digest_of(&folder)?;
    let entry = Published {
        record: measured.record.clone(),
        record_sha256: journal.clone(),
        record_at: measured.at.clone(),
        at: now(),
        by: who(args.by.as_deref()),
        why: args.why.clone(),
        forced: args.force.as_ref().map(|reason| Forced { reason: reason.clone(), against: why_not }),
        lowered: args.lower.clone().filter(|_| !falls.is_empty()),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        cells,
    };
    // The line first: were we to stop here, the history would only know what was reached.
    if invalid(&evidence).is_empty()
        && let Some(line) = line(&measured, &journal, env!("CARGO_PKG_VERSION"))
    {
        held.remember(&line)?;
    }
    book.entries.push(Entry::Published(entry.clone()));
    held.store(&book)?;
    super::history::pages(&campaign);
    tell(&campaign.join(PUBLISHED), &entry, args.json)?;
    Ok(vec![])
}

pub fn unpublish(args: &UnpublishArgs) -> Outcome {
    let folder = Folder::open(&args.record);
    let (campaign, record) = match &folder {
        Ok(folder) => (campaign_folder(folder)?, folder.name()),
        // The record itself may be gone; what was published of it is not.
        Err(_) => {
            let parent = args.record.parent().map(PathBuf::from).unwrap_or_default();
            let name = args.record.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            (parent, name)
        }
    };
    let nothing = || {
        Failure::Input(format!(
            "{record} is not published in {}\nnext: `fieldtrial history CAMPAIGN` shows what is",
            campaign.join(PUBLISHED).display()
        ))
    };
    if !campaign.is_dir() {
        return Err(nothing());
    }
    let held = Held::take(&campaign)?;
    let mut book = published(&campaign)?.ok_or_else(nothing)?;
    let standing = |book: &Book| book.active().map(|active| active.record.clone());
    let count = |published: bool| {
        book.entries
            .iter()
            .filter(|entry| match entry {
                Entry::Published(own) => published && own.record == record,
                Entry::Unpublished(own) => !published && own.record == record,
            })
            .count()
    };
    if count(true) <= count(false) {
        return Err(nothing());
    }
    book.entries.push(Entry::Unpublished(Unpublished {
        record: record.clone(),
        at: now(),
        by: who(args.by.as_deref()),
        why: args.why.clone(),
    }));
    held.store(&book)?;
    super::history::pages(&campaign);
    let now = standing(&book);
    match args.json {
        true => answer_json(&json!({ "unpublished": record, "in_force": now }))?,
        false => answer(match now {
            Some(record_now) => format!("{record} is taken back; {record_now} is in force again"),
            None => format!("{record} is taken back; nothing is published now"),
        })?,
    }
    Ok(vec![])
}

/// The folder above a record, which holds what is committed.
pub fn campaign_folder(folder: &Folder) -> Result<PathBuf, Failure> {
    let path = folder.path().canonicalize().map_err(|source| RecordError::Io {
        doing: "found",
        path: folder.path().to_owned(),
        source,
    })?;
    Ok(path.parent().map(PathBuf::from).unwrap_or(path))
}

/// Digest of a record's journal as it is now.
pub fn digest_of(folder: &Folder) -> Result<String, Failure> {
    let path = folder.file(Folder::JOURNAL);
    let all = std::fs::File::open(&path).and_then(|mut file| digest::of_all(&mut file));
    let (digest, _) = all.map_err(|source| RecordError::Io { doing: "read", path, source })?;
    Ok(digest)
}

fn who(named: Option<&str>) -> String {
    let user = || std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok();
    named.map(str::to_owned).or_else(user).filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".into())
}

fn shortened(lines: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut shown: Vec<String> = lines.iter().take(SHOWN).cloned().collect();
    if lines.len() > SHOWN {
        shown.push(format!("and {} more", lines.len() - SHOWN));
    }
    shown.join("\n  ")
}

fn tell(file: &std::path::Path, entry: &Published, json: bool) -> Result<(), Failure> {
    if json {
        return answer_json(&json!({ "published": entry, "file": file }));
    }
    let mut lines = vec![];
    for own in &entry.cells {
        let bound = match own.better {
            crate::model::response::Better::Higher => "floor",
            crate::model::response::Better::Lower => "ceiling",
        };
        lines.push(format!(
            "{}: {} {} from {} replicates, {bound} {}",
            own.cell,
            own.response,
            quantity(own.median, &own.unit),
            own.replicates.len(),
            quantity(own.floor, &own.unit)
        ));
    }
    lines.push(format!("published  {}  (commit it: it is the page's number and the gate's)", file.display()));
    answer(lines.join("\n"))
}
