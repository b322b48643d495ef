//! One untimed proof, and one timed run that only a proven cell can have.

use super::answers::{Answers, UNITS, answers};
use super::command::Purpose;
use super::lab::Lab;
use super::pass::{self, PassEnd, Trouble};
use super::steps::{self, Measured};
use super::told::{Told, told};
use super::watch::Stop;
use super::{command, delivery, figures, packets};
use crate::campaign::Campaign;
use crate::evidence::event::{RoleNote, RunNote};
use crate::model::cell::RunKey;
use crate::model::outcome::RunOutcome;
use crate::model::proof::Proof;
use crate::model::workload::{CommandWork, Work};
use crate::verify::{self, Difference, Texts, Verified, confirm};

/// What an untimed pass proved.
pub struct Proven {
    pub proof: Proof,
    /// Compared texts, to show where another answer differs.
    pub texts: Texts,
    pub roles: Vec<RoleNote>,
    /// It did not run to its end, or what it did is not clean.
    pub fault: Option<ProofFault>,
}

pub enum ProofFault {
    /// The stage that decides against the cell, and why.
    Refuse(&'static str, Difference),
    Interrupted,
    Lost(String),
}

/// Runs a cell once, untimed, down the same path as its timed runs.
pub fn prove(lab: &mut dyn Lab, campaign: &Campaign, work: &Work, stop: &dyn Fn() -> Stop) -> Proven {
    match work {
        Work::Packets(w) => {
            let end = pass::run(lab, &packets::proof_roles(w, campaign.timeout_ms), stop);
            let faults = delivery::faults(w, &end.roles);
            let unclean = (!faults.is_empty())
                .then(|| Difference { reason: "its delivery is not exactly once".into(), evidence: faults });
            let fault = trouble(&end).or(unclean.map(|difference| ProofFault::Refuse("proof", difference)));
            Proven { proof: delivery::proof(w, &end.roles), texts: Texts::new(), roles: end.roles, fault }
        }
        Work::Command(w) => prove_programs(lab, campaign, w, stop),
    }
}

fn prove_programs(
    lab: &mut dyn Lab,
    campaign: &Campaign,
    work: &CommandWork,
    stop: &dyn Fn() -> Stop,
) -> Proven {
    let timeout_ms = campaign.timeout_ms;
    let counting = command::count_units(lab, work, timeout_ms, stop);
    if let Some(end) = &counting
        && let Some(fault) = trouble(end)
    {
        let roles = counting.map(|end| end.roles).unwrap_or_default();
        return Proven { proof: Proof::default(), texts: Texts::new(), roles, fault: Some(fault) };
    }
    let mut end = pass::run(lab, &command::roles(work, timeout_ms, Purpose::Proof), stop);
    let counted = counting.as_ref().and_then(|end| {
        let notes = end.roles.iter().zip(&end.outputs);
        notes.filter(|(note, _)| note.phase.is_run()).map(|(_, output)| output).next()
    });
    let Answers { proof, texts, faults, odd } = answers(work, &end.roles, &end.outputs, counted);
    let mut found = figures::values(work, &end.roles);
    let told = told(work, &end.roles, &end.outputs, units(&proof), &mut found);
    let unread: Vec<String> = faults.into_iter().chain(told.faults).collect();
    let broken = || {
        let unread = unread.split_first().map(|(first, rest)| Difference {
            reason: format!("its output proves nothing: {first}"),
            evidence: rest.to_vec(),
        });
        let effects = || verify::broken(&work.verify.effects, &found.values, &found.absent, true);
        unread.or_else(|| odd.clone()).or_else(effects)
    };
    let fault = trouble(&end).or_else(|| broken().map(|difference| ProofFault::Refuse("proof", difference)));
    end.roles = command::worth_keeping(end.roles);
    end.roles.extend(counting.into_iter().flat_map(|end| end.roles));
    Proven { proof, texts, roles: end.roles, fault }
}

/// Why an untimed pass proves nothing.
fn trouble(end: &PassEnd) -> Option<ProofFault> {
    let refuse = |stage, reason, evidence| ProofFault::Refuse(stage, Difference { reason, evidence });
    end.trouble.as_ref().map(|trouble| match trouble {
        Trouble::Lost(why) => ProofFault::Lost(why.clone()),
        Trouble::Interrupted(_) => ProofFault::Interrupted,
        Trouble::Refused(why) => refuse("host", format!("a host cannot do it: {why}"), vec![]),
        Trouble::TimedOut(why) | Trouble::Failed(why) => {
            refuse("proof", format!("its proof did not succeed: {why}"), last_words(&end.roles))
        }
    })
}

/// Units of work that a proof found.
fn units(proof: &Proof) -> Option<u64> {
    proof.identity.get(UNITS)?.parse().ok()
}

/// Times one run of a proven cell.
pub fn measure(
    lab: &mut dyn Lab,
    campaign: &Campaign,
    verified: &Verified,
    work: &Work,
    key: RunKey,
    position: u32,
    stop: &dyn Fn() -> Stop,
) -> (RunNote, Option<String>) {
    let Measured { found, cautions, proof, broken, end, work } = match work {
        Work::Packets(w) => steps::measure(lab, campaign, verified, w, stop),
        Work::Command(w) => measure_programs(lab, campaign, verified, w, stop),
    };
    let (outcome, reason, lost) = judge(broken, &end);
    let note = RunNote {
        run: key,
        position,
        outcome,
        reason,
        values: found.values,
        absent: found.absent,
        samples: found.samples,
        work,
        cautions,
        proof: Some(proof),
        roles: end.roles,
        elapsed_ns: end.elapsed.as_nanos() as u64,
    };
    (note, lost)
}

fn measure_programs(
    lab: &mut dyn Lab,
    campaign: &Campaign,
    verified: &Verified,
    work: &CommandWork,
    stop: &dyn Fn() -> Stop,
) -> Measured {
    let end = pass::run(lab, &command::roles(work, campaign.timeout_ms, Purpose::Timed), stop);
    let Answers { proof, texts, faults, odd } = answers(work, &end.roles, &end.outputs, None);
    let mut found = figures::values(work, &end.roles);
    let Told { work: counts, faults: missing } =
        told(work, &end.roles, &end.outputs, units(verified.proof()), &mut found);
    let unread = |lines: &[String]| {
        let (reason, evidence) = lines.split_first()?;
        Some(Difference { reason: reason.clone(), evidence: evidence.to_vec() })
    };
    let broken = unread(&faults)
        .or_else(|| confirm(verified, &proof, &texts).err())
        .or(odd)
        .or_else(|| unread(&missing))
        .or_else(|| verify::broken(&work.verify.effects, &found.values, &found.absent, false));
    let end = PassEnd { roles: command::worth_keeping(end.roles), ..end };
    Measured { found, cautions: Default::default(), proof, broken, end, work: counts }
}

fn judge(broken: Option<Difference>, end: &PassEnd) -> (RunOutcome, Option<String>, Option<String>) {
    match &end.trouble {
        Some(Trouble::TimedOut(why)) => (RunOutcome::TimedOut, Some(why.clone()), None),
        Some(Trouble::Failed(why) | Trouble::Refused(why)) => {
            let mut lines = vec![why.clone()];
            lines.extend(last_words(&end.roles));
            (RunOutcome::Failed, Some(lines.join("\n")), None)
        }
        Some(Trouble::Interrupted(why)) => (RunOutcome::Interrupted, Some(why.clone()), None),
        Some(Trouble::Lost(why)) => (RunOutcome::Interrupted, Some(why.clone()), Some(why.clone())),
        None => match broken {
            Some(d) => {
                let lines: Vec<String> = std::iter::once(d.reason).chain(d.evidence).collect();
                (RunOutcome::Rejected, Some(lines.join("\n")), None)
            }
            None => (RunOutcome::Measured, None, None),
        },
    }
}

/// The last lines a failed role wrote, for the reader of a table.
pub fn last_words(notes: &[RoleNote]) -> Vec<String> {
    notes
        .iter()
        .flat_map(|n| {
            let text = if n.stderr_head.trim().is_empty() { &n.stdout_head } else { &n.stderr_head };
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(5)..]
                .iter()
                .map(|line| format!("{} on {}: {line}", n.title(), n.host))
                .collect::<Vec<_>>()
        })
        .collect()
}
