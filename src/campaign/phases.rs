//! The phases of a role around its work, as read from the file.

use super::draft::Draft;
use super::roles::program;
use super::work::Field;
use super::workload::blank;
use crate::model::role::{Ends, Invocation, PhasesDeclared, RoleDeclared, SetupTime, WarmupDeclared};
use crate::yaml::{Complaint, Entry, Fields, Kind, Span};

pub(super) const PHASE_KEYS: [&str; 3] = ["run", "shell", "tool"];
pub(super) const SETUP_KEYS: [&str; 4] = ["run", "shell", "tool", "as"];

/// Reads the keys of a role that are about its phases.
pub(super) fn read<'a>(fields: &Fields<'a>, draft: &mut Draft<'a>) -> Option<PhasesDeclared> {
    let setup = fields.get("setup").map(|entry| setup(entry, draft));
    let warmup = fields.get("warmup").map(|entry| match &entry.value.kind {
        Kind::Mapping(_) => phase(entry, &PHASE_KEYS, draft).map(|(_, it)| WarmupDeclared::Program(it)),
        _ => blank(&entry.value, "warmup", Field::Invocations, draft).map(WarmupDeclared::Invocations),
    });
    let invocations = match fields.get("invocations") {
        Some(entry) => blank(&entry.value, "invocations", Field::Invocations, draft),
        None => Some("1".to_owned()),
    };
    let teardown = fields.get("teardown").map(|entry| phase(entry, &PHASE_KEYS, draft).map(|(_, it)| it));
    Some(PhasesDeclared {
        setup: setup.map_or(Some(None), |setup| setup.map(Some))?,
        warmup: warmup.map_or(Some(None), |warmup| warmup.map(Some))?,
        invocations: invocations?,
        teardown: teardown.map_or(Some(None), |teardown| teardown.map(Some))?,
    })
}

/// Complains about phases that a role of this kind cannot have.
pub(super) fn fit(role: &RoleDeclared, at: Span, draft: &mut Draft<'_>) {
    let phases = &role.phases;
    let several = phases.invocations != "1" || phases.warmup.is_some();
    if role.ends != Ends::ByItself && several {
        let message =
            format!("`{}` lives until others have ended, so it is started once in a run", role.name);
        draft.out.push(Complaint::error(at, message).help("take `invocations` and `warmup` out"));
    }
    let time = phases.setup.as_ref().map(|(_, time)| *time);
    if matches!(time, Some(SetupTime::Each | SetupTime::Response)) && !role.timed {
        let message = format!("the setup of `{}` is to be timed, and the role is not", role.name);
        draft.out.push(Complaint::error(at, message).help("write `as: untimed`, or `timed: true`"));
    }
    if phases.invocations != "1" && role.ready.is_some() {
        let message = format!("`{}` is waited for, and is started more than once in a run", role.name);
        draft.out.push(Complaint::error(at, message).help("take `invocations` out"));
    }
}

fn setup<'a>(entry: &'a Entry, draft: &mut Draft<'a>) -> Option<(Invocation, SetupTime)> {
    let (fields, program) = phase(entry, &SETUP_KEYS, draft)?;
    let words =
        [("untimed", SetupTime::Untimed), ("response", SetupTime::Response), ("each", SetupTime::Each)];
    let time = match fields.get("as") {
        Some(entry) => entry.value.choice("`as`", &words, &mut draft.out)?,
        None => SetupTime::Untimed,
    };
    Some((program, time))
}

/// One phase: what is started in it.
fn phase<'a>(entry: &'a Entry, keys: &[&str], draft: &mut Draft<'a>) -> Option<(Fields<'a>, Invocation)> {
    let what = format!("`{}`", entry.key.value);
    let fields = Fields::open(&entry.value, entry.key.span, &what, keys, &mut draft.out)?;
    let program = program(&fields, &what, draft)?;
    Some((fields, program))
}
