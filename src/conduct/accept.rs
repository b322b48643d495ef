//! Acceptance rules: a run that breaks one is rejected, with its numbers kept.

use super::delivery;
use crate::campaign::Accept;
use crate::evidence::event::RoleNote;
use crate::model::workload::PacketWork;
use crate::verify::Difference;

/// The first rule that the run breaks.
pub fn broken_rule(rules: &[Accept], work: &PacketWork, notes: &[RoleNote]) -> Option<Difference> {
    rules.iter().find_map(|rule| match rule {
        Accept::ZeroLoss => {
            let evidence = delivery::faults(work, notes);
            let reason = "breaks zero_loss: not every frame arrived exactly once and intact";
            (!evidence.is_empty()).then(|| Difference { reason: reason.into(), evidence })
        }
    })
}
