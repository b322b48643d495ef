//! One pass of a cell: its roles started in order, watched, ended, and reported.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::lab::{JobId, Lab, LabError, LabEvent};
use super::paste::command_line;
use super::watch::Stop;
use crate::evidence::event::RoleNote;
use crate::model::job::{End, JobReport, JobSpec, Stdin};

/// One role of a pass.
#[derive(Debug, Clone)]
pub struct Role {
    pub name: &'static str,
    pub host: String,
    pub spec: JobSpec,
    /// Started only when all of these earlier roles, by index, have said that they are ready.
    pub after: Vec<usize>,
    /// When all of these roles have ended well, the result of the first is told to this one, which then
    /// ends. Empty: it ends by itself.
    pub told_by: Vec<usize>,
}

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
    pub roles: Vec<RoleNote>,
    pub trouble: Option<Trouble>,
    pub elapsed: Duration,
}

/// The agent keeps the deadline; we allow it this much more before we call the host lost.
const GRACE: Duration = Duration::from_secs(10);
/// More again where files are hashed on the host first, which its deadline does not count.
const HASHING: Duration = Duration::from_secs(600);
/// Kept of each stream for reading, in bytes.
const HEAD: usize = 2048;

/// Runs every role to its end. Nothing of the pass is left on any host when it returns, unless the
/// host is lost, and then its own lease ends what ran there.
pub fn run(lab: &mut dyn Lab, roles: &[Role], stop: &dyn Fn() -> Stop) -> PassEnd {
    let began = Instant::now();
    let mut pass = Pass {
        roles,
        jobs: vec![None; roles.len()],
        ready: vec![false; roles.len()],
        reports: vec![None; roles.len()],
        trouble: None,
        limit: began + roles.iter().map(|r| patience(&r.spec)).max().unwrap_or(GRACE),
    };
    pass.start_all(lab, stop);
    pass.wait_for_ends(lab, stop);
    let elapsed = began.elapsed();
    PassEnd { roles: pass.notes(lab), trouble: pass.trouble, elapsed }
}

struct Pass<'a> {
    roles: &'a [Role],
    jobs: Vec<Option<JobId>>,
    ready: Vec<bool>,
    reports: Vec<Option<JobReport>>,
    trouble: Option<Trouble>,
    limit: Instant,
}

