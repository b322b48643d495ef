//! One pass of a cell: its roles started in order, watched, ended, and reported.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::lab::{JobId, Lab, LabError, LabEvent};
use super::output;
use super::paste::command_line;
use super::role::{Ends, HEAD, Role};
use super::watch::Stop;
use crate::evidence::event::RoleNote;
use crate::model::job::{End, Folder, JobReport, JobSpec, Program, Stdin};
use crate::model::phase::Phase;
use crate::model::role::{ranks, signal_name};
use crate::verify::{Output, Piece};

/// Why a pass did not end as it should. The first trouble names the role; the others are ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    TimedOut(String),
    Failed(String),
    /// A tool says that its host cannot do what is asked.
    Refused(String),
    Interrupted(String),
    /// A host was lost: nothing more can be done with this lab.
    Lost(String),
}

#[derive(Debug)]
pub struct PassEnd {
    /// Of every job, role by role, in the order that they ran in.
    pub roles: Vec<RoleNote>,
    /// What each of them wrote, as far as its role asks for it.
    pub outputs: Vec<Output>,
    pub trouble: Option<Trouble>,
    pub elapsed: Duration,
}

/// The agent keeps the deadline; we allow it this much more before we call the host lost.
const GRACE: Duration = Duration::from_secs(10);
/// More again where files are hashed on the host first, which its deadline does not count.
const HASHING: Duration = Duration::from_secs(600);
/// How long a role may live on after the signal that ends it.
const AFTER_SIGNAL: Duration = Duration::from_secs(5);

/// Runs every role to its end. Nothing of the pass is left on any host when it returns, unless the
/// host is lost, and then its own lease ends what ran there.
pub fn run(lab: &mut dyn Lab, roles: &[Role], stop: &dyn Fn() -> Stop) -> PassEnd {
    let began = Instant::now();
    let specs = || roles.iter().flat_map(Role::specs);
    let mut pass = Pass {
        roles,
        states: roles.iter().map(|_| State::default()).collect(),
        ran: vec![],
        trouble: None,
        deadline: Duration::from_millis(specs().map(|spec| spec.deadline_ms).max().unwrap_or(0)),
        began,
        limit: began + specs().map(patience).max().unwrap_or(GRACE),
    };
    pass.open_window(lab, stop);
    pass.wait_for_ends(lab, stop);
    pass.tear_down(lab);
    let elapsed = began.elapsed();
    let (roles, outputs) = pass.notes(lab);
    PassEnd { roles, outputs, trouble: pass.trouble, elapsed }
}

struct Pass<'a> {
    roles: &'a [Role],
    states: Vec<State>,
    ran: Vec<Ran>,
    trouble: Option<Trouble>,
    /// Of all roles together, from `began` on.
    deadline: Duration,
    /// Later than in truth by the time that hosts hashed files in.
    began: Instant,
    limit: Instant,
}

/// How far a role is.
#[derive(Default)]
struct State {
    /// Number of the step that runs or comes next.
    at: usize,
    /// Its part of the window may begin.
    open: bool,
    job: Option<JobId>,
    /// The job whose folder its later jobs share.
    folder: Option<JobId>,
    ready: bool,
    /// It was told, or sent the signal, to end.
    asked: Option<Instant>,
    tearing_down: bool,
}

/// A job of the pass.
struct Ran {
    role: usize,
    phase: Phase,
    job: JobId,
    spec: JobSpec,
    report: Option<JobReport>,
}

