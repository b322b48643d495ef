//! One session of an agent: a single loop over the line, the jobs and the clock.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};

use super::channel::{Inbox, Outbox};
use super::counters::Counters;
use super::identity::Digests;
use super::jobs::{Happening, Jobs};
use super::keeper::{self, Keeper};
use super::launch::{Isolation, Terms, wake_descriptor};
use super::lease::{self, Lease, LeaseError};
use super::resolve::{self, Refusal, Resolved};
use super::store::Store;
use super::workdir::{self, WorkFolder};
use super::written::Kept;
use super::{AgentArgs, EXIT_DONE, EXIT_LOST, facts};
use crate::model::change::PutBack;
use crate::model::job::{Folder, JobReport, JobSpec};
use crate::model::observed::WrittenFile;
use crate::protocol::message::{Answer, Ask, Reply, Request, VERSION, Welcome};
use crate::setting::Roots;

/// How long a workstation may take until it says hello.
const PATIENCE: Duration = Duration::from_secs(30);
/// How soon to look again for what no descriptor tells.
const RESTLESS: Duration = Duration::from_millis(20);

/// Time for hashing a job's files that the workstation is told of, since no deadline of a run counts it.
const LONG_HASHING: Duration = Duration::from_millis(100);

/// Something a helping thread has done.
enum Finding {
    /// With the time that it took.
    Resolved(u64, Duration, Result<Resolved, Refusal>),
    Reply(Reply),
    Settled(u64, Box<JobReport>, Vec<(WrittenFile, Kept)>),
}

struct Servant<'a> {
    args: &'a AgentArgs,
    outbox: Outbox,
    jobs: Jobs,
    terms: Terms,
    lease: Option<Lease>,
    work: Option<WorkFolder>,
    keeper: Option<Arc<Mutex<Keeper>>>,
    /// State of an agent whose host is its own, so that no lease of it outlives it.
    own_state: Option<tempfile::TempDir>,
    digests: Arc<Digests>,
    findings: (Sender<Finding>, Receiver<Finding>),
    wake: Arc<OwnedFd>,
    heard: Instant,
    farewell: bool,
}

