//! What the reports and outputs of a pass prove.

use super::command::{is_compared, tells_work};
use crate::evidence::event::RoleNote;
use crate::model::proof::Proof;
use crate::model::role::Ends;
use crate::model::work_rule::Units;
use crate::model::workload::CommandWork;
use crate::verify::{Answer, Output, Texts, answer, units};

/// The fact that every compared cell has the same number of units of work.
pub const UNITS: &str = "units of work";

/// What was proven, the compared texts, and why something could not be compared.
#[derive(Debug, Default)]
pub struct Answers {
    pub proof: Proof,
    pub texts: Texts,
    pub faults: Vec<String>,
}

/// What the agents saw: the files hashed there, the programs that ran, and the answers of the roles that
/// are compared. `counted` is the output of the program that counts units, where there is one.
pub fn answers(
    work: &CommandWork,
    notes: &[RoleNote],
    outputs: &[Output],
    counted: Option<&Output>,
) -> Answers {
    let mut found = Answers::default();
    // Where there is one role, there is no need to say whose a fact is.
    let several = work.roles.len() > 1;
    for (note, output) in notes.iter().zip(outputs).filter(|(note, _)| note.phase.is_run()) {
        let Some(role) = work.roles.iter().find(|role| role.name == note.role) else { continue };
        let key = |what: &str| if several { format!("{what} of {}", role.name) } else { what.to_owned() };
        let report = &note.report;
        for input in &report.inputs {
            found.proof.identity.insert(
                key(&format!("input {}", input.path)),
                format!("sha256 {}, {} bytes", input.sha256, input.bytes),
            );
        }
        if let Some(program) = &report.program {
            found.proof.programs.insert(note.command.clone(), program.sha256.clone());
        }
        if role.ends == Ends::ByItself {
            found.proof.answer.insert(key("end"), format!("{:?}", report.end));
        }
        if is_compared(work, role) {
            let whose = if several { role.name.clone() } else { "output".to_owned() };
            compared(work, note, output, &whose, &key, &mut found);
        }
    }
    declared_units(work, notes, outputs, counted, &mut found);
    found
}

fn compared(
    work: &CommandWork,
    note: &RoleNote,
    output: &Output,
    whose: &str,
    key: &dyn Fn(&str) -> String,
    found: &mut Answers,
) {
    for path in &work.verify.files {
        let written = note.report.files.iter().find(|file| file.path == *path);
        match written.and_then(|file| file.content.as_ref()) {
            Some(content) => {
                let fact = format!("sha256 {}, {} bytes", content.sha256, content.bytes);
                insert(&mut found.proof.answer, &mut found.faults, key(&format!("file {path}")), fact);
            }
            None => found.faults.push(format!("{}: it did not write the file {path}", note.role)),
        }
    }
    match answer(&work.verify.output, &output.stdout) {
        Ok(Answer { facts, near, text }) => {
            for (fact, value) in facts {
                insert(&mut found.proof.answer, &mut found.faults, key(&fact), value);
            }
            found.proof.near.extend(near.into_iter().map(|(fact, near)| (key(&fact), near)));
            if let Some(text) = text {
                found.texts.entry(whose.to_owned()).or_insert(text);
            }
        }
        Err(why) => found.faults.push(format!("{}: {why}", note.role)),
    }
}

/// Invocations of one run must all give the same answer.
fn insert(
    facts: &mut std::collections::BTreeMap<String, String>,
    faults: &mut Vec<String>,
    key: String,
    value: String,
) {
    match facts.get(&key) {
        Some(known) if *known != value => {
            let fault = format!("{key}: {known} in one invocation and {value} in another");
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        Some(_) => {}
        None => drop(facts.insert(key, value)),
    }
}

fn declared_units(
    work: &CommandWork,
    notes: &[RoleNote],
    outputs: &[Output],
    counted: Option<&Output>,
    found: &mut Answers,
) {
    let (Some(rule), Some(role)) = (&work.work, tells_work(work)) else { return };
    let count = match &rule.units {
        Units::Declared(text) => text.parse().map_err(|_| format!("`{text}` is no count")),
        Units::Counted { by: Some(_), extract } => match counted {
            Some(output) => units(extract, output),
            // A timed run counts nothing anew: what its cell's proof counted stands.
            None => return,
        },
        Units::Counted { by: None, extract } => {
            let own =
                notes.iter().zip(outputs).find(|(note, _)| note.phase.is_run() && note.role == role.name);
            match own {
                Some((_, output)) => units(extract, output),
                None => return,
            }
        }
    };
    match count {
        Ok(0) => found.faults.push("its units of work are 0, so there is no work".to_owned()),
        Ok(count) => drop(found.proof.identity.insert(UNITS.to_owned(), count.to_string())),
        Err(why) => found.faults.push(format!("its units of work cannot be counted: {why}")),
    }
}
