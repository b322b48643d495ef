//! `compare`: two records beside each other, so that "the box was busy" is tested and not believed.

use super::exit::Exit;
use super::export::write;
use super::failure::{Failure, Outcome};
use super::record_args::CompareArgs;
use super::voice::{answer, answer_json, columns};
use crate::compare::compare as lay_beside;
use crate::compare::comparison::Way;
use crate::record::{Folder, read};
use crate::report::compared;
use crate::report::compared_page::compared_page;

pub fn compare(args: &CompareArgs) -> Outcome {
    let [before, after] = [&args.before, &args.after].map(|path| Folder::open(path).and_then(|f| read(&f)));
    let found = lay_beside(&before?.evidence, &after?.evidence);
    if let Some(path) = &args.page {
        let page = compared_page(&found).map_err(|e| Failure::Fault(e.to_string()))?;
        write("--page", path, page.as_bytes())?;
    }
    match args.json {
        true => answer_json(&found)?,
        false => answer(compared::text(&found, columns()))?,
    }
    let any = found.numbers.iter().any(|own| own.way != Way::NotComparable);
    Ok(if any { vec![] } else { vec![Exit::NotComparable] })
}
