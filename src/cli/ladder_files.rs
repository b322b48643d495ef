//! The files of a ladder, which lie in the folder of every record that is a part of it.

use std::path::Path;

use super::derive::derive;
use super::failure::Failure;
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
        match beside(folder, step) {
            Ok(Some(there)) => renew(step, &there)?,
            Ok(None) => {}
            Err(error) => return Err(error.into()),
        }
    }
    put(folder, &ladder)
}

/// The record of a step, in the same folder as this one's.
fn beside(folder: &Folder, step: &Step) -> Result<Option<Folder>, RecordError> {
    let name = Path::new(&step.record).file_name();
    let path = std::path::absolute(folder.path()).ok().and_then(|own| Some(own.parent()?.join(name?)));
    match path.filter(|path| path.is_dir()).map(|path| Folder::open(&path)) {
        None | Some(Err(RecordError::Pruned { .. })) => Ok(None),
        Some(there) => there.map(Some),
    }
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
