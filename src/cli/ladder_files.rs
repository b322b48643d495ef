//! The files of a ladder, which lie in the folder of every record that is a part of it.

use std::path::Path;

use super::derive::derive;
use super::failure::Failure;
use super::voice::aside;
use crate::analysis::rungs::climbs;
use crate::record::{Folder, RecordError, read};
use crate::report::ladder::{Ladder, Step, VERSION, ladder_page};

/// Writes the ladder and its page beside each of its records, whose own pages then lead to it.
pub fn write(ladder: &Ladder) -> Result<(), Failure> {
    for step in &ladder.steps {
        let folder = Folder::open(Path::new(&step.record))?;
        put(&folder, ladder)?;
        derive(&folder, &read(&folder)?.evidence)?;
    }
    Ok(())
}

/// Builds them again in the folder of one record, where it is a part of a ladder: from the journals of all records
/// that are still beside it; of others what was known stays.
pub fn again(folder: &Folder) -> Result<(), Failure> {
    if !folder.file(Folder::LADDER).is_file() {
        return Ok(());
    }
    let path = folder.file(Folder::LADDER);
    let damaged = |why: String| Failure::Input(format!("{}: {why}", path.display()));
    let mut ladder: Ladder = serde_json::from_str(&folder.text(Folder::LADDER)?).map_err(|error| {
        damaged(format!("expected a ladder, found {error}\nnext: `fieldtrial ladder` writes it"))
    })?;
    if ladder.version > VERSION {
        return Err(damaged(format!("it has version {}; use a newer fieldtrial", ladder.version)));
    }
    for step in &mut ladder.steps {
        let renewed = beside(folder, step).map_or(Ok(()), |there| renew(step, &there));
        if let Err(error) = renewed {
            aside(format_args!("{error}; the ladder keeps what was known of that record"));
        }
    }
    put(folder, &ladder)
}

/// The record of a step, in the same folder as this one's; None where it is not there any more.
fn beside(folder: &Folder, step: &Step) -> Option<Folder> {
    let own = std::path::absolute(folder.path()).ok()?;
    Folder::open(&own.parent()?.join(Path::new(&step.record).file_name()?)).ok()
}

fn renew(step: &mut Step, there: &Folder) -> Result<(), RecordError> {
    let Some(first) = step.climbs.first() else { return Ok(()) };
    let releases: Vec<String> = first.rungs.iter().map(|rung| rung.release.clone()).collect();
    step.climbs = climbs(&read(there)?.evidence, &releases, &step.control);
    Ok(())
}

fn put(folder: &Folder, ladder: &Ladder) -> Result<(), Failure> {
    let fault = |error: String| Failure::Fault(error);
    let json = serde_json::to_string_pretty(ladder).map_err(|error| fault(error.to_string()))?;
    folder.put(Folder::LADDER, &(json + "\n"))?;
    let page = ladder_page(ladder).map_err(|error| fault(error.to_string()))?;
    Ok(folder.put(Folder::LADDER_PAGE, &page)?)
}
