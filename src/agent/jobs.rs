//! The jobs of an agent and the states they pass through.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde_json::Value;

use super::account;
use super::capture::{Capture, Drained};
use super::counters::Counted;
use super::launch::{self, Isolation, Running, Terms};
use super::processors;
use super::readiness::{self, Readiness};
use super::resolve::{Refusal, Resolved};
use super::verdict::Verdict;
use super::workdir::{self, WorkFolder};
use super::written::{self, Kept, Stamp};
use crate::model::job::{End, Folder, JobReport, JobSpec};
use crate::model::observed::WrittenFile;
use crate::protocol::message::{CHUNK, Stream};

/// Jobs that an agent remembers; the workstation forgets each after reading its output.
const MOST_JOBS: usize = 4096;
/// Largest single read from a job's output.
const READ_BYTES: usize = 256 * 1024;
/// Reads per stream and turn, so that a job that floods its output cannot keep heartbeats waiting.
const READS_PER_TURN: usize = 16;
/// Enough to empty any pipe whose writers are gone; a writer outside the tree shall not hold us up.
const READS_AT_END: usize = 1024;

enum State {
    /// Its files are being hashed; true when it was stopped meanwhile.
    Reading(Box<JobSpec>, bool),
    Running(Box<Live>),
    /// The two streams, then the files that were asked for.
    Ended(Vec<Kept>),
}

struct Live {
    running: Running,
    resolved: Resolved,
    /// Fresh folder to remove at the end.
    fresh: Option<PathBuf>,
    folder: PathBuf,
    files: Vec<String>,
    before: Vec<Option<Stamp>>,
    keep_bytes: u64,
    cpus: Option<Vec<u32>>,
    counted: Counted,
    /// Until it has been told whether the job is ready.
    readiness: Option<Readiness>,
    /// The init closed its pipe without a verdict: it was killed, and the kernel is killing the tree.
    orphaned: bool,
}

/// What a turn brought.
pub enum Happening {
    Said { job: u64, event: Value },
    Ended { job: u64, report: Box<JobReport>, rest: Option<Rest> },
}

/// What is still to be done for an ended job and may take long.
pub struct Rest {
    folder: PathBuf,
    files: Vec<String>,
    before: Vec<Option<Stamp>>,
    keep_bytes: u64,
    remove: bool,
}

impl Rest {
    /// Reads the files that were asked for, then removes what the job left in its folder.
    pub fn settle(self) -> Vec<(WrittenFile, Kept)> {
        let files = written::collect(&self.folder, &self.files, &self.before, self.keep_bytes);
        if self.remove {
            // What cannot be removed now goes with the agent's whole work folder.
            let _ = fs::remove_dir_all(self.folder);
        }
        files
    }
}

/// All jobs of a session, by number.
pub struct Jobs {
    all: BTreeMap<u64, State>,
    buffer: Vec<u8>,
    /// Inits that have handed over and are about to end.
    unreaped: Vec<libc::pid_t>,
    isolation: Isolation,
}

impl Jobs {
    /// No jobs yet.
    pub fn new(isolation: Isolation) -> Jobs {
        Jobs { all: BTreeMap::new(), buffer: vec![0; READ_BYTES], unreaped: vec![], isolation }
    }

    /// Notes a job whose files are still to be identified.
    ///
    /// # Errors
    /// The number is taken, or too many are remembered.
    pub fn admit(&mut self, job: u64, spec: JobSpec) -> Result<(), String> {
        if self.all.contains_key(&job) {
            return Err(format!("job {job} exists already; numbers are used once"));
        }
        if self.all.len() >= MOST_JOBS {
            return Err(format!("{MOST_JOBS} jobs are remembered already; forget some"));
        }
        self.all.insert(job, State::Reading(Box::new(spec), false));
        Ok(())
    }

