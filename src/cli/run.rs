//! `run`, `resume` and `rerun`: one session of work on a record.

use std::collections::BTreeMap;
use std::path::Path;

use super::args::{LabArgs, RerunArgs, ResumeArgs, RunArgs};
use super::derive::{derive, exits, rerun_exits};
use super::exit::Exit;
use super::failure::{Failure, Outcome, unwritable};
use super::gate::gate;
use super::gate_args::{GateArgs, GateFormat};
use super::lab::open;
use super::load::{Loaded, load, load_record};
use super::patience::Start;
use super::report::print_answer;
use super::selection;
use super::session::{Session, now, opening};
use super::voice::{aside, columns};
use crate::conduct::{Asked, Ended};
use crate::design::plan::Plan;
use crate::evidence::event::{Event, SessionKind};
use crate::evidence::fold::Evidence;
use crate::model::outcome::RunOutcome;
use crate::record::{Folder, Running, Writer, read};
use crate::remote::who;
use crate::report::table;

pub fn run(args: &RunArgs) -> Outcome {
    let loaded = load(&args.campaign.campaign, args.campaign.hosts.as_deref())?;
    let mut start = Start::of(args, &loaded.campaign.name)?;
    let (folder, mut exits) =
        carry_out_from(&mut start, &loaded, &args.reports, &args.lab, Some(args.campaign.json))?;
    if args.gate {
        let record = folder.path().to_owned();
        let (lab, json) = (args.lab.clone(), args.campaign.json);
        exits.extend(gate(&GateArgs {
            record,
            again: true,
            format: GateFormat::Text,
            output: None,
            lab,
            json,
        })?);
    }
    Ok(exits)
}

/// Runs a whole trial and prints its answer; the folder of its record, and how it ended.
///
/// # Errors
/// Nothing was measured, or the record cannot be written.
pub fn carry_out(
    loaded: &Loaded,
    reports: &Path,
    lab: &LabArgs,
    json: Option<bool>,
) -> Result<(Folder, Vec<Exit>), Failure> {
    carry_out_from(&mut Start::default(), loaded, reports, lab, json)
}

fn carry_out_from(
    start: &mut Start,
    loaded: &Loaded,
    reports: &Path,
    lab: &LabArgs,
    json: Option<bool>,
) -> Result<(Folder, Vec<Exit>), Failure> {
    let plan = loaded.plan(&BTreeMap::new())?;
    loaded.print_warnings();
    let folder = Folder::create(reports, &plan.campaign.name, &super::session::stamp())?;
    let mut running = Running::begin(folder.path(), &now(), &who())?;
    let begun = begin(loaded, &folder, &plan, lab, start, &mut running);
    let (session, plan) = match begun {
        Ok(begun) => begun,
        Err(failure) => {
            // Nothing was measured: an empty folder would only look like a record.
            let _ = std::fs::remove_dir_all(folder.path());
            return Err(failure);
        }
    };
    let ended =
        session.conduct(&folder, &loaded.campaign_folder, &plan, &Evidence::default(), Asked::Rest)?;
    let exits = finish(&folder, &plan, &ended, json, false)?;
    Ok((folder, exits))
}

fn begin(
    loaded: &Loaded,
    folder: &Folder,
    plan: &Plan,
    lab: &LabArgs,
    start: &mut Start,
    running: &mut Running,
) -> Result<(Session, Plan), Failure> {
    folder.put(Folder::CAMPAIGN, &loaded.campaign_source.text)?;
    folder.put(Folder::HOSTS, &loaded.hosts_source.text)?;
    if let Some(source) = &loaded.dead_ends_source {
        folder.put(Folder::DEAD_ENDS, &source.text)?;
    }
    let lab = start.open(plan, &loaded.hosts_source, lab, running)?;
    let plan = loaded.unchecked_plan(&lab.facts);
    let mut json = Vec::new();
    super::plan::print_json(&mut json, &plan, &crate::design::estimate::estimate(&plan), &[])
        .map_err(|e| unwritable(folder.path(), &e))?;
    folder.put(Folder::PLAN, &String::from_utf8_lossy(&json))?;
    let mut writer = Writer::create(folder)?;
    let opened = Event::Opened(Box::new(opening(&plan, &folder.name(), loaded)));
    writer.append_event(&now(), &opened).map_err(|e| unwritable(folder.path(), &e))?;
    Ok((Session::new(writer, lab, SessionKind::Run).beginning_with(start.events()), plan))
}

