//! Whether the parts of a campaign fit together: names, and the size of the design.

use std::collections::BTreeSet;

use super::blank::{Part, names as named, parts};
use super::declared::{Blocks, Order};
use super::draft::Draft;
use crate::model::arm::ArmKind;
use crate::yaml::{Complaint, unknown};

/// Complains about names that a template does not know, that nothing uses, and that mean two things.
pub(super) fn names(draft: &mut Draft<'_>) {
    let mut out = Vec::new();
    for name in draft.settings().filter(|name| draft.variables.contains_key(*name)) {
        let message = format!("`{name}` is both a variable and a setting of the control");
        let other = draft.places.of(&format!("variables.{name}"));
        let span = draft.places.of(&format!("control.set.{name}"));
        out.push(Complaint::error(span, message).also(other, "the variable").help("rename one of them"));
    }
    let taken = draft.variables.contains_key("artifact") || draft.settings().any(|name| name == "artifact");
    if let Some(blank) = draft.blanks.iter().find(|blank| blank.artifact && taken) {
        let message = "`${artifact}` stands for the artifact of this role, and is the name of a level too";
        let help = "call the variable or setting otherwise, such as `release`";
        out.push(Complaint::error(blank.node.span, message).help(help));
    }
    if draft.variables_whole && !draft.arms.is_empty() {
        strangers(draft, &mut out);
    }
    if draft.blanks_whole {
        idle(draft, &mut out);
    }
    draft.out.extend(out);
}

fn strangers(draft: &Draft<'_>, out: &mut Vec<Complaint>) {
    let known: Vec<&str> = draft.variables.keys().map(String::as_str).chain(draft.settings()).collect();
    for blank in &draft.blanks {
        for part in parts(blank.template) {
            match part {
                Part::Name("artifact", _) if blank.artifact => {}
                Part::Name(name, at) if !known.contains(&name) => {
                    let mut span = blank.node.inside(at, draft.text);
                    if span != blank.node.span {
                        span.end = span.start + name.len() + "${}".len();
                    }
                    let message = format!("`{}`: `${{{name}}}` is no variable or setting", blank.what);
                    let mut complaint = unknown(span, message, name, known.iter().copied());
                    if blank.what == "shell" {
                        complaint.help = Some(format!("for the shell's own variable write `$${{{name}}}`"));
                    }
                    out.push(complaint);
                }
                Part::Open(at) => {
                    let span = blank.node.inside(at, draft.text);
                    let message = format!("`{}`: this `${{` is never closed", blank.what);
                    out.push(
                        Complaint::error(span, message).help("write `${name}`, or `$${` for a plain `${`"),
                    );
                }
                _ => {}
            }
        }
    }
}

fn idle(draft: &Draft<'_>, out: &mut Vec<Complaint>) {
    let used: BTreeSet<&str> = draft.blanks.iter().flat_map(|blank| named(blank.template)).collect();
    let help = |name: &str| format!("write `${{{name}}}` where the workload shall use it, or take it out");
    for name in draft.variables.keys().filter(|name| !used.contains(name.as_str())) {
        let span = draft.places.of(&format!("variables.{name}"));
        let message =
            format!("the workload does not use the variable `{name}`, so its levels would do the same");
        out.push(Complaint::error(span, message).help(help(name)));
    }
    for name in draft.settings().filter(|name| !used.contains(name)) {
        let span = draft.places.of(&format!("control.set.{name}"));
        let message = format!("the workload does not use the setting `{name}`, so changing it does nothing");
        out.push(Complaint::error(span, message).help(help(name)));
    }
}

/// Complains about a grid above its cap, and about too few blocks for the family of tests.
pub(super) fn size(
    max_cells: Option<u64>,
    blocks: Option<&Blocks>,
    pilot: Option<bool>,
    draft: &mut Draft<'_>,
) {
    if draft.arms.is_empty() {
        return;
    }
    if let Some(max) = max_cells.filter(|_| draft.variables_whole && draft.arms_whole) {
        let levels = draft.variables.values().map(|levels| levels.len() as u128);
        let cells = levels.fold(draft.arms.len() as u128, u128::saturating_mul);
        if cells > u128::from(max) {
            let span = draft.places.first_of(&["max_cells", "variables", "treatments"]);
            let message = format!("the grid has {cells} cells, and at most {max} are allowed");
            draft.out.push(
                Complaint::error(span, message).help(format!("if that is meant, write `max_cells: {cells}`")),
            );
        }
    }
    let (Some(blocks), Some(pilot)) = (blocks, pilot) else { return };
    let span = draft.places.first_of(&["blocks.count", "blocks", "treatments"]);
    if blocks.order == Order::Mirrored && blocks.count % 2 == 1 && blocks.count > 1 {
        let message = format!("{} blocks cannot be mirrored in pairs", blocks.count);
        draft.out.push(Complaint::warning(span, message).help("choose an even count"));
    }
    let compared = |kind| matches!(kind, ArmKind::Treatment | ArmKind::Combination);
    let family = draft.arms.iter().filter(|arm| compared(arm.kind)).count();
    if family > 0 && !pilot && !decidable(blocks.count, family) {
        let count = blocks.count;
        let tests = if family == 1 { "1 comparison".to_owned() } else { format!("{family} comparisons") };
        let message =
            format!("{count} blocks cannot decide {tests}: their smallest p-value stays above 0.05");
        let help =
            format!("write `blocks: {{count: {}}}` or more, or call it a `pilot: true`", needed(family));
        draft.out.push(Complaint::error(span, message).help(help));
    }
}

/// Whether `blocks` can show any of `family` effects: 2^(1 - n) m <= 0.05, the smallest p-value of the
/// sign-flip test after Holm's correction.
fn decidable(blocks: u32, family: usize) -> bool {
    2_f64.powi(1 - blocks.min(1000) as i32) * family as f64 <= 0.05
}

/// The smallest even number of blocks that can: a mirrored order needs pairs.
fn needed(family: usize) -> u32 {
    (2..1000).step_by(2).find(|blocks| decidable(*blocks, family)).unwrap_or(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_a_family_needs_are_those_of_the_method() {
        let expected = [(1, 6), (2, 8), (6, 8), (7, 10), (25, 10), (26, 12), (102, 12)];
        for (family, blocks) in expected {
            assert_eq!(needed(family), blocks, "{family} comparisons");
        }
        assert!(decidable(7, 2) && !decidable(5, 1));
    }
}