    /// Starts an admitted job, or ends it where it cannot be; to be called from the main thread.
    pub fn begin(
        &mut self,
        job: u64,
        resolved: Result<Resolved, Refusal>,
        work: &WorkFolder,
        terms: &Terms,
    ) -> Option<Happening> {
        let Some(State::Reading(spec, stopped)) = self.all.remove(&job) else { return None };
        let refused = |refusal, end| {
            let report = account::of_refusal(refusal, end, terms.isolation);
            Happening::Ended { job, report: Box::new(report), rest: None }
        };
        let outcome = match resolved {
            Err(refusal) => Err(refused(refusal, stopped.then_some(End::Stopped))),
            Ok(r) if stopped => {
                Err(refused(Refusal { argv: r.argv, why: String::new() }, Some(End::Stopped)))
            }
            Ok(resolved) => {
                let argv = resolved.argv.clone();
                let taken: Vec<u32> = self.live().filter_map(|live| live.cpus.clone()).flatten().collect();
                start(job, &spec, resolved, work, terms, &taken)
                    .map_err(|why| refused(Refusal { argv, why }, None))
            }
        };
        match outcome {
            Ok(live) => {
                self.all.insert(job, State::Running(Box::new(live)));
                None
            }
            Err(ended) => {
                self.all.insert(job, State::Ended(vec![(None, 0), (None, 0)]));
                Some(ended)
            }
        }
    }

    /// Descriptors worth waiting for.
    pub fn descriptors(&self, out: &mut Vec<RawFd>) {
        for live in self.live() {
            if !live.orphaned {
                out.push(live.running.verdict.as_raw_fd());
            }
            out.extend(live.running.stdout.descriptor());
            out.extend(live.running.stderr.descriptor());
        }
    }

    /// True while something is to be looked at again soon without any descriptor telling.
    pub fn restless(&self) -> bool {
        !self.unreaped.is_empty() || self.live().any(|l| l.orphaned || l.readiness.is_some())
    }

    /// Drains outputs and takes up verdicts; `ready` tells which descriptors have something.
    pub fn turn(&mut self, ready: &dyn Fn(RawFd) -> bool, terms: &Terms) -> Vec<Happening> {
        self.unreaped.retain(|pid| !reaped(*pid));
        let mut happenings = vec![];
        let numbers: Vec<u64> =
            self.all.iter().filter(|(_, s)| matches!(s, State::Running(_))).map(|(n, _)| *n).collect();
        for job in numbers {
            let Some(State::Running(live)) = self.all.get_mut(&job) else { continue };
            let buffer = &mut self.buffer;
            let mut told = vec![];
            let mut say = |event| told.push(event);
            for stream in [&mut live.running.stdout, &mut live.running.stderr] {
                if stream.descriptor().is_some_and(ready) {
                    drain(stream, buffer, READS_PER_TURN, &mut say);
                }
            }
            readiness::look(&mut live.readiness, &mut told);
            happenings.extend(told.drain(..).map(|event| Happening::Said { job, event }));
            let mut say = |event| happenings.push(Happening::Said { job, event });
            let verdict = match ready(live.running.verdict.as_raw_fd()) && !live.orphaned {
                true => read_verdict(&mut live.running),
                false => None,
            };
            if verdict.is_none() && ready(live.running.verdict.as_raw_fd()) {
                live.orphaned = true;
            }
            let over = verdict.is_some() || (live.orphaned && self.isolation.swept(live.running.init));
            if over && let Some(State::Running(mut live)) = self.all.remove(&job) {
                if verdict.is_some() {
                    self.unreaped.push(live.running.init);
                }
                drain(&mut live.running.stdout, buffer, READS_AT_END, &mut say);
                drain(&mut live.running.stderr, buffer, READS_AT_END, &mut say);
                let (ended, kept) = close(job, *live, verdict, terms, &mut say);
                self.all.insert(job, State::Ended(kept));
                happenings.push(ended);
            }
        }
        happenings
    }

