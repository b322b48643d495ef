//! Acceptance rules: a run that breaks one is rejected, with its numbers kept.

use super::packets;
use crate::campaign::Accept;
use crate::evidence::event::RoleNote;
use crate::verify::Difference;

/// The first rule that the run breaks.
pub fn broken_rule(rules: &[Accept], notes: &[RoleNote]) -> Option<Difference> {
    rules.iter().find_map(|rule| match rule {
        Accept::ZeroLoss => {
            let evidence = packets::delivery_faults(notes);
            let reason = "breaks zero_loss: not every frame arrived exactly once and intact";
            (!evidence.is_empty()).then(|| Difference { reason: reason.into(), evidence })
        }
    })
}
