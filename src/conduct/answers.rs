//! What the reports and outputs of a pass prove.

use std::collections::BTreeMap;

use super::command::{is_compared, tells_work};
use crate::evidence::event::RoleNote;
use crate::model::proof::Proof;
use crate::model::role::Ends;
use crate::model::work_rule::Units;
use crate::model::workload::CommandWork;
use crate::verify::{Answer, Difference, Output, Texts, answer, units};

/// The fact that every compared cell has the same number of units of work.
pub const UNITS: &str = "units of work";

/// What was proven, the compared texts, and why something could not be compared.
#[derive(Debug, Default)]
pub struct Answers {
    pub proof: Proof,
    pub texts: Texts,
    pub faults: Vec<String>,
    /// Invocations of one run that answered each otherwise, or roles whose same input differs.
    pub odd: Option<Difference>,
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
    for role in &work.roles {
        let own = notes.iter().zip(outputs).filter(|(note, _)| note.phase.is_run() && note.role == role.name);
        let all: Vec<(&RoleNote, &Output)> = own.collect();
        let Some((note, output)) = all.first() else { continue };
        let key = |what: &str| if several { format!("{what} of {}", role.name) } else { what.to_owned() };
        let report = &note.report;
        let artifact = role.artifact.as_ref().and_then(|artifact| artifact.on_host.as_ref());
        for input in &report.inputs {
            if artifact == Some(&input.path) {
                // Programs may differ from arm to arm, where input files may not.
                found.proof.programs.insert(input.path.clone(), input.sha256.clone());
                continue;
            }
            let fact = format!("sha256 {}, {} bytes", input.sha256, input.bytes);
            let name = format!("input {}", input.path);
            match found.proof.identity.get(&name) {
                Some(other) if *other != fact => {
                    let reason =
                        format!("the {name} is another file for {} than for a role before it", role.name);
                    let evidence =
                        vec![format!("before: {other}"), format!("{} on {}: {fact}", role.name, role.host)];
                    found.odd.get_or_insert(Difference { reason, evidence });
                }
                _ => drop(found.proof.identity.insert(name, fact)),
            }
        }
        // What prepares the work decides about it as well.
        for note in notes.iter().filter(|note| note.role == role.name) {
            if let Some(program) = &note.report.program {
                found.proof.programs.insert(note.command.clone(), program.sha256.clone());
            }
        }
        if role.ends == Ends::ByItself {
            found.proof.answer.insert(key("end"), format!("{:?}", report.end));
        }
        if is_compared(work, role) {
            let whose = if several { role.name.clone() } else { "output".to_owned() };
            match compared(work, note, output) {
                Ok(Answer { facts, near, text }) => {
                    found.odd = found.odd.take().or_else(|| odd(work, &facts, &all));
                    found.proof.answer.extend(facts.into_iter().map(|(fact, text)| (key(&fact), text)));
                    found.proof.near.extend(near.into_iter().map(|(fact, near)| (key(&fact), near)));
                    found.texts.extend(text.map(|text| (whose, text)));
                }
                Err(why) => found.faults.push(format!("{}: {why}", note.role)),
            }
        }
    }
    declared_units(work, notes, outputs, counted, &mut found);
    found
}

/// What one invocation answered: its output, and the files that it had to write.
fn compared(work: &CommandWork, note: &RoleNote, output: &Output) -> Result<Answer, String> {
    let mut found = answer(&work.verify.output, &output.stdout)?;
    for path in &work.verify.files {
        let written = note.report.files.iter().find(|file| file.path == *path);
        let content = written.and_then(|file| file.content.as_ref());
        let content = content.ok_or_else(|| format!("it did not write the file {path}"))?;
        let fact = format!("sha256 {}, {} bytes", content.sha256, content.bytes);
        found.facts.insert(format!("file {path}"), fact);
    }
    Ok(found)
}

/// The first invocation that answered otherwise than the first one of its role in the same run.
fn odd(
    work: &CommandWork,
    first: &BTreeMap<String, String>,
    all: &[(&RoleNote, &Output)],
) -> Option<Difference> {
    all.iter().zip(1..).skip(1).find_map(|((note, output), at)| {
        let reason = format!("invocation {at} of {} gave another output than the first", note.role);
        match compared(work, note, output) {
            Ok(other) if other.facts == *first => None,
            Ok(other) => {
                let shown = |facts: &BTreeMap<String, String>| {
                    facts.iter().map(|(fact, text)| format!("{fact} {text}")).collect::<Vec<_>>().join(", ")
                };
                let evidence = vec![
                    format!("the first: {}", shown(first)),
                    format!("invocation {at}: {}", shown(&other.facts)),
                ];
                Some(Difference { reason, evidence })
            }
            Err(why) => Some(Difference { reason, evidence: vec![format!("invocation {at}: {why}")] }),
        }
    })
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
