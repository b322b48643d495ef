//! The workload and how its results are compared, as read from the file.

use super::draft::{Blank, Draft, Preset};
use super::work::Field;
use super::{packets, roles, useful, verify};
use crate::model::verify_rule::VerifyRule;
use crate::model::workload::{CommandDeclared, Workload};
use crate::yaml::{Complaint, Entry, Fields, Kind, Node};

pub(super) const WORKLOAD_KEYS: [&str; 4] = ["packets", "command", "roles", "work"];
/// Of which a workload has exactly one.
const KINDS: [&str; 3] = ["packets", "command", "roles"];

/// Reads `workload` and `verify`; None when too little of it could be read.
pub(super) fn read<'a>(
    entry: &'a Entry,
    verify: Option<&'a Entry>,
    draft: &mut Draft<'a>,
) -> Option<Workload> {
    let verify = verify.and_then(|entry| {
        Fields::open(&entry.value, entry.key.span, "`verify`", &verify::VERIFY_KEYS, &mut draft.out)
    });
    let fields = Fields::open(&entry.value, entry.key.span, "`workload`", &WORKLOAD_KEYS, &mut draft.out)?;
    let given: Vec<&Entry> = KINDS.iter().filter_map(|key| fields.get(key)).collect();
    let [only] = given[..] else {
        let message = format!("expected one of `packets`, `command` and `roles`, found {}", given.len());
        let at = given.get(1).map_or(fields.at, |second| second.key.span);
        let complaint = Complaint::error(at, message);
        draft.out.push(match given.first() {
            Some(first) => complaint.also(first.key.span, "the other one"),
            None => complaint,
        });
        return None;
    };
    let key = only.key.value.as_str();
    draft.note(format!("workload.{key}"), &only.key);
    if key == "packets" {
        draft.preset = Some(Preset::Packets);
        for key in verify::OF_PROGRAMS {
            refuse(verify, key, "a workload of programs", draft);
        }
        if let Some(work) = fields.get("work") {
            let message = "`work` belongs to a workload of programs, and this is none";
            draft.out.push(Complaint::error(work.key.span, message).help("frames count themselves"));
        }
        return packets::read(only, verify, draft).map(|packets| Workload::Packets(Box::new(packets)));
    }
    draft.preset = Some(Preset::Command);
    refuse(verify, "frames", "a `packets` workload", draft);
    roles(only, key == "command", verify, fields.get("work"), draft)
        .map(|declared| Workload::Command(Box::new(declared)))
}

/// Complains about a key of `verify` that belongs to the other workload.
fn refuse(verify: Option<Fields<'_>>, key: &str, owner: &str, draft: &mut Draft<'_>) {
    if let Some(entry) = verify.and_then(|verify| verify.get(key)) {
        let message = format!("`verify.{key}` belongs to {owner}, and this is none");
        draft.out.push(Complaint::error(entry.key.span, message).help("take it out"));
    }
}

/// Planning complains about hosts and ports that the hosts file lacks, and then needs their places.
pub(super) fn note_keys(fields: &Fields<'_>, keys: &[&str], path: &str, draft: &mut Draft<'_>) {
    for entry in keys.iter().filter_map(|key| fields.get(key)) {
        draft.places.note(format!("{path}.{}", entry.key.value), entry.value.span);
    }
}

/// The roles of a workload, how their work is proven, and how much of it there is.
fn roles<'a>(
    entry: &'a Entry,
    short: bool,
    verify: Option<Fields<'a>>,
    work: Option<&'a Entry>,
    draft: &mut Draft<'a>,
) -> Option<CommandDeclared> {
    let roles = if short { roles::command(entry, draft) } else { roles::read(entry, draft) };
    let names: Option<Vec<&str>> =
        roles.as_ref().map(|roles| roles.iter().map(|role| role.name.as_str()).collect());
    let rule = match verify {
        Some(verify) => verify::read(&verify, names.as_deref(), draft),
        None => Some(VerifyRule::default()),
    };
    let work = work.map_or(Some(None), |work| useful::read(work, names.as_deref(), draft).map(Some));
    Some(CommandDeclared { roles: roles?, verify: rule?, work: work? })
}

/// Reads one template and notes it for the checks.
pub(super) fn blank<'a>(node: &'a Node, what: &str, field: Field, draft: &mut Draft<'a>) -> Option<String> {
    let Kind::Scalar { text, .. } = &node.kind else {
        node.expected(&format!("`{what}`"), "text or a number", &mut draft.out);
        return None;
    };
    let artifact = draft.in_artifact;
    draft.blanks.push(Blank { what: what.to_owned(), field, node, template: text, artifact });
    Some(text.clone())
}
