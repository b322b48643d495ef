//! `blocks.until`: how precise an answer must be before a trial may stop.

use super::declared::{Blocks, Order};
use super::draft::Draft;
use super::parse::MOST_BLOCKS;
use crate::model::arm::ArmKind;
use crate::model::response::Response;
use crate::model::scale::Scale;
use crate::model::until::{FIRST_LOOK, Until};
use crate::yaml::{Complaint, Entry, Fields};

pub(super) const UNTIL_KEYS: [&str; 3] = ["halfwidth", "of", "most"];

/// Reads the rule; `of` stays empty where the file names no response.
pub(super) fn read(entry: &Entry, draft: &mut Draft<'_>) -> Option<Until> {
    let what = "`blocks.until`";
    let fields = Fields::open(&entry.value, entry.key.span, what, &UNTIL_KEYS, &mut draft.out)?;
    let halfwidth = fields.need("halfwidth", what, &mut draft.out);
    let halfwidth = halfwidth.and_then(|entry| entry.value.percent("`until.halfwidth`", &mut draft.out));
    let most = fields.need("most", what, &mut draft.out);
    let most = most.and_then(|entry| entry.value.count("`until.most`", 1..=MOST_BLOCKS, &mut draft.out));
    let of = match fields.get("of") {
        Some(entry) => {
            draft.note("blocks.until.of", &entry.key);
            entry.value.text("`until.of`", &mut draft.out)?.value.to_owned()
        }
        None => String::new(),
    };
    Some(Until { halfwidth: halfwidth?, of, most: most? as u32 })
}

/// Fills in the response, and complains where the rule could not stop anything honestly.
pub(super) fn check(blocks: Option<&mut Blocks>, responses: &[Response], draft: &mut Draft<'_>) {
    let Some(blocks) = blocks else { return };
    let Some(until) = &mut blocks.until else { return };
    let mut complain = |at: &[&str], message: String, help: &str| {
        let span = draft.places.first_of(at);
        draft.out.push(Complaint::error(span, message).help(help));
    };
    let (rule, count) = (["blocks.until", "blocks"], blocks.count);
    if count < FIRST_LOOK {
        let message = format!("`until` looks after {count} blocks, and at least {FIRST_LOOK} are needed");
        complain(
            &["blocks.count", "blocks.until"],
            message,
            "write `count: 10` or more: intervals that are looked at earlier promise too much",
        );
    }
    if until.most <= count {
        let message = format!("at most {} blocks leave nothing to decide after {count}", until.most);
        complain(&rule, message, "let `most` be larger than `count` (10), or take `until` out");
    }
    if blocks.order == Order::Mirrored && until.most % 2 == 1 {
        let message = format!("{} blocks cannot be mirrored in pairs", until.most);
        complain(&rule, message, "choose an even number for `most`");
    }
    let named = |r: &&Response| if until.of.is_empty() { r.primary } else { r.name == until.of };
    match responses.iter().find(named) {
        Some(response) if response.scale == Scale::Linear => complain(
            &rule,
            format!("`halfwidth` is a part of a ratio, and `{}` is judged by differences", response.name),
            "take its `scale: linear` out, or name another response in `of`",
        ),
        Some(response) => until.of = response.name.clone(),
        // Where no response could be read there is a complaint already.
        None if responses.is_empty() => {}
        None => {
            let known: Vec<&str> = responses.iter().map(|r| r.name.as_str()).collect();
            let message = format!("`{}` is no response of this campaign", until.of);
            complain(&["blocks.until.of", "blocks.until"], message, &format!("it has: {}", known.join(", ")));
        }
    }
    let compared = |kind| matches!(kind, ArmKind::Treatment | ArmKind::Combination);
    if draft.arms_whole && !draft.arms.iter().any(|arm| compared(arm.kind)) {
        let span = draft.places.first_of(&rule);
        let message = "`until` waits for the interval of an effect, and there is no treatment";
        draft.out.push(Complaint::error(span, message).help("declare a treatment, or take it out"));
    }
}