    /// Passes a heartbeat on to every init.
    pub fn beat(&mut self) {
        self.live_mut().for_each(|l| l.running.beat());
    }

    /// # Errors
    /// No such job runs.
    pub fn stop(&mut self, job: u64) -> Result<(), String> {
        match self.all.get_mut(&job) {
            Some(State::Running(live)) => live.running.stop(),
            Some(State::Reading(_, stopped)) => *stopped = true,
            Some(State::Ended(_)) => {}
            None => return Err(unknown(job)),
        }
        Ok(())
    }

    /// # Errors
    /// No such job runs, or the number is no signal.
    pub fn signal(&mut self, job: u64, signal: i32) -> Result<(), String> {
        match self.all.get_mut(&job) {
            _ if !(1..=64).contains(&signal) => return Err(format!("{signal} is no signal")),
            Some(State::Running(live)) => live.running.signal(signal),
            Some(State::Reading(..)) => return Err(format!("job {job} has not started yet")),
            Some(State::Ended(_)) => {}
            None => return Err(unknown(job)),
        }
        Ok(())
    }

    /// # Errors
    /// No such job runs, or it cannot be told anything.
    pub fn tell(&mut self, job: u64, line: &str) -> Result<(), String> {
        match self.all.get_mut(&job) {
            Some(State::Running(live)) => live.running.tell(line),
            Some(_) => Err(format!("job {job} is not running")),
            None => Err(unknown(job)),
        }
    }

    /// Kept bytes from `offset`, and whether they are the last.
    ///
    /// # Errors
    /// The job is unknown or has not ended.
    pub fn fetch(&self, job: u64, stream: Stream, offset: u64) -> Result<(Vec<u8>, bool), String> {
        let Some(State::Ended(kept)) = self.all.get(&job) else {
            return Err(if self.all.contains_key(&job) {
                format!("job {job} has not ended yet")
            } else {
                unknown(job)
            });
        };
        let place = match stream {
            Stream::Stdout => 0,
            Stream::Stderr => 1,
            Stream::File(number) => number as usize + 2,
        };
        let Some((file, bytes)) = kept.get(place) else {
            return Err(format!("job {job} was asked for no such file"));
        };
        let wanted = bytes.saturating_sub(offset).min(CHUNK as u64) as usize;
        let mut data = vec![0; wanted];
        if let Some(file) = file {
            file.read_exact_at(&mut data, offset).map_err(|e| format!("kept output of job {job}: {e}"))?;
        }
        Ok((data, offset.saturating_add(wanted as u64) >= *bytes))
    }

    /// Keeps files of an ended job, to be fetched like its streams.
    pub fn keep(&mut self, job: u64, files: Vec<Kept>) {
        if let Some(State::Ended(kept)) = self.all.get_mut(&job) {
            kept.extend(files);
        }
    }

    /// Drops what is kept of an ended job; one that still runs goes on.
    pub fn forget(&mut self, job: u64) {
        if matches!(self.all.get(&job), Some(State::Ended(_))) {
            self.all.remove(&job);
        }
    }