/// Serves until the line ends, falls silent or says goodbye.
///
/// # Errors
/// The line failed, or a resource of the session could not be had.
pub fn serve(args: &AgentArgs) -> io::Result<i32> {
    // SAFETY: plain system calls, before any thread exists.
    unsafe {
        libc::signal(libc::SIGHUP, libc::SIG_IGN);
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
    let signals = ending_signals()?;
    let isolation = Isolation::probe();
    if isolation == Isolation::ProcessGroup {
        // SAFETY: plain system call; orphans of a killed init then come to us.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    }
    let mut inbox = Inbox::standard()?;
    let mut servant = Servant {
        args,
        outbox: Outbox::standard()?,
        jobs: Jobs::new(isolation),
        terms: Terms { isolation, lock: None, lease: PATIENCE, counters: Counters::probe() },
        lease: None,
        work: None,
        keeper: None,
        own_state: None,
        digests: Arc::default(),
        findings: mpsc::channel(),
        wake: Arc::new(wake_descriptor()?),
        heard: Instant::now(),
        farewell: false,
    };
    let status = servant.run(&mut inbox, &signals);
    servant.jobs.end_all();
    servant.put_back();
    status
}

impl Servant<'_> {
    fn run(&mut self, inbox: &mut Inbox, signals: &OwnedFd) -> io::Result<i32> {
        loop {
            let silent_for = self.heard.elapsed();
            if silent_for >= self.terms.lease {
                let silent_ms = silent_for.as_millis();
                super::complain(format_args!(
                    "the workstation was silent for {silent_ms} ms; all jobs are ended"
                ));
                return Ok(EXIT_LOST);
            }
            let mut wait = self.terms.lease - silent_for;
            if self.jobs.restless() {
                wait = wait.min(RESTLESS);
            }
            let mut watched = vec![inbox.descriptor(), self.wake.as_raw_fd(), signals.as_raw_fd()];
            self.jobs.descriptors(&mut watched);
            let ready = poll(&watched, self.outbox.descriptor(), wait)?;
            let is_ready = |fd: RawFd| ready.contains(&fd);
            if is_ready(signals.as_raw_fd()) {
                super::complain("asked by a signal to end; all jobs are ended");
                return Ok(EXIT_LOST);
            }
            if is_ready(inbox.descriptor()) {
                let Some(lines) = inbox.lines()? else { return Ok(EXIT_DONE) };
                for line in lines {
                    self.hear(&line);
                }
            }
            if is_ready(self.wake.as_raw_fd()) {
                self.take_findings();
            }
            for happening in self.jobs.turn(&is_ready, &self.terms) {
                self.report(happening);
            }
            self.outbox.flush()?;
            if self.farewell {
                self.jobs.end_all();
                return Ok(EXIT_DONE);
            }
        }
    }

    fn hear(&mut self, line: &[u8]) {
        self.heard = Instant::now();
        match serde_json::from_slice::<Request>(line) {
            Ok(Request { id, ask }) => {
                if let Some(answer) = self.answer(id, ask) {
                    self.outbox.put(&Reply { re: Some(id), answer });
                }
            }
            Err(e) => {
                let id = serde_json::from_slice::<Value>(line).ok().and_then(|v| v.get("id")?.as_u64());
                let text = format!("not a request that this agent knows: {e}");
                self.outbox.put(&Reply { re: id, answer: Answer::Fault { text } });
            }
        }
    }

    /// None when a helping thread will answer.
    fn answer(&mut self, id: u64, ask: Ask) -> Option<Answer> {
        if self.lease.is_none() && !matches!(ask, Ask::Hello { .. } | Ask::Beat | Ask::Bye) {
            return Some(Answer::Fault {
                text: "say hello first: nothing is done without the host's lease".into(),
            });
        }
        let done = |result: Result<(), String>| {
            Some(match result {
                Ok(()) => Answer::Done,
                Err(text) => Answer::Fault { text },
            })
        };
        match ask {
            Ask::Hello { version, holder, lease_ms } => Some(self.welcome(version, &holder, lease_ms)),
            Ask::Beat => {
                self.jobs.beat();
                Some(Answer::Beat)
            }
            Ask::Facts { ports, programs } => {
                let (digests, connection) = (self.digests.clone(), self.ssh_connection());
                self.help(move || {
                    let facts = facts::gather(&ports, &programs, &connection, &digests);
                    Finding::Reply(Reply { re: Some(id), answer: Answer::Facts(facts) })
                });
                None
            }
            Ask::Look { ports } => {
                let connection = self.ssh_connection();
                Some(Answer::Facts(facts::look(&ports, &connection)))
            }
            Ask::Apply { settings } => {
                if let Some(Err(holder)) = self.lease.as_ref().map(Lease::still_ours) {
                    return Some(Answer::Leased { holder });
                }
                self.keep(id, move |keeper| Answer::Applied(keeper.apply(&settings)))
            }
            Ask::Restore => self.keep(id, |keeper| Answer::Restored(keeper.put_back())),
            Ask::Settings { interfaces } => self
                .keep(id, move |keeper| Answer::Settings(keeper.seen(interfaces.iter().map(String::as_str)))),
            Ask::MakeLink { near, far, peer_pid, queues } => done(self.in_the_box().and_then(|()| {
                crate::nic::link::make_veth_with_queues(&near, &far, peer_pid, queues)
                    .map_err(|e| e.to_string())
            })),
            Ask::PortUp { interface } => done(self.in_the_box().and_then(|()| {
                crate::nic::link::bring_up("lo").map_err(|e| e.to_string())?;
                crate::nic::link::bring_up(&interface).map_err(|e| e.to_string())
            })),
            Ask::Start { job, spec } => Some(self.start(job, spec)),
            Ask::Tell { job, line } => done(self.jobs.tell(job, &line)),
            Ask::Signal { job, signal } => done(self.jobs.signal(job, signal)),
            Ask::Stop { job } => done(self.jobs.stop(job)),
            Ask::Fetch { job, stream, offset } => Some(match self.jobs.fetch(job, stream, offset) {
                Ok((data, last)) => {
                    Answer::Output { data: base64::engine::general_purpose::STANDARD.encode(data), last }
                }
                Err(text) => Answer::Fault { text },
            }),
            Ask::Have { sha256, name } => {
                self.in_store(id, move |store| Ok(Answer::Artifact { path: store.have(&sha256, &name) }))
            }
            Ask::Put { sha256, name, offset, data, last } => self.in_store(id, move |store| {
                let data = base64::engine::general_purpose::STANDARD.decode(data);
                let data = data.map_err(|e| format!("a piece of {name} is no base64: {e}"))?;
                let path = store.put(&sha256, &name, offset, &data, last)?;
                Ok(Answer::Artifact { path })
            }),
            Ask::Keep { job, cwd, pattern } => {
                let folder = cwd.map(PathBuf::from).or_else(|| Some(self.work.as_ref()?.of(job)))?;
                self.in_store(id, move |store| store.keep(&folder, &pattern).map(Answer::Kept))
            }
            Ask::Clear { job } => {
                let path = self.work.as_ref().map(|work| work.of(job))?;
                self.help(move || {
                    let answer = match workdir::remove(&path) {
                        Ok(()) => Answer::Done,
                        Err(e) => Answer::Fault { text: format!("{}: {e}", path.display()) },
                    };
                    Finding::Reply(Reply { re: Some(id), answer })
                });
                None
            }
            Ask::Forget { job } => {
                self.jobs.forget(job);
                Some(Answer::Done)
            }
            Ask::Bye => {
                self.farewell = true;
                Some(Answer::Done)
            }
        }
    }

    /// Lets the keeper of settings answer in a thread of its own: cards take seconds for some changes.
    fn keep(&self, id: u64, work: impl FnOnce(&mut Keeper) -> Answer + Send + 'static) -> Option<Answer> {
        let keeper = self.keeper.clone()?;
        self.help(move || {
            let answer = work(&mut keeper.lock().unwrap_or_else(PoisonError::into_inner));
            Finding::Reply(Reply { re: Some(id), answer })
        });
        None
    }

    /// Lets the store of artifacts answer in a thread of its own: large files take a while.
    fn in_store(
        &self,
        id: u64,
        work: impl FnOnce(&Store) -> Result<Answer, String> + Send + 'static,
    ) -> Option<Answer> {
        let store = Store::open(self.work.as_ref()?.path(), self.args.netns);
        self.help(move || {
            let answer = work(&store).unwrap_or_else(|text| Answer::Fault { text });
            Finding::Reply(Reply { re: Some(id), answer })
        });
        None
    }

    /// The last thing of a session: waits for a change that is under way, then puts all back.
    fn put_back(&mut self) {
        // Whoever overtook the lease has read the journal and has put back what is in it.
        if self.lease.as_ref().is_none_or(|lease| lease.still_ours().is_err()) {
            return;
        }
        if let Some(keeper) = &self.keeper {
            let done = keeper.lock().unwrap_or_else(PoisonError::into_inner).put_back();
            if let Some(text) = keeper::complaint(&done) {
                super::complain(text);
            }
        }
    }

    /// Of a local agent it is the environment's: whoever sits at this machine may sit there by ssh.
    fn ssh_connection(&self) -> String {
        match self.args.ssh_connection.as_str() {
            "" => std::env::var("SSH_CONNECTION").unwrap_or_default(),
            given => given.to_owned(),
        }
    }

    fn in_the_box(&self) -> Result<(), String> {
        match self.args.netns {
            true => Ok(()),
            false => {
                Err("links are made in the embedded lab only; this agent lives in the host's own network"
                    .into())
            }
        }
    }

    fn welcome(&mut self, version: u32, holder: &str, lease_ms: u64) -> Answer {
        if version != VERSION {
            return Answer::Fault {
                text: format!("protocol version: this agent speaks {VERSION}, the workstation {version}"),
            };
        }
        if self.lease.is_some() {
            return Answer::Fault { text: "hello was said already".into() };
        }
        let state = match self.state() {
            Ok(state) => state,
            Err(e) => return Answer::Fault { text: format!("no folder for the lease: {e}") },
        };
        let since = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let lease = match Lease::take(&state, holder, &since) {
            Ok(lease) => lease,
            Err(LeaseError::Held(holder)) => return Answer::Leased { holder },
            Err(e) => return Answer::Fault { text: e.to_string() },
        };
        let work = match WorkFolder::make() {
            Ok(work) => work,
            Err(e) => return Answer::Fault { text: format!("no folder for jobs to run in: {e}") },
        };
        let found = match self.open_keeper(&state) {
            Ok(found) => found,
            Err(e) => {
                return Answer::Fault { text: format!("no journal of settings in {}: {e}", state.display()) };
            }
        };
        self.terms.lease = Duration::from_millis(lease_ms.max(100));
        self.terms.lock = Some(lease.descriptor());
        let welcome = Welcome {
            version: VERSION,
            lease: lease.number,
            pid: std::process::id(),
            hostname: facts::hostname().unwrap_or_default(),
            boot_id: facts::boot_id().unwrap_or_default(),
            isolation: self.terms.isolation.name().into(),
            found,
        };
        (self.lease, self.work) = (Some(lease), Some(work));
        Answer::Welcome(welcome)
    }

    /// Before anything else is done here, what a killed agent left changed is put back.
    fn open_keeper(&mut self, state: &Path) -> io::Result<PutBack> {
        let boot_id = facts::boot_id().ok_or_else(|| io::Error::other("this host tells no boot id"))?;
        let (keeper, found) =
            Keeper::open(state, &boot_id, Roots::default(), self.ssh_connection(), self.args.netns)?;
        self.keeper = Some(Arc::new(Mutex::new(keeper)));
        Ok(found)
    }

    fn state(&mut self) -> io::Result<PathBuf> {
        match &self.args.state {
            Some(state) => Ok(state.clone()),
            None if !self.args.netns => Ok(lease::default_state()),
            None => {
                let folder = tempfile::Builder::new().prefix("fieldtrial-box-").tempdir()?;
                let path = folder.path().to_owned();
                self.own_state = Some(folder);
                Ok(path)
            }
        }
    }

    fn start(&mut self, job: u64, spec: JobSpec) -> Answer {
        if let Some(Err(holder)) = self.lease.as_ref().map(Lease::still_ours) {
            return Answer::Leased { holder };
        }
        if let Err(text) = self.jobs.admit(job, spec.clone()) {
            return Answer::Fault { text };
        }
        let shared = match (spec.folder, &self.work) {
            (Folder::Of(first), Some(work)) if spec.cwd.is_none() => Some(work.of(first)),
            _ => None,
        };
        match resolve::resolve_at_once(&spec, shared.as_deref(), &self.digests) {
            Ok(Some(resolved)) => self.begin(job, Ok(resolved)),
            Err(refusal) => self.begin(job, Err(refusal)),
            Ok(None) => {
                let (digests, began) = (self.digests.clone(), Instant::now());
                self.help(move || {
                    let resolved = resolve::resolve(&spec, shared.as_deref(), &digests);
                    Finding::Resolved(job, began.elapsed(), resolved)
                });
            }
        }
        Answer::Done
    }

    fn begin(&mut self, job: u64, resolved: Result<Resolved, Refusal>) {
        let Some(work) = &self.work else { return };
        if let Some(happening) = self.jobs.begin(job, resolved, work, &self.terms) {
            self.report(happening);
        }
    }

    fn report(&mut self, happening: Happening) {
        match happening {
            Happening::Said { job, event } => {
                self.outbox.put(&Reply { re: None, answer: Answer::Event { job, event } })
            }
            Happening::Ended { job, report, rest: None } => self.ended(job, report),
            // Before the end is told, so that reading and removing do not disturb the next run.
            Happening::Ended { job, report, rest: Some(rest) } => {
                self.help(move || Finding::Settled(job, report, rest.settle()));
            }
        }
    }

    fn ended(&mut self, job: u64, report: Box<JobReport>) {
        self.outbox.put(&Reply { re: None, answer: Answer::Ended { job, report } });
    }

    fn take_findings(&mut self) {
        let mut count = [0u8; 8];
        // SAFETY: reads the eight bytes of an eventfd that we own.
        unsafe { libc::read(self.wake.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        while let Ok(finding) = self.findings.1.try_recv() {
            match finding {
                Finding::Resolved(job, took, resolved) => {
                    if took >= LONG_HASHING {
                        let event = json!({"event": "identified", "took_ms": took.as_millis() as u64});
                        self.outbox.put(&Reply { re: None, answer: Answer::Event { job, event } });
                    }
                    self.begin(job, resolved);
                }
                Finding::Reply(reply) => self.outbox.put(&reply),
                Finding::Settled(job, mut report, files) => {
                    let (files, kept) = files.into_iter().unzip();
                    report.files = files;
                    self.jobs.keep(job, kept);
                    self.ended(job, report);
                }
            }
        }
    }

    /// Work that may take long goes to a thread of its own, so that heartbeats are answered meanwhile.
    fn help(&self, work: impl FnOnce() -> Finding + Send + 'static) {
        let (sender, wake) = (self.findings.0.clone(), self.wake.clone());
        std::thread::spawn(move || {
            let finding = work();
            if sender.send(finding).is_ok() {
                // SAFETY: writes the eight bytes of an eventfd that lives as long as `wake`.
                unsafe { libc::write(wake.as_raw_fd(), 1u64.to_ne_bytes().as_ptr().cast(), 8) };
            }
        });
    }
}

/// SIGTERM and SIGINT as something to read: an agent ends in order, and leaves no folder behind.
fn ending_signals() -> io::Result<OwnedFd> {
    // SAFETY: plain system calls on a local set; the descriptor returned is ours. A job's main process
    // starts with an empty mask.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGTERM);
        libc::sigaddset(&mut set, libc::SIGINT);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            fd if fd < 0 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Descriptors out of `watched` that have something to read or were closed, after `wait` at most.
fn poll(watched: &[RawFd], writing: Option<RawFd>, wait: Duration) -> io::Result<Vec<RawFd>> {
    let entry = |fd: RawFd, events| libc::pollfd { fd, events, revents: 0 };
    let mut fds: Vec<libc::pollfd> = watched.iter().map(|fd| entry(*fd, libc::POLLIN)).collect();
    fds.extend(writing.map(|fd| entry(fd, libc::POLLOUT)));
    // Rounded up, so that a wait for less than a millisecond does not spin.
    let millis = wait.as_millis().min(3_600_000) as libc::c_int + 1;
    // SAFETY: the list lives across the call and has the length given.
    let n = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, millis) };
    match n {
        n if n < 0 => match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::Interrupted => Ok(vec![]),
            e => Err(e),
        },
        _ => Ok(fds.iter().take(watched.len()).filter(|f| f.revents != 0).map(|f| f.fd).collect()),
    }
}
