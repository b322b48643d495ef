//! One untimed proof, and one timed run that only a proven cell can have.

use super::accept::broken_rule;
use super::lab::Lab;
use super::pass::{self, PassEnd, Role, Trouble};
use super::watch::Stop;
use super::{command, packets};
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
    Refuse(Difference),
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
        Work::Packets(_) => (packets::proof(&end.roles), packets::delivery_faults(&end.roles)),
        Work::Command(w) => (command::proof(w, &end.roles), vec![]),
    };
    let fault = match end.trouble {
        Some(Trouble::Lost(why)) => Some(ProofFault::Lost(why)),
        Some(Trouble::Interrupted(_)) => Some(ProofFault::Interrupted),
        Some(Trouble::TimedOut(why) | Trouble::Failed(why)) => Some(ProofFault::Refuse(Difference {
            reason: format!("its proof did not succeed: {why}"),
            evidence: last_words(&end.roles),
        })),
        None if !faults.is_empty() => Some(ProofFault::Refuse(Difference {
            reason: "its delivery is not exactly once".into(),
            evidence: faults,
        })),
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
    let roles: Vec<Role> = match work {
        Work::Packets(w) => packets::timed_roles(w, campaign.timeout_ms),
        Work::Command(w) => command::roles(w, campaign.timeout_ms),
    };
    let end = pass::run(lab, &roles, stop);
    let (values, absent, samples) = match work {
        Work::Packets(w) => packets::values(w, &end.roles),
        Work::Command(_) => {
            let (values, absent) = command::values(&end.roles);
            (values, absent, vec![])
        }
    };
    let proof = match work {
        Work::Packets(_) => packets::timed_proof(&end.roles),
        Work::Command(w) => command::proof(w, &end.roles),
    };
    let (outcome, reason, lost) = judge(campaign, verified, &proof, &end);
    let note = RunNote {
        run: key,
        position,
        outcome,
        reason,
        values,
        absent,
        samples,
        proof: Some(proof),
        roles: end.roles,
        elapsed_ns: end.elapsed.as_nanos() as u64,
    };
    (note, lost)
}

fn judge(
    campaign: &Campaign,
    verified: &Verified,
    proof: &Proof,
    end: &PassEnd,
) -> (RunOutcome, Option<String>, Option<String>) {
    match &end.trouble {
        Some(Trouble::TimedOut(why)) => (RunOutcome::TimedOut, Some(why.clone()), None),
        Some(Trouble::Failed(why)) => {
            let mut lines = vec![why.clone()];
            lines.extend(last_words(&end.roles));
            (RunOutcome::Failed, Some(lines.join("\n")), None)
        }
        Some(Trouble::Interrupted(why)) => (RunOutcome::Interrupted, Some(why.clone()), None),
        Some(Trouble::Lost(why)) => (RunOutcome::Interrupted, Some(why.clone()), Some(why.clone())),
        None => {
            let broken = broken_rule(&campaign.accept, &end.roles).or_else(|| confirm(verified, proof).err());
            match broken {
                Some(d) => {
                    let lines: Vec<String> = std::iter::once(d.reason).chain(d.evidence).collect();
                    (RunOutcome::Rejected, Some(lines.join("\n")), None)
                }
                None => (RunOutcome::Measured, None, None),
            }
        }
    }
}

/// The last lines a failed role wrote, for the reader of a table.
fn last_words(notes: &[RoleNote]) -> Vec<String> {
    notes
        .iter()
        .flat_map(|n| {
            let text = if n.stderr_head.trim().is_empty() { &n.stdout_head } else { &n.stderr_head };
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(5)..]
                .iter()
                .map(|line| format!("{} on {}: {line}", n.role, n.host))
                .collect::<Vec<_>>()
        })
        .collect()
}
