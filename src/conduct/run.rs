//! One untimed proof, and one timed run that only a proven cell can have.

use super::lab::Lab;
use super::pass::{self, PassEnd, Trouble};
use super::steps::{self, Measured};
use super::watch::Stop;
use super::{command, delivery, figures, packets};
use crate::campaign::Campaign;
use crate::evidence::event::{RoleNote, RunNote};
use crate::model::cell::RunKey;
use crate::model::outcome::RunOutcome;
use crate::model::proof::Proof;
use crate::model::workload::Work;
use crate::verify::{Difference, Verified, confirm};

/// What an untimed pass proved.
pub struct Proven {
    pub proof: Proof,
    pub roles: Vec<RoleNote>,
    /// It did not run to its end, or its delivery is not clean.
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
    let roles = match work {
        Work::Packets(w) => packets::proof_roles(w, campaign.timeout_ms),
        Work::Command(w) => command::roles(w, campaign.timeout_ms),
    };
    let end = pass::run(lab, &roles, stop);
    let (proof, faults) = match work {
        Work::Packets(w) => (delivery::proof(w, &end.roles), delivery::faults(w, &end.roles)),
        Work::Command(w) => (command::proof(w, &end.roles), vec![]),
    };
    let odd = match work {
        Work::Command(w) => command::odd(w, &end.roles),
        Work::Packets(_) => None,
    };
    let end = PassEnd { roles: command::worth_keeping(end.roles), ..end };
    let refuse = |stage, reason, evidence| Some(ProofFault::Refuse(stage, Difference { reason, evidence }));
    let fault = match end.trouble {
        Some(Trouble::Lost(why)) => Some(ProofFault::Lost(why)),
        Some(Trouble::Interrupted(_)) => Some(ProofFault::Interrupted),
        Some(Trouble::Refused(why)) => refuse("host", format!("a host cannot do it: {why}"), vec![]),
        Some(Trouble::TimedOut(why) | Trouble::Failed(why)) => {
            refuse("proof", format!("its proof did not succeed: {why}"), last_words(&end.roles))
        }
        None if odd.is_some() => odd.map(|odd| ProofFault::Refuse("proof", odd)),
        None if !faults.is_empty() => refuse("proof", "its delivery is not exactly once".into(), faults),
        None => None,
    };
    Proven { proof, roles: end.roles, fault }
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
    let Measured { found, cautions, proof, broken, end } = match work {
        Work::Packets(w) => steps::measure(lab, campaign, verified, w, stop),
        Work::Command(w) => {
            let end = pass::run(lab, &command::roles(w, campaign.timeout_ms), stop);
            let found = figures::values(w, &end.roles);
            let proof = command::proof(w, &end.roles);
            let broken =
                confirm(verified, &proof, &Default::default()).err().or_else(|| command::odd(w, &end.roles));
            let end = PassEnd { roles: command::worth_keeping(end.roles), ..end };
            Measured { found, cautions: Default::default(), proof, broken, end }
        }
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
        work: None,
        cautions,
        proof: Some(proof),
        roles: end.roles,
        elapsed_ns: end.elapsed.as_nanos() as u64,
    };
    (note, lost)
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
