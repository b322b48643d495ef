//! One build on one host: run once, its log kept, its product an artifact.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use super::command::job_program;
use super::lab::{JobId, Lab, LabEvent};
use super::paste::command_line;
use super::watch::Stop;
use super::workshop::{Noting, Unequipped, Workshop, first_line, of_lab, refused, spec};
use crate::evidence::event::{BuildNote, Event};
use crate::model::digest;
use crate::model::job::{End, FileId, Folder, JobReport, JobSpec, Program};
use crate::model::role::{Build, RoleWork, Source};

/// Of each stream of a build's output, kept for its log, in bytes.
const LOG: usize = 4 * 1024 * 1024;
const LOGS: &str = "builds";
/// The agent keeps the deadline; this much more is allowed before the host counts as lost.
const GRACE: Duration = Duration::from_secs(15);
/// How long a toolchain may take to say what it is.
const TOOLCHAIN_MS: u64 = 30_000;
/// Last lines of a log that stand beside a failure.
const LAST: usize = 8;

impl Workshop {
    /// What the build of a role keeps, which is made at its first asking.
    pub(super) fn build(
        &mut self,
        lab: &mut dyn Lab,
        role: &RoleWork,
        build: &Build,
        note: &mut Noting<'_>,
        stop: &dyn Fn() -> Stop,
    ) -> io::Result<Result<Option<FileId>, Unequipped>> {
        let wanted = role.artifact.as_ref().filter(|artifact| artifact.from == Source::Build);
        let pattern = wanted.map(|artifact| artifact.place.as_str());
        let key = digest::of_bytes(format!("{build:?} {pattern:?}").as_bytes());
        let place = (role.host.clone(), key.clone());
        if let Some(known) = self.built.get(&place) {
            return Ok(known.clone().map_err(refused));
        }
        if let Some(file) = self.earlier.get(&place).cloned() {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            match lab.have(&role.host, &file.sha256, name) {
                Ok(Some(path)) => {
                    let file = FileId { path, ..file };
                    self.built.insert(place, Ok(Some(file.clone())));
                    return Ok(Ok(Some(file)));
                }
                Ok(None) => {}
                Err(why) => return Ok(Err(of_lab(why))),
            }
        }
        let toolchain = match &build.toolchain {
            Some(words) => {
                let ask = JobSpec {
                    env: build.env.clone(),
                    cwd: build.cwd.clone(),
                    ..spec(Program::Argv(words.clone()), TOOLCHAIN_MS)
                };
                match first_line(lab, &role.host, ask, stop) {
                    Ok(line) => line,
                    Err(why) => return Ok(Err(why.about("the toolchain does not say what it is"))),
                }
            }
            None => None,
        };
        let job_spec = JobSpec {
            env: build.env.clone(),
            cwd: build.cwd.clone(),
            keep_bytes: LOG as u64,
            folder: Folder::Kept,
            ..JobSpec::new(job_program(&build.program), build.timeout_ms)
        };
        let (job, report) = match finished(lab, &role.host, &job_spec, stop) {
            Ok(ended) => ended,
            Err(why) => return Ok(Err(why)),
        };
        let log = lab.heads(job, LOG).map(|(out, err)| [out, err].concat()).unwrap_or_default();
        let made = match &report.end {
            End::Exited(0) => match pattern {
                Some(pattern) => lab.keep(job, build.cwd.as_deref(), pattern).map(Some).map_err(of_lab),
                None => Ok(None),
            },
            end => Err(refused(failure(role, build, end, &log))),
        };
        if build.cwd.is_none() {
            let _ = lab.clear(job);
        }
        lab.forget(job);
        let made = match made {
            Ok(made) => Ok(made),
            Err(Unequipped::Refused(_, why)) => Err(why.reason),
            Err(other) => return Ok(Err(other)),
        };
        let name = format!("{LOGS}/{}-{}.log", role.host, &key[..12]);
        let kept = self.keep_log(&name, &log)?;
        note(Event::Built(BuildNote {
            host: role.host.clone(),
            key,
            command: command_line(&job_spec),
            toolchain,
            target: build.target.clone(),
            profile: build.profile.clone(),
            log: kept.then_some(name),
            log_bytes: report.stdout.bytes + report.stderr.bytes,
            wall_ns: report.wall_ns,
            failure: made.as_ref().err().cloned(),
            output: made.as_ref().ok().cloned().flatten(),
        }))?;
        self.built.insert(place, made.clone());
        Ok(made.map_err(refused))
    }

    /// Standard output, then standard error, as one file of the record.
    fn keep_log(&self, name: &str, log: &[u8]) -> io::Result<bool> {
        let Some(record) = &self.record else { return Ok(false) };
        fs::create_dir_all(record.join(LOGS))?;
        fs::write(record.join(name), log)?;
        Ok(true)
    }
}

/// Runs a job to its end, or stops it where that is asked for.
fn finished(
    lab: &mut dyn Lab,
    host: &str,
    spec: &JobSpec,
    stop: &dyn Fn() -> Stop,
) -> Result<(JobId, JobReport), Unequipped> {
    let job = lab.start(host, spec.clone()).map_err(of_lab)?;
    let limit = Instant::now() + Duration::from_millis(spec.deadline_ms) + GRACE;
    let mut stopping = false;
    loop {
        if stop() == Stop::Now && !stopping {
            stopping = true;
            lab.stop(job).map_err(of_lab)?;
        }
        match lab.next(Duration::from_millis(50)) {
            Some(LabEvent::Ended { job: ended, .. }) if ended == job && stopping => {
                return Err(Unequipped::Interrupted);
            }
            Some(LabEvent::Ended { job: ended, report }) if ended == job => return Ok((job, *report)),
            Some(LabEvent::Lost { host: lost, why }) if lost == host => {
                return Err(Unequipped::Lost(format!("host {host} is lost: {why}")));
            }
            None if Instant::now() > limit => {
                return Err(Unequipped::Lost(format!("host {host}: its agent reported no end of the build")));
            }
            _ => {}
        }
    }
}

fn failure(role: &RoleWork, build: &Build, end: &End, log: &[u8]) -> String {
    let how = match end {
        End::Exited(status) => format!("exit status {status}"),
        End::Signalled(signal) => format!("killed by signal {signal}"),
        End::TimedOut => format!("still running after {} s", build.timeout_ms as f64 / 1e3),
        End::Stopped => "stopped".to_owned(),
        End::NotStarted(why) => format!("not started: {why}"),
    };
    let text = String::from_utf8_lossy(log);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(LAST)..].iter().map(|line| format!("\n  {line}"));
    format!("the build of {} on {} failed: {how}{}", role.name, role.host, last.collect::<String>())
}