impl Pass<'_> {
    /// Rank by rank: when all that they wait for is ready, the roles of a rank prepare themselves, and
    /// when the last of them has, they begin together.
    fn open_window(&mut self, lab: &mut dyn Lab, stop: &dyn Fn() -> Stop) {
        let after: Vec<&[usize]> = self.roles.iter().map(|role| role.after.as_slice()).collect();
        for rank in ranks(&after).unwrap_or_default() {
            let roles = self.roles;
            self.until(lab, stop, &|states| {
                rank.iter().all(|role| roles[*role].after.iter().all(|awaited| states[*awaited].ready))
            });
            rank.iter().for_each(|role| self.go_on(lab, *role));
            self.until(lab, stop, &|states| {
                rank.iter().all(|role| states[*role].at == roles[*role].prepare.len())
            });
            for role in &rank {
                self.states[*role].open = true;
                self.go_on(lab, *role);
            }
            self.ask_to_end(lab);
        }
    }

    fn until(&mut self, lab: &mut dyn Lab, stop: &dyn Fn() -> Stop, enough: &dyn Fn(&[State]) -> bool) {
        while self.trouble.is_none() && !enough(&self.states) {
            self.step(lab, stop);
        }
    }

    /// Starts the next job of a role, if there is one and it may.
    fn go_on(&mut self, lab: &mut dyn Lab, index: usize) {
        let (role, state) = (&self.roles[index], &self.states[index]);
        if self.trouble.is_some() || (state.at == role.prepare.len() && !state.open) {
            return;
        }
        if let Some(step) = role.step(state.at) {
            let left = self.deadline.saturating_sub(self.began.elapsed()).as_millis() as u64;
            let deadline_ms = step.spec.deadline_ms.min(left.max(1));
            let spec = JobSpec { deadline_ms, ..step.spec.clone() };
            self.start(lab, index, step.phase, spec);
        }
    }

    fn start(&mut self, lab: &mut dyn Lab, index: usize, phase: Phase, mut spec: JobSpec) {
        let role = &self.roles[index];
        if role.shares_folder() && spec.cwd.is_none() {
            spec.folder = self.states[index].folder.map_or(Folder::Kept, |job| Folder::Of(job.0));
        }
        match lab.start(&role.host, spec.clone()) {
            Ok(job) => {
                let state = &mut self.states[index];
                state.job = Some(job);
                if spec.folder == Folder::Kept {
                    state.folder = Some(job);
                }
                self.ran.push(Ran { role: index, phase, job, spec, report: None });
            }
            Err(error) => self.in_trouble(lab, trouble_of(error)),
        }
    }

    fn wait_for_ends(&mut self, lab: &mut dyn Lab, stop: &dyn Fn() -> Stop) {
        while self.states.iter().any(|state| state.job.is_some()) {
            if matches!(self.trouble, Some(Trouble::Lost(_))) {
                return;
            }
            self.step(lab, stop);
        }
    }

    /// In the order against that of the starts; not to be stopped by whoever stopped the pass.
    fn tear_down(&mut self, lab: &mut dyn Lab) {
        for index in (0..self.roles.len()).rev() {
            let Some(spec) = &self.roles[index].teardown else { continue };
            if !self.ran.iter().any(|ran| ran.role == index) {
                continue;
            }
            self.limit = Instant::now() + patience(spec);
            self.states[index].tearing_down = true;
            if !matches!(self.trouble, Some(Trouble::Lost(_))) {
                self.start(lab, index, Phase::Teardown, spec.clone());
                self.wait_for_ends(lab, &|| Stop::No);
            }
        }
    }

    /// Waits for one event, or for a look at the stop request and the limit.
    fn step(&mut self, lab: &mut dyn Lab, stop: &dyn Fn() -> Stop) {
        if stop() == Stop::Now && self.trouble.is_none() {
            self.in_trouble(lab, Trouble::Interrupted("stopped on request".into()));
        }
        match lab.next(Duration::from_millis(50)) {
            Some(LabEvent::Said { job, event }) => self.said(lab, job, &event),
            Some(LabEvent::Ended { job, report }) => self.ended(lab, job, *report),
            Some(LabEvent::Lost { host, why }) if self.roles.iter().any(|r| r.host == host) => {
                let lost = Trouble::Lost(format!("host {host} is lost: {why}"));
                self.in_trouble(lab, lost.clone());
                // Whatever came before, nobody will tell how its jobs ended.
                self.trouble = Some(lost);
            }
            Some(LabEvent::Lost { .. }) => {}
            None if Instant::now() > self.limit => {
                let silent = self.roles.iter().zip(&self.states).find(|(_, state)| state.job.is_some());
                let host = silent.map_or("?", |(role, _)| &role.host);
                let why = "its agent reported no end of the job within the deadline and its grace";
                self.trouble = Some(Trouble::Lost(format!("host {host}: {why}")));
            }
            None => self.outlived(lab),
        }
    }

    /// A role that the signal does not end, ends with trouble.
    fn outlived(&mut self, lab: &mut dyn Lab) {
        for (role, state) in self.roles.iter().zip(&self.states) {
            if let (Ends::Signalled { signal, .. }, Some(asked), Some(_)) =
                (&role.ends, state.asked, state.job)
                && asked.elapsed() > AFTER_SIGNAL
            {
                let (signal, after) = (signal_name(*signal), AFTER_SIGNAL.as_secs());
                let why = format!(
                    "{} on {}: still running {after} s after the signal {signal}",
                    role.name, role.host
                );
                return self.in_trouble(lab, Trouble::TimedOut(why));
            }
        }
    }

    fn said(&mut self, lab: &mut dyn Lab, job: JobId, event: &Value) {
        let Some(index) = self.index_of(job) else { return };
        let flag = |name: &str| event.get(name).and_then(Value::as_bool) == Some(true);
        match event.get("event").and_then(Value::as_str) {
            Some("ready") => {
                // What the warm-up says is not said of the work.
                let phase = self.ran.iter().rev().find(|ran| ran.job == job).map(|ran| ran.phase);
                self.states[index].ready |= phase == Some(Phase::Run);
            }
            Some("identified") => {
                let took = event.get("took_ms").and_then(Value::as_u64).unwrap_or(0);
                self.began += Duration::from_millis(took);
            }
            Some("fault") => {
                let why = event.get("why").and_then(Value::as_str).unwrap_or("no reason given");
                let role = &self.roles[index];
                let why = format!("{} on {}: {why}", role.name, role.host);
                let trouble = match (flag("refused"), flag("timeout")) {
                    (true, _) => Trouble::Refused(why),
                    (_, true) => Trouble::TimedOut(why),
                    _ => Trouble::Failed(why),
                };
                self.in_trouble(lab, trouble);
            }
            _ => {}
        }
    }

    fn ended(&mut self, lab: &mut dyn Lab, job: JobId, report: JobReport) {
        let Some(index) = self.index_of(job) else { return };
        let Some(ran) = self.ran.iter_mut().rev().find(|ran| ran.job == job) else { return };
        let phase = ran.phase;
        self.states[index].job = None;
        ran.report = Some(report.clone());
        if let Some(trouble) = self.trouble_of_end(index, phase, &report) {
            return self.in_trouble(lab, trouble);
        }
        if !self.states[index].tearing_down {
            self.states[index].at += 1;
            self.go_on(lab, index);
            self.ask_to_end(lab);
        }
    }

    /// What is wrong with the end of a job, if anything.
    fn trouble_of_end(&self, index: usize, phase: Phase, report: &JobReport) -> Option<Trouble> {
        let (role, state) = (&self.roles[index], &self.states[index]);
        let mut name = format!("{} on {}", role.name, role.host);
        if !phase.is_run() {
            name.push_str(&format!(": {}", phase.name()));
        }
        let spec = &self.ran.iter().rev().find(|ran| ran.role == index)?.spec;
        let signalled = matches!(role.ends, Ends::Signalled { .. }) && state.asked.is_some();
        match &report.end {
            End::TimedOut => {
                let whole = role.specs().map(|spec| spec.deadline_ms).max().unwrap_or(spec.deadline_ms);
                Some(Trouble::TimedOut(format!("{name}: still running after {}", seconds(whole))))
            }
            End::Stopped => Some(Trouble::Interrupted(format!("{name}: stopped"))),
            End::NotStarted(why) => Some(Trouble::Failed(format!("{name}: not started: {why}"))),
            _ if signalled && phase.is_run() => None,
            End::Exited(0) => self.ended_too_early(index, phase, &name),
            End::Exited(127) if matches!(spec.program, Program::Shell(_)) => {
                Some(Trouble::Failed(format!("{name}: command not found (exit status 127)")))
            }
            End::Exited(status) => Some(Trouble::Failed(format!("{name}: exit status {status}"))),
            End::Signalled(signal) => Some(Trouble::Failed(format!("{name}: killed by signal {signal}"))),
        }
    }

    /// A good end that comes before somebody else could do with the role what he needs it for.
    fn ended_too_early(&self, index: usize, phase: Phase, name: &str) -> Option<Trouble> {
        let (role, state) = (&self.roles[index], &self.states[index]);
        if !phase.is_run() {
            return None;
        }
        let others = |found: &dyn Fn(&(usize, &Role)) -> bool| {
            let names = self.roles.iter().enumerate().filter(found).map(|(_, role)| role.name.as_str());
            names.collect::<Vec<_>>().join(" and ")
        };
        let waiting = others(&|(_, other)| other.after.contains(&index));
        if !waiting.is_empty() && !state.ready {
            let why =
                format!("{name}: ended (exit status 0) before it was ready, and {waiting} waits for it");
            return Some(Trouble::Failed(why));
        }
        if !role.outlives().is_empty() && state.asked.is_none() {
            let with = others(&|(other, _)| role.outlives().contains(other));
            let why = format!("{name}: ended (exit status 0) before {with}, which it has to outlive");
            return Some(Trouble::Failed(why));
        }
        None
    }

    /// Tells or signals every role whose time has come.
    fn ask_to_end(&mut self, lab: &mut dyn Lab) {
        for index in 0..self.roles.len() {
            let (role, state) = (&self.roles[index], &self.states[index]);
            let over = |other: &usize| self.states[*other].at == self.roles[*other].steps();
            let due = state.open && state.asked.is_none() && role.outlives().iter().all(over);
            let Some(job) = state.job.filter(|_| due && self.trouble.is_none()) else { continue };
            let asked = match &role.ends {
                Ends::ByItself => continue,
                Ends::Told(with) => lab.tell(job, &sent_line(self.result_of(with).as_ref())),
                Ends::Signalled { signal, .. } => lab.signal(job, *signal),
            };
            self.states[index].asked = Some(Instant::now());
            if let Err(error) = asked {
                self.in_trouble(lab, trouble_of(error));
            }
        }
    }

    /// What the first of these roles that has a result said.
    fn result_of(&self, roles: &[usize]) -> Option<Value> {
        let of = |role: &usize| self.ran.iter().rfind(|ran| ran.role == *role);
        roles.iter().filter_map(of).find_map(|ran| ran.report.as_ref()?.result.clone())
    }

    /// The first trouble stands; every job that still runs is stopped.
    fn in_trouble(&mut self, lab: &mut dyn Lab, trouble: Trouble) {
        if self.trouble.is_some() {
            return;
        }
        self.trouble = Some(trouble);
        for job in self.states.iter().filter_map(|state| state.job) {
            // A host that cannot be told is lost, and its lease ends the job there.
            let _ = lab.stop(job);
        }
    }

    fn index_of(&self, job: JobId) -> Option<usize> {
        self.states.iter().position(|state| state.job == Some(job))
    }

    fn notes(&mut self, lab: &mut dyn Lab) -> (Vec<RoleNote>, Vec<Output>) {
        let (mut notes, mut outputs) = (vec![], vec![]);
        let mut ran = std::mem::take(&mut self.ran);
        ran.sort_by_key(|ran| ran.role);
        let mut seen: Vec<usize> = vec![];
        for Ran { role: index, phase, job, spec, report } in ran {
            let role = &self.roles[index];
            if let Some(report) = report {
                let well = report.end == End::Exited(0);
                // Of many invocations that went well, the words of the first are those of all.
                let quiet = well && (spec.speaks_events || (phase.is_run() && seen.contains(&index)));
                let most = if !phase.is_run() { HEAD } else { role.fetch };
                let output = match quiet && most == HEAD {
                    true => Output::default(),
                    false => output::fetch(lab, job, &report, most),
                };
                let head = |piece: &Piece| match quiet {
                    true => String::new(),
                    false => output::head(piece, HEAD),
                };
                if phase.is_run() {
                    seen.push(index);
                }
                notes.push(RoleNote {
                    role: role.name.clone(),
                    phase,
                    host: role.host.clone(),
                    command: command_line(&spec),
                    report,
                    stdout_head: head(&output.stdout),
                    stderr_head: head(&output.stderr),
                });
                outputs.push(output);
                if self.states[index].folder != Some(job) {
                    lab.forget(job);
                }
            }
        }
        for (role, state) in self.roles.iter().zip(&self.states) {
            // What a lost host keeps goes with its agent.
            if let Some(job) = state.folder
                && let Err(LabError::Refused { why, .. }) = lab.clear(job)
                && self.trouble.is_none()
            {
                let name = format!("{} on {}", role.name, role.host);
                self.trouble = Some(Trouble::Failed(format!("{name}: its folder cannot be removed: {why}")));
            }
            if let Some(job) = state.folder {
                lab.forget(job);
            }
        }
        (notes, outputs)
    }
}