pub fn resume(args: &ResumeArgs) -> Outcome {
    let folder = Folder::open(&args.record)?;
    let before = read(&folder)?;
    let loaded = load_record(&folder, &before.evidence)?;
    let plan = loaded.plan(&BTreeMap::new())?;
    let interrupted =
        before.evidence.planned_runs().iter().any(|r| r.note.outcome == RunOutcome::Interrupted);
    if before.evidence.complete && !interrupted {
        let runs = before.evidence.sums().runs;
        aside(format_args!("{runs} of {runs} runs are there; nothing was left to run"));
        return finish(&folder, &plan, &Ended::Complete, Some(args.json), false);
    }
    if before.torn_bytes > 0 {
        aside(format_args!(
            "the journal's last line is torn ({} bytes); it is set aside and its run repeated",
            before.torn_bytes
        ));
    }
    let mut writer = Writer::append(&folder, &before)?;
    let before = before.evidence;
    if before.opening.is_none() {
        let opened = Event::Opened(Box::new(opening(&plan, &folder.name(), &loaded)));
        writer.append_event(&now(), &opened).map_err(|e| unwritable(folder.path(), &e))?;
    }
    Continued { folder, loaded, before, writer }.go_on(Asked::Rest, &args.lab, Some(args.json))
}

pub fn rerun(args: &RerunArgs) -> Outcome {
    again(args, true)
}

/// A rerun whose answer somebody else gives.
pub fn rerun_quietly(args: &RerunArgs) -> Outcome {
    again(args, false)
}

fn again(args: &RerunArgs, answers: bool) -> Outcome {
    let folder = Folder::open(&args.record)?;
    let before = read(&folder)?;
    let loaded = load_record(&folder, &before.evidence)?;
    let plan = loaded.plan(&BTreeMap::new())?;
    let Some(cell) = plan.find(&args.cell) else {
        let known = (0..plan.cells().min(selection::SEARCHED)).map(|cell| plan.id(cell).0);
        return Err(Failure::Input(selection::unknown("cell", &args.cell, known)));
    };
    if let Some(known) = before.evidence.cells.get(&plan.id(cell))
        && let Some(reason) = &known.reason
    {
        return Err(Failure::Input(format!(
            "cell {} was {}: {reason}\nnext: mend that and start a new trial with `fieldtrial run`",
            args.cell,
            known.fate.name()
        )));
    }
    let writer = Writer::append(&folder, &before)?;
    let before = before.evidence;
    Continued { folder, loaded, before, writer }.go_on(
        Asked::Again(cell),
        &args.lab,
        answers.then_some(args.json),
    )
}

/// A record that is written to again.
struct Continued {
    folder: Folder,
    loaded: Loaded,
    before: Evidence,
    writer: Writer,
}

impl Continued {
    fn go_on(self, asked: Asked, lab: &LabArgs, json: Option<bool>) -> Outcome {
        let _running = Running::begin(self.folder.path(), &now(), &who())?;
        let lab = open(&self.loaded.plan(&BTreeMap::new())?, &self.loaded.hosts_source, lab)?;
        let plan = self.loaded.unchecked_plan(&lab.facts);
        let again = asked != Asked::Rest;
        let kind = if again { SessionKind::Rerun } else { SessionKind::Resume };
        let session = Session::new(self.writer, lab, kind);
        let folder = &self.loaded.campaign_folder;
        let ended = session.conduct(&self.folder, folder, &plan, &self.before, asked)?;
        finish(&self.folder, &plan, &ended, json, again)
    }
}

/// `json` is how to answer; None where somebody else does.
fn finish(folder: &Folder, plan: &Plan, ended: &Ended, json: Option<bool>, again: bool) -> Outcome {
    let evidence = read(folder)?.evidence;
    let findings = derive(folder, &evidence)?;
    if let Some(json) = json {
        print_answer(folder, &findings, &table(&findings, columns()), json)?;
    }
    if !again {
        super::history::remember(folder, &evidence)?;
    }
    super::history::pages(&super::publish::campaign_folder(folder)?);
    let expect = &plan.campaign.expect;
    let mut exits = if again { rerun_exits(&evidence, expect) } else { exits(&evidence, expect) };
    let next = match again {
        true => "ask for the same rerun again, which makes a block of its own".to_owned(),
        false => format!("`fieldtrial resume {}` goes on", folder.path().display()),
    };
    for (host, stuck) in evidence.stuck() {
        let stuck = stuck.join("\n  ");
        aside(format_args!(
            "{host} could not be put back as it was:\n  {stuck}\n\
             until it is, nothing more is measured there; `fieldtrial restore` tries again"
        ));
        exits.push(Exit::NotPutBack);
    }
    match ended {
        Ended::Complete => {}
        Ended::Stopped => {
            aside(format_args!("stopped; {next}"));
            exits.push(Exit::Incomplete);
        }
        Ended::Changed(why) => {
            aside(format_args!(
                "{why}\nnothing was measured, because it could not be compared with what the record holds\n\
                 next: put back what changed, or start a new trial with `fieldtrial run`"
            ));
            exits.push(Exit::Incomplete);
        }
        Ended::Lost(why) => {
            aside(format_args!("{why}\nwhen it answers again: {next}"));
            exits.push(Exit::HostUnavailable);
        }
    }
    Ok(exits)
}