    /// Ends every job and waits until the trees are gone, a few seconds at most.
    pub fn end_all(&mut self) {
        let mut inits = std::mem::take(&mut self.unreaped);
        for (_, state) in std::mem::take(&mut self.all) {
            if let State::Running(live) = state {
                inits.push(live.running.init);
                // Dropping closes the pipe of life, which is the order to end.
            }
        }
        for _ in 0..1000 {
            inits.retain(|pid| !self.isolation.swept(*pid));
            if inits.is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    fn live(&self) -> impl Iterator<Item = &Live> {
        self.all.values().filter_map(|s| if let State::Running(live) = s { Some(&**live) } else { None })
    }

    fn live_mut(&mut self) -> impl Iterator<Item = &mut Live> {
        self.all
            .values_mut()
            .filter_map(|s| if let State::Running(live) = s { Some(&mut **live) } else { None })
    }
}

fn unknown(job: u64) -> String {
    format!("job {job} is unknown here: never started, or forgotten")
}

fn start(
    job: u64,
    spec: &JobSpec,
    resolved: Resolved,
    work: &WorkFolder,
    terms: &Terms,
    taken: &[u32],
) -> Result<Live, String> {
    let choose = |cpus| processors::choose(cpus, &processors::allowed(), taken);
    let cpus = spec.cpus.as_ref().map(choose).transpose()?;
    let readiness = Readiness::new(spec)?;
    let folder = |made: io::Result<PathBuf>| {
        made.map_err(|e| format!("a fresh folder below {}: {e}", work.path().display()))
    };
    let (cwd, fresh) = match (&spec.cwd, spec.folder) {
        (Some(cwd), _) => (PathBuf::from(cwd), None),
        (None, Folder::Own) => {
            let path = folder(work.fresh(job))?;
            (path.clone(), Some(path))
        }
        (None, Folder::Kept) => (folder(work.fresh(job))?, None),
        (None, Folder::Of(first)) => (folder(work.kept(first))?, None),
    };
    let (files, before) = (spec.files.clone(), written::stamps(&cwd, &spec.files));
    let counted = Counted::of(spec, &terms.counters);
    match launch::launch(spec, &resolved, &cwd, terms, cpus.as_deref(), &counted) {
        Ok(running) => Ok(Live {
            running,
            resolved,
            fresh,
            folder: cwd,
            files,
            before,
            keep_bytes: spec.keep_bytes,
            cpus,
            counted,
            readiness,
            orphaned: false,
        }),
        Err(why) => {
            if let Some(path) = fresh {
                workdir::remove_if_empty(&path);
            }
            Err(why)
        }
    }
}

fn drain(stream: &mut Capture, buffer: &mut [u8], times: usize, say: &mut dyn FnMut(Value)) {
    for _ in 0..times {
        match stream.drain(buffer, say) {
            Drained::More => {}
            Drained::Empty | Drained::Closed => return,
        }
    }
}

fn read_verdict(running: &mut Running) -> Option<Verdict> {
    let mut bytes = [0; size_of::<Verdict>()];
    let n = running.verdict.read(&mut bytes).unwrap_or(0);
    Verdict::from_bytes(&bytes[..n])
}

fn close(
    job: u64,
    mut live: Live,
    verdict: Option<Verdict>,
    terms: &Terms,
    say: &mut dyn FnMut(Value),
) -> (Happening, Vec<Kept>) {
    let streams = [live.running.stdout.finish(say), live.running.stderr.finish(say)];
    let wall_ns = live.running.started.elapsed().as_nanos() as u64;
    let mut report = account::of_run(live.resolved, verdict, wall_ns, streams, terms.isolation);
    report.result = live.running.stdout.last_event();
    report.cpus = live.cpus;
    report.figures.absent = live.counted.absent(&report.figures);
    let left = |path: &PathBuf| !workdir::remove_if_empty(path) && fs::symlink_metadata(path).is_ok();
    let remove = live.fresh.as_ref().is_some_and(left);
    let Live { folder, files, before, keep_bytes, .. } = live;
    let rest = (remove || !files.is_empty()).then_some(Rest { folder, files, before, keep_bytes, remove });
    let ended = Happening::Ended { job, report: Box::new(report), rest };
    (ended, vec![live.running.stdout.into_kept(), live.running.stderr.into_kept()])
}

fn reaped(pid: libc::pid_t) -> bool {
    // SAFETY: plain system call; only our own children have such numbers.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) != 0 }
}

impl Isolation {
    /// True when the init is gone and with it, as far as this isolation can tell, its tree.
    fn swept(self, init: libc::pid_t) -> bool {
        if !reaped(init) {
            return false;
        }
        if self == Isolation::ProcessGroup {
            super::sweep::kill_marked_orphans();
        }
        true
    }
}
