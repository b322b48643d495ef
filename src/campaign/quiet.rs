//! `quiet`: what `run --as quiet` stops and drops on the hosts.

use super::draft::Draft;
use crate::model::quiet::Quiet;
use crate::model::setting::service;
use crate::yaml::{Complaint, Entry, Fields};

pub(super) const QUIET_KEYS: [&str; 2] = ["stop", "drop_caches"];

/// Reads what is declared; it has to be something.
pub(super) fn read(entry: &Entry, draft: &mut Draft<'_>) -> Option<Quiet> {
    draft.note("quiet", &entry.key);
    let fields = Fields::open(&entry.value, entry.key.span, "`quiet`", &QUIET_KEYS, &mut draft.out)?;
    let mut quiet = Quiet::default();
    if let Some(stop) = fields.get("stop") {
        for item in stop.value.items("`quiet.stop`", &mut draft.out)? {
            let name = item.text("a service", &mut draft.out)?;
            match service(name.value) {
                true => quiet.stop.push(name.value.to_owned()),
                false => item.expected("a service", "its name, such as `cron`", &mut draft.out),
            }
        }
    }
    if let Some(drop) = fields.get("drop_caches") {
        quiet.drop_caches = drop.value.flag("`quiet.drop_caches`", &mut draft.out)?;
    }
    if quiet == Quiet::default() {
        let help = "write `stop: [SERVICE]`, or `drop_caches: true`";
        draft.out.push(Complaint::error(entry.key.span, "`quiet` quiets nothing").help(help));
        return None;
    }
    Some(quiet)
}
