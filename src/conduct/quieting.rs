//! Hosts made quiet before anything is proven on them: services stopped, the page cache dropped.

use std::io;

use super::lab::{Lab, LabError};
use super::pass::{self, Trouble};
use super::prepare::{Noting, Unready};
use super::role::Role;
use super::watch::Stop;
use crate::evidence::event::{Event, SettingNote};
use crate::model::change::{Applied, Wanted};
use crate::model::job::{JobSpec, Program};
use crate::model::quiet::Quiet;
use crate::verify::Difference;

/// What is dirty is written first, since only clean pages can be dropped.
const DROP: &str = "sync && echo 3 > /proc/sys/vm/drop_caches";
const DROP_MS: u64 = 120_000;

/// Quiets one host, and notes what was changed. Services come back with every other setting.
///
/// # Errors
/// The record cannot be written.
pub fn quieten(
    lab: &mut dyn Lab,
    host: &str,
    quiet: &Quiet,
    note: &mut Noting<'_>,
) -> io::Result<Result<(), Unready>> {
    let refuse = |why: String| {
        let reason = format!("{host} cannot be quieted: {why}");
        Ok(Err(Unready::Refused(Difference { reason, evidence: vec![] })))
    };
    if !quiet.stop.is_empty() {
        let wanted =
            Wanted { setting: "stopped_services".into(), interface: None, value: quiet.stop.join(",") };
        let done = match lab.apply(host, &[wanted]) {
            Ok(done) => done,
            Err(error @ LabError::Lost { .. }) => return Ok(Err(Unready::Lost(error.to_string()))),
            Err(LabError::Refused { why, .. }) => return refuse(why),
        };
        for applied in done.applied {
            note(Event::Setting(SettingNote { host: host.to_owned(), applied }))?;
        }
        if let Some(unfit) = done.refused {
            return refuse(unfit.to_string());
        }
    }
    if quiet.drop_caches {
        let program = Program::Argv(["/bin/sh", "-c", DROP].map(str::to_owned).to_vec());
        let end =
            pass::run(lab, &[Role::new("drop caches", host, JobSpec::new(program, DROP_MS))], &|| Stop::No);
        match end.trouble {
            None => {}
            Some(Trouble::Lost(why)) => return Ok(Err(Unready::Lost(why))),
            Some(
                Trouble::Failed(why)
                | Trouble::Refused(why)
                | Trouble::TimedOut(why)
                | Trouble::Interrupted(why),
            ) => {
                return refuse(format!("its page cache cannot be dropped, which needs root: {why}"));
            }
        }
        let applied = Applied {
            setting: "page_cache".into(),
            interface: None,
            was: "as it was".into(),
            now: "dropped".into(),
        };
        note(Event::Setting(SettingNote { host: host.to_owned(), applied }))?;
    }
    Ok(Ok(()))
}
