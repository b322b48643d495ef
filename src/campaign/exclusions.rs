//! Declared exclusions: each must be a rule, and must exclude something but not everything.

use std::collections::{BTreeSet, HashMap};

use super::combination::{self, Combination};
use super::draft::{Draft, Excluded};
use crate::rule::{Rule, Scope};
use crate::yaml::{Complaint, Entry, Fields, Node, unknown};

pub(super) const EXCLUDE_KEYS: [&str; 2] = ["when", "because"];
/// What rules may name besides variables and settings: the facts of every host.
const HOSTS: &str = "hosts";

/// Reads `exclude` into the draft.
pub(super) fn read<'a>(entry: Option<&'a Entry>, draft: &mut Draft<'a>) {
    let Some(entry) = entry else { return };
    draft.note("exclude", &entry.key);
    let items = entry.value.items("`exclude`", &mut draft.out).unwrap_or(&[]);
    for (at, item) in items.iter().enumerate() {
        draft.places.note(format!("exclude.{at}"), item.span);
        let what = "an exclusion";
        let Some(fields) = Fields::open(item, item.span, what, &EXCLUDE_KEYS, &mut draft.out) else {
            continue;
        };
        let because = fields.get("because").and_then(|entry| entry.value.words("`because`", &mut draft.out));
        let Some(when) = fields.need("when", what, &mut draft.out) else { continue };
        let Some(text) = when.value.words("`when`", &mut draft.out) else { continue };
        draft.places.note(format!("exclude.{at}.when"), when.value.span);
        match Rule::parse(text.value) {
            Ok(rule) => {
                let because = because.map(|text| text.value.to_owned());
                draft.exclude.push(Excluded { rule, because, node: &when.value });
            }
            Err(error) => {
                let span = when.value.inside(error.offset, draft.text);
                draft.out.push(
                    Complaint::error(span, error.to_string()).help("write a condition like `streams > 7`"),
                );
            }
        }
    }
}

/// Complains about rules over unknown names, and about those that exclude nothing or everything.
pub(super) fn check(draft: &mut Draft<'_>) {
    if !draft.variables_whole || !draft.arms_whole {
        return;
    }
    let mut out = Vec::new();
    for Excluded { rule, node, .. } in &draft.exclude {
        let names: BTreeSet<&str> = rule.names().iter().map(String::as_str).collect();
        let known: Vec<&str> =
            draft.variables.keys().map(String::as_str).chain(draft.settings()).chain([HOSTS]).collect();
        let strangers: Vec<&&str> = names.iter().filter(|name| !known.contains(name)).collect();
        for name in &strangers {
            let message = format!("the rule names `{name}`, which is no variable, setting or host fact");
            out.push(unknown(node.span, message, name, known.iter().copied()));
        }
        if strangers.is_empty() && !names.contains(HOSTS) {
            out.extend(weigh(rule, node, &names, draft));
        }
    }
    draft.out.extend(out);
}

/// Evaluates the rule over the levels that it can see.
fn weigh(rule: &Rule, node: &Node, names: &BTreeSet<&str>, draft: &Draft<'_>) -> Option<Complaint> {
    let unseen = draft.variables.iter().filter(|(name, _)| !names.contains(name.as_str()));
    let weight = unseen.map(|(_, levels)| levels.len() as u128).product::<u128>();
    let (mut matched, mut all) = (0_u128, 0_u128);
    let mut fault: Option<String> = None;
    let mut scope = Scope::new();
    // Levels of variables to whether the control is excluded there, and arms excluded there.
    let mut corners: HashMap<Vec<String>, (bool, usize)> = HashMap::new();
    let complete = combination::each(names, draft, &mut |combination: &Combination<'_>| {
        for (name, level) in &combination.levels {
            scope.level(name, &level.scalar());
        }
        let cells = weight * combination.arms.len() as u128;
        all += cells;
        match rule.eval(&scope) {
            Ok(false) => {}
            Ok(true) => {
                matched += cells;
                let corner =
                    combination.levels[..combination.variables].iter().map(|(_, level)| level.text.clone());
                let seen = corners.entry(corner.collect()).or_default();
                seen.0 |= combination.arms.contains(&0);
                seen.1 += combination.arms.len();
            }
            Err(why) if fault.is_none() => fault = Some(format!("with {}: {why}", combination.shown())),
            Err(_) => {}
        }
    });
    if !complete || all == 0 {
        return None;
    }
    let text = rule.text();
    if let Some(why) = fault {
        return Some(Complaint::error(node.span, format!("the rule `{text}` cannot be decided {why}")));
    }
    if matched == 0 {
        let message = format!("the rule `{text}` matches 0 of {all} cells");
        return Some(
            Complaint::error(node.span, message).help("take it out, or name a level that the grid has"),
        );
    }
    if matched == all {
        let message = format!("the rule `{text}` excludes all {all} cells");
        return Some(Complaint::error(node.span, message).help("nothing would be left to measure"));
    }
    let orphaned = corners.values().any(|(control, arms)| *control && *arms < draft.arms.len());
    orphaned.then(|| {
        let message = format!("the rule `{text}` excludes the control where other arms stay");
        Complaint::warning(node.span, message).help("an arm without its control cannot be compared")
    })
}