/// How long to wait for the end of a job of a host that still answers.
fn patience(spec: &JobSpec) -> Duration {
    let hashes = !spec.inputs.is_empty() || matches!(spec.stdin, Stdin::File(_));
    Duration::from_millis(spec.deadline_ms) + GRACE + if hashes { HASHING } else { Duration::ZERO }
}

/// Frames handed over per stream, as the receiver waits for it.
fn sent_line(result: Option<&Value>) -> String {
    let mut sent = BTreeMap::new();
    for (stream, counts) in
        result.and_then(|r| r.get("streams")).and_then(Value::as_object).into_iter().flatten()
    {
        sent.insert(stream.clone(), counts.get("handed").cloned().unwrap_or(Value::Null));
    }
    let mut word = serde_json::json!({ "sent": sent });
    // Whose clock stamped the frames, so that the receiver knows whether it is its own.
    if let Some(clock) = result.and_then(|r| r.get("clock")).filter(|clock| !clock.is_null()) {
        word["clock"] = clock.clone();
    }
    word.to_string()
}

fn trouble_of(error: LabError) -> Trouble {
    match error {
        LabError::Lost { .. } => Trouble::Lost(error.to_string()),
        LabError::Refused { .. } => Trouble::Failed(error.to_string()),
    }
}

fn seconds(ms: u64) -> String {
    format!("{} s", ms as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_hashes_large_inputs_is_not_taken_for_lost() {
        let mut spec = JobSpec::new(Program::Argv(vec!["x".into()]), 1000);
        assert_eq!(patience(&spec), Duration::from_secs(11));
        spec.inputs.push("/data/large".into());
        assert_eq!(patience(&spec), Duration::from_secs(611));
        (spec.inputs, spec.stdin) = (vec![], Stdin::File("/data/large".into()));
        assert_eq!(patience(&spec), Duration::from_secs(611));
    }
}
