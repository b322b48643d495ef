//! Units of work and what becomes of them, as read from the file.

use super::draft::Draft;
use super::work::Field;
use super::workload::blank;
use super::{extracts, roles, verify};
use crate::model::work_rule::{Units, WorkRule};
use crate::yaml::{Complaint, Entry, Fields};

pub(super) const WORK_KEYS: [&str; 7] =
    ["units", "counted", "of", "success", "timeout", "transport_error", "wrong_answer"];
pub(super) const COUNTED_KEYS: [&str; 4] = ["run", "json", "pattern", "from"];

/// Reads `work`; `names` are those of the roles, where they could be read.
pub(super) fn read<'a>(entry: &'a Entry, names: Option<&[&str]>, draft: &mut Draft<'a>) -> Option<WorkRule> {
    let what = "`work`";
    draft.note("workload.work", &entry.key);
    draft.counts_work = true;
    let fields = Fields::open(&entry.value, entry.key.span, what, &WORK_KEYS, &mut draft.out)?;
    let of = verify::one_role(fields.get("of"), names, draft);
    let mut fate = |key: &str| match fields.get(key) {
        Some(entry) => extracts::whole(&entry.value, &format!("`{key}`"), &mut draft.out).map(Some),
        None => Some(None),
    };
    let (success, timeout) = (fate("success"), fate("timeout"));
    let (transport_error, wrong_answer) = (fate("transport_error"), fate("wrong_answer"));
    let units = match (fields.get("units"), fields.get("counted")) {
        (Some(units), None) => {
            if fields.get("success").is_none() {
                let message = "`work` has typed `units` and lacks `success`: a typed number proves nothing";
                let help = "`success: {json: /success}` says where the output tells how many were done; \
                            or let them be `counted`";
                draft.out.push(Complaint::error(units.key.span, message).help(help));
            }
            blank(&units.value, "work.units", Field::Units, draft).map(Units::Declared)
        }
        (None, Some(counted)) => self::counted(counted, draft),
        (Some(_), Some(counted)) => {
            let message = "`work`: expected one of `units` and `counted`, found both";
            draft.out.push(Complaint::error(counted.key.span, message));
            None
        }
        (None, None) => {
            draft.out.push(Complaint::error(fields.at, "`work` lacks `units` or `counted`"));
            None
        }
    };
    Some(WorkRule {
        of: of?,
        units: units?,
        success: success?,
        timeout: timeout?,
        transport_error: transport_error?,
        wrong_answer: wrong_answer?,
    })
}

fn counted<'a>(entry: &'a Entry, draft: &mut Draft<'a>) -> Option<Units> {
    let what = "`counted`";
    let fields = Fields::open(&entry.value, entry.key.span, what, &COUNTED_KEYS, &mut draft.out)?;
    let extract = extracts::read(&fields, what, &mut draft.out);
    let by = match fields.get("run") {
        Some(run) => roles::list(run, "run", draft).map(Some),
        None => Some(None),
    };
    if let Some(Some(argv)) = &by
        && argv.is_empty()
    {
        entry.value.expected(what, "a program that counts, and its arguments", &mut draft.out);
    }
    Some(Units::Counted { by: by?, extract: extract? })
}
