//! What becomes of each planned cell before anything is started.

use std::collections::BTreeMap;

use super::requirement;
use crate::design::plan::{Decision, Plan};
use crate::design::repeat::repeats;
use crate::evidence::event::CellNote;
use crate::model::facts::Facts;
use crate::model::outcome::Fate;
use crate::model::workload::Work;

/// A cell that goes on to its proof, with its work.
pub struct Candidate {
    pub cell: u64,
    pub work: Work,
}

/// Decides one cell by declared rules and by what its hosts are.
///
/// # Errors
/// The note of a cell that is excluded or refused.
pub fn decide(plan: &Plan, facts: &BTreeMap<String, Facts>, cell: u64) -> Result<Candidate, Box<CellNote>> {
    let refuse = |stage: &str, reason: String, evidence: Vec<String>| {
        Err(Box::new(note(plan, cell, Fate::Refused, Some((stage, reason, evidence)))))
    };
    match plan.decision(cell) {
        Decision::Live => {}
        Decision::Excluded(reason) => {
            return Err(Box::new(note(plan, cell, Fate::Excluded, Some(("rule", reason, vec![])))));
        }
        Decision::Undecided(rule) => {
            return refuse("rule", format!("its hosts do not tell what decides the rule {rule}"), vec![]);
        }
        Decision::Broken(why) => {
            return refuse("rule", format!("a rule gives no answer here: {why}"), vec![]);
        }
    }
    let work = match plan.work(cell) {
        Ok(work) => work,
        Err(why) => return refuse("rule", why, vec![]),
    };
    let hosts: Vec<_> = work.hosts().iter().filter_map(|name| plan.hosts.hosts.get(*name)).collect();
    let hold = match plan.hold(cell) {
        Ok(hold) => hold,
        Err(why) => return refuse("rule", why, vec![]),
    };
    let missed = requirement::missed(&work, &hosts, &hold, facts);
    if let Some(first) = missed.first() {
        return refuse("host", format!("a host cannot do it: {first}"), missed.clone());
    }
    if let Some((entry, repeat)) = repeats(plan, cell, &work, facts).into_iter().next() {
        let mut evidence = repeat.evidence;
        evidence.push(entry.next_step());
        return refuse("host", repeat.reason, evidence);
    }
    Ok(Candidate { cell, work })
}

pub fn note(plan: &Plan, cell: u64, fate: Fate, why: Option<(&str, String, Vec<String>)>) -> CellNote {
    let arm = plan.arm_of(cell);
    let (stage, reason, evidence) = match why {
        Some((stage, reason, evidence)) => (Some(stage.to_owned()), Some(reason), evidence),
        None => (None, None, vec![]),
    };
    CellNote {
        cell: plan.id(cell),
        arm: arm.name.clone(),
        kind: arm.kind,
        levels: plan.levels(cell),
        fate,
        stage,
        reason,
        evidence,
    }
}
