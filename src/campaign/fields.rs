//! Every template of the workload, checked for every combination of levels that it can see.

use std::collections::BTreeSet;

use super::blank::{fill, names};
use super::combination;
use super::draft::{Blank, Draft};
use super::packets::SETTLE;
use super::work::Field;
use crate::model::role::ARTIFACT;
use crate::yaml::{Complaint, Span, quantity};

/// Complains about templates that do not give what their field needs, about a link from a port to
/// itself, and about runs that could only time out.
pub(super) fn check(timeout_ms: Option<u64>, draft: &mut Draft<'_>) {
    if draft.arms.is_empty() {
        return;
    }
    let mut out = Vec::new();
    for blank in draft.blanks.iter().filter(|blank| known(blank, draft)) {
        one(blank, draft, &mut out);
    }
    if out.is_empty() {
        same_port(draft, &mut out);
        too_long(timeout_ms, draft, &mut out);
    }
    draft.out.extend(out);
}

/// Whether all names of a template are known; if not, that is the complaint to make.
fn known(blank: &Blank<'_>, draft: &Draft<'_>) -> bool {
    names(blank.template).iter().all(|name| {
        blank.artifact && *name == "artifact"
            || draft.variables.contains_key(*name)
            || draft.settings().any(|setting| setting == *name)
    })
}

fn one(blank: &Blank<'_>, draft: &Draft<'_>, out: &mut Vec<Complaint>) {
    let names: BTreeSet<&str> = names(blank.template).into_iter().collect();
    let mut first: Option<Wrong> = None;
    let mut wrong = 0_usize;
    combination::each(&names, draft, &mut |combination| {
        let own = |name: &str| (blank.artifact && name == "artifact").then_some(ARTIFACT);
        let lookup = |name: &str| own(name).or_else(|| combination.text(name));
        let Ok(found) = fill(blank.template, &lookup) else { return };
        if let Err(expected) = blank.field.check(&found) {
            wrong += 1;
            let levels = combination.levels[..combination.variables].iter();
            let places = levels.map(|(name, level)| level_place(name, &level.text, draft)).collect();
            first.get_or_insert_with(|| Wrong { expected, found, shown: combination.shown(), places });
        }
    });
    let Some(Wrong { expected, found, shown, places }) = first else { return };
    let mut message = format!("`{}`: expected {expected}, found `{found}`", blank.what);
    if !shown.is_empty() {
        message.push_str(&format!(" with {shown}"));
    }
    if wrong > 1 {
        message.push_str(&format!(" (and {} more)", wrong - 1));
    }
    let mut complaint = Complaint::error(blank.node.span, message);
    for place in places {
        complaint = complaint.also(place, "the level comes from here");
    }
    out.push(complaint);
}

/// The first combination that does not fit.
struct Wrong {
    expected: String,
    found: String,
    shown: String,
    places: Vec<Span>,
}

fn level_place(name: &str, text: &str, draft: &Draft<'_>) -> Span {
    let at = draft.variables.get(name).and_then(|levels| levels.iter().position(|level| level.text == text));
    draft.places.of(&at.map_or(format!("variables.{name}"), |at| format!("variables.{name}.{at}")))
}

fn same_port(draft: &Draft<'_>, out: &mut Vec<Complaint>) {
    let ports: Vec<&Blank<'_>> = draft.blanks.iter().filter(|blank| blank.field == Field::Port).collect();
    let [tx, rx] = ports[..] else { return };
    let names: BTreeSet<&str> = names(tx.template).into_iter().chain(names(rx.template)).collect();
    let mut found: Option<String> = None;
    combination::each(&names, draft, &mut |combination| {
        let text = |blank: &Blank<'_>| fill(blank.template, &|name| combination.text(name)).ok();
        if let (Some(from), Some(to)) = (text(tx), text(rx))
            && from == to
        {
            found.get_or_insert(from);
        }
    });
    if let Some(port) = found {
        let message = format!("`between`: expected two ports, found `{port}` twice");
        out.push(Complaint::error(rx.node.span, message).also(tx.node.span, "the other end"));
    }
}

/// A run lasts at least as long as its frames are sent and settle, every step of it.
fn too_long(timeout_ms: Option<u64>, draft: &Draft<'_>, out: &mut Vec<Complaint>) {
    let Some(timeout_ms) = timeout_ms else { return };
    let of = |field: Field| draft.blanks.iter().find(move |blank| blank.field == field);
    let Some(duration) = of(Field::Duration) else { return };
    let parts = [Some(duration), of(Field::Settle), of(Field::MostTrials)];
    let names: BTreeSet<&str> = parts.iter().flatten().flat_map(|blank| names(blank.template)).collect();
    let searched = parts[2].is_some();
    let listed = draft.blanks.iter().filter(|blank| blank.field == Field::Step).count().max(1) as u64;
    let (mut longest, mut of_steps) = (0, 1);
    combination::each(&names, draft, &mut |combination| {
        let text =
            |blank: &Blank<'_>| fill(blank.template, &|name| combination.text(name)).unwrap_or_default();
        let ms = |text: &str| quantity::duration_ms(text, 0..=u64::MAX).unwrap_or(0);
        // Without a `settle` of its own the default counts.
        let settle = ms(&parts[1].map_or(SETTLE.to_owned(), text));
        let trials = parts[2].and_then(|blank| text(blank).parse().ok());
        let steps = trials.unwrap_or(listed);
        // The trials that narrow a search may be shorter; how many of them are is not known before.
        let run = (settle + ms(&text(duration))).saturating_mul(steps);
        if run > longest {
            (longest, of_steps) = (run, steps);
        }
    });
    if longest >= timeout_ms {
        let steps = match (searched, of_steps) {
            (true, n) => format!(", in at most {n} trials"),
            (false, 1) => String::new(),
            (false, n) => format!(", in {n} steps"),
        };
        let message = format!(
            "a run sends for {longest} ms with its settling{steps}, and the timeout is {timeout_ms} ms"
        );
        let complaint = match draft.places.given("timeout") {
            None => Complaint::error(duration.node.span, message),
            Some(place) => Complaint::error(place, message).also(duration.node.span, "sent this long"),
        };
        let more = if searched { ", or `most_trials`" } else { "" };
        out.push(complaint.help(format!("raise `timeout`, or shorten `duration` or `settle`{more}")));
    }
}