impl Pass<'_> {
    fn start_all(&mut self, lab: &mut dyn Lab, stop: &dyn Fn() -> Stop) {
        for index in 0..self.roles.len() {
            let role = &self.roles[index];
            while self.trouble.is_none() && role.after.iter().any(|awaited| !self.ready[*awaited]) {
                self.step(lab, stop);
            }
            if self.trouble.is_some() {
                return;
            }
            match lab.start(&role.host, role.spec.clone()) {
                Ok(job) => self.jobs[index] = Some(job),
                Err(error) => self.in_trouble(lab, trouble_of(error)),
            }
        }
    }

    fn wait_for_ends(&mut self, lab: &mut dyn Lab, stop: &dyn Fn() -> Stop) {
        while self.jobs.iter().zip(&self.reports).any(|(job, report)| job.is_some() && report.is_none()) {
            if matches!(self.trouble, Some(Trouble::Lost(_))) {
                return;
            }
            self.step(lab, stop);
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
                let silent = self.roles.iter().zip(&self.reports).find(|(_, r)| r.is_none());
                let host = silent.map_or("?", |(role, _)| &role.host);
                let why = "its agent reported no end of the job within the deadline and its grace";
                self.trouble = Some(Trouble::Lost(format!("host {host}: {why}")));
            }
            None => {}
        }
    }

    fn said(&mut self, lab: &mut dyn Lab, job: JobId, event: &Value) {
        let Some(index) = self.index_of(job) else { return };
        match event.get("event").and_then(Value::as_str) {
            Some("ready") => self.ready[index] = true,
            Some("fault") => {
                let why = event.get("why").and_then(Value::as_str).unwrap_or("no reason given");
                let role = &self.roles[index];
                let why = format!("{} on {}: {why}", role.name, role.host);
                let refused = event.get("refused").and_then(Value::as_bool) == Some(true);
                self.in_trouble(lab, if refused { Trouble::Refused(why) } else { Trouble::Failed(why) });
            }
            _ => {}
        }
    }

    fn ended(&mut self, lab: &mut dyn Lab, job: JobId, report: JobReport) {
        let Some(index) = self.index_of(job) else { return };
        let role = &self.roles[index];
        let name = format!("{} on {}", role.name, role.host);
        let trouble = match &report.end {
            End::Exited(0) => None,
            End::Exited(127) if matches!(role.spec.program, crate::model::job::Program::Shell(_)) => {
                Some(Trouble::Failed(format!("{name}: command not found (exit status 127)")))
            }
            End::Exited(status) => Some(Trouble::Failed(format!("{name}: exit status {status}"))),
            End::Signalled(signal) => Some(Trouble::Failed(format!("{name}: killed by signal {signal}"))),
            End::TimedOut => Some(Trouble::TimedOut(format!(
                "{name}: still running after {}",
                seconds(role.spec.deadline_ms)
            ))),
            End::Stopped => Some(Trouble::Interrupted(format!("{name}: stopped"))),
            End::NotStarted(why) => Some(Trouble::Failed(format!("{name}: not started: {why}"))),
        };
        self.reports[index] = Some(report);
        match trouble {
            Some(trouble) => self.in_trouble(lab, trouble),
            None => self.tell_followers(lab, index),
        }
    }

    fn tell_followers(&mut self, lab: &mut dyn Lab, ended: usize) {
        let well = |index: &usize| {
            self.reports[*index]
                .as_ref()
                .filter(|report| report.end == End::Exited(0))
                .map(|r| r.result.clone())
        };
        for (index, role) in self.roles.iter().enumerate() {
            if role.told_by.contains(&ended)
                && let Some(results) = role.told_by.iter().map(well).collect::<Option<Vec<_>>>()
                && let Some(job) = self.jobs[index]
                && self.reports[index].is_none()
                && let Err(error) = lab.tell(job, &sent_line(results.into_iter().flatten().next().as_ref()))
            {
                self.in_trouble(lab, trouble_of(error));
                return;
            }
        }
    }

    /// The first trouble stands; every job that still runs is stopped.
    fn in_trouble(&mut self, lab: &mut dyn Lab, trouble: Trouble) {
        if self.trouble.is_some() {
            return;
        }
        self.trouble = Some(trouble);
        for (job, report) in self.jobs.iter().zip(&self.reports) {
            if let (Some(job), None) = (job, report) {
                // A host that cannot be told is lost, and its lease ends the job there.
                let _ = lab.stop(*job);
            }
        }
    }

    fn index_of(&self, job: JobId) -> Option<usize> {
        self.jobs.iter().position(|j| *j == Some(job))
    }

    fn notes(&mut self, lab: &mut dyn Lab) -> Vec<RoleNote> {
        let mut notes = Vec::new();
        for (index, role) in self.roles.iter().enumerate() {
            let (Some(job), Some(report)) = (self.jobs[index], self.reports[index].take()) else { continue };
            let kept = report.stdout.kept + report.stderr.kept > 0;
            let quiet = role.spec.speaks_events && report.end == End::Exited(0);
            let (out, err) =
                if kept && !quiet { lab.heads(job, HEAD).unwrap_or_default() } else { Default::default() };
            lab.forget(job);
            notes.push(RoleNote {
                role: role.name.into(),
                host: role.host.clone(),
                command: command_line(&role.spec),
                report,
                stdout_head: String::from_utf8_lossy(&out).into_owned(),
                stderr_head: String::from_utf8_lossy(&err).into_owned(),
            });
        }
        notes
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
    use crate::model::job::Program;

    #[test]
    fn a_host_that_hashes_large_inputs_is_not_taken_for_lost() {
        let mut spec = JobSpec {
            program: Program::Argv(vec!["x".into()]),
            env: BTreeMap::new(),
            cwd: None,
            stdin: Stdin::Empty,
            inputs: vec![],
            deadline_ms: 1000,
            keep_bytes: 0,
            speaks_events: false,
        };
        assert_eq!(patience(&spec), Duration::from_secs(11));
        spec.inputs.push("/data/large".into());
        assert_eq!(patience(&spec), Duration::from_secs(611));
        (spec.inputs, spec.stdin) = (vec![], Stdin::File("/data/large".into()));
        assert_eq!(patience(&spec), Duration::from_secs(611));
    }
}
