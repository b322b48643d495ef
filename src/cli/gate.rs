//! `gate`: a record judged by what is published, and measured once more where it failed.

use std::collections::BTreeSet;

use super::args::RerunArgs;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::gate_args::{GateArgs, GateFormat};
use super::publish::campaign_folder;
use super::run::rerun_quietly;
use super::voice::{answer, answer_json, aside, columns};
use crate::gate::floor::FEWEST;
use crate::gate::judge::{Gate, judge};
use crate::gate::measured::measured;
use crate::gate::verdict::Verdict;
use crate::record::{Folder, history, published, read};
use crate::report::gate::{text, told};
use crate::report::gate_files::{junit, markdown};

pub fn gate(args: &GateArgs) -> Outcome {
    let folder = Folder::open(&args.record)?;
    let mut gate = gate_of(&folder)?;
    if args.again {
        for cell in failing(&gate) {
            for _ in 0..FEWEST {
                let again = RerunArgs {
                    record: args.record.clone(),
                    cell: cell.clone(),
                    lab: args.lab.clone(),
                    json: false,
                };
                rerun_quietly(&again)?;
            }
        }
        gate = gate_of(&folder)?;
    }
    print(&gate, args)?;
    Ok(vec![exit(gate.overall)])
}

/// The gate's answer for a record as it is now.
pub fn gate_of(folder: &Folder) -> Result<Gate, Failure> {
    let evidence = read(folder)?.evidence;
    let campaign = campaign_folder(folder)?;
    let book = published(&campaign)?;
    Ok(told(judge(&measured(&evidence), book.as_ref(), &history(&campaign)?)))
}

/// The exit code's name for a verdict.
pub fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Pass => Exit::Done,
        Verdict::NothingMeasured => Exit::NothingMeasured,
        Verdict::Regression => Exit::Regression,
        Verdict::NotComparable => Exit::NotComparable,
        Verdict::NoBaseline => Exit::NoBaseline,
        Verdict::StaleBaseline => Exit::StaleBaseline,
        Verdict::Inconclusive => Exit::Inconclusive,
    }
}

/// Cells whose first measurement failed and that have no second one.
fn failing(gate: &Gate) -> BTreeSet<String> {
    gate.cells
        .iter()
        .filter(|own| matches!(own.verdict, Verdict::Regression | Verdict::Inconclusive))
        .filter(|own| own.again.is_none() && own.anchor.is_none() && own.n > 0)
        .map(|own| own.cell.0.clone())
        .collect()
}

fn print(gate: &Gate, args: &GateArgs) -> Result<(), Failure> {
    let format = if args.json { GateFormat::Json } else { args.format };
    if matches!(format, GateFormat::Json) && args.output.is_none() {
        return answer_json(gate);
    }
    let words = match format {
        GateFormat::Text => text(gate, columns()),
        GateFormat::Json => serde_json::to_string(gate).map_err(|e| Failure::Fault(e.to_string()))?,
        GateFormat::Junit => junit(gate).map_err(|e| Failure::Fault(e.to_string()))?,
        GateFormat::Markdown => markdown(gate),
    };
    let Some(path) = &args.output else { return answer(words.trim_end()) };
    std::fs::write(path, words + "\n").map_err(|error| {
        Failure::Workstation(format!(
            "{} cannot be written: {error}\nnext: name another file",
            path.display()
        ))
    })?;
    aside(crate::report::gate::headline(gate));
    Ok(())
}
