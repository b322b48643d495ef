//! What the agent's tests share: a lab of one host, jobs, and the search for left-over processes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fieldtrial::conduct::lab::{JobId, Lab, LabEvent};
use fieldtrial::model::job::{JobReport, JobSpec, Program};
use fieldtrial::remote::error::ConnectError;
use fieldtrial::remote::fleet::Fleet;
use fieldtrial::remote::local;
use fieldtrial::remote::session::Session;

pub const EXE: &str = env!("CARGO_BIN_EXE_fieldtrial");

/// The program under test; a copy of it where a test runs as a user who cannot enter the build folder.
pub fn exe() -> PathBuf {
    std::env::var_os("FIELDTRIAL_TEST_EXE").map_or_else(|| PathBuf::from(EXE), PathBuf::from)
}

const MARK: &str = "FIELDTRIAL_TEST_TOKEN";

/// Sets itself apart in every way that a group or a hang-up would miss.
pub const NASTY: &str = "setsid sleep 300 & (setsid sh -c 'trap \"\" TERM HUP INT; sleep 300; sleep 300' &); \
     nohup sleep 300 >/dev/null 2>&1 & trap '' TERM; echo up; sleep 300; sleep 300";

/// One local agent with a lease of its own.
pub struct Scene {
    pub fleet: Fleet,
    pub state: tempfile::TempDir,
    pub token: String,
}

pub fn connect(state: &Path, lease_ms: u64) -> Result<Session, ConnectError> {
    let args = ["--state".to_owned(), state.to_string_lossy().into_owned()];
    local::connect("here", &exe(), &args, "tester on desk", Duration::from_millis(lease_ms))
}

pub fn token() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("t{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Scene {
    pub fn open(lease_ms: u64) -> Scene {
        let state = tempfile::tempdir().expect("a temporary folder");
        let mut fleet = Fleet::new();
        fleet.add("here", connect(state.path(), lease_ms).expect("a local agent starts"));
        Scene { fleet, state, token: token() }
    }

    pub fn shell(&self, text: &str) -> JobSpec {
        self.spec(Program::Shell(text.into()))
    }

    pub fn argv(&self, words: &[&str]) -> JobSpec {
        self.spec(Program::Argv(words.iter().map(|w| (*w).to_owned()).collect()))
    }

    fn spec(&self, program: Program) -> JobSpec {
        spec(program, &self.token)
    }

    pub fn start(&mut self, spec: JobSpec) -> JobId {
        self.fleet.start("here", spec).expect("the agent takes the job")
    }

    /// Runs to the end: the job, its report and its events.
    pub fn run(&mut self, spec: JobSpec) -> (JobId, JobReport, Vec<serde_json::Value>) {
        let job = self.start(spec);
        let (report, said) = ended(&mut self.fleet, job);
        (job, report, said)
    }

    pub fn stdout(&mut self, job: JobId) -> String {
        let (out, _) = self.fleet.heads(job, 1 << 20).expect("output of an ended job");
        String::from_utf8_lossy(&out).into_owned()
    }

    pub fn agent_pid(&self) -> i32 {
        self.fleet.welcome("here").expect("the host was added").pid as i32
    }
}

pub fn spec(program: Program, token: &str) -> JobSpec {
    let env = BTreeMap::from([(MARK.to_owned(), token.to_owned())]);
    JobSpec { env, keep_bytes: 1 << 16, ..JobSpec::new(program, 60_000) }
}

pub fn ended(fleet: &mut Fleet, job: JobId) -> (JobReport, Vec<serde_json::Value>) {
    let mut said = vec![];
    loop {
        match fleet.next(Duration::from_secs(30)) {
            Some(LabEvent::Ended { job: j, report }) if j == job => return (*report, said),
            Some(LabEvent::Said { job: j, event }) if j == job => said.push(event),
            Some(LabEvent::Lost { host, why }) => panic!("{host} was lost: {why}"),
            Some(_) => {}
            None => panic!("no end within 30 s"),
        }
    }
}

/// Processes on this machine that carry the token.
pub fn alive(token: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={token}");
    let pids = std::fs::read_dir("/proc").expect("/proc").flatten();
    pids.filter_map(|e| e.file_name().to_string_lossy().parse().ok())
        .filter(|pid: &i32| {
            let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|b| *b == 0).any(|entry| entry == wanted.as_bytes())
        })
        .collect()
}

/// Waits until as many processes carry the token as asked for.
pub fn until_alive(token: &str, enough: impl Fn(usize) -> bool, limit: Duration) -> Duration {
    let begun = Instant::now();
    loop {
        let found = alive(token);
        if enough(found.len()) {
            return begun.elapsed();
        }
        assert!(begun.elapsed() < limit, "after {limit:?} these are alive: {found:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn kill(pid: i32, signal: i32) {
    // SAFETY: plain system call; the number comes from a process that this test started.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "kill {pid}");
}

/// Children of a process, by the kernel's list.
pub fn children(pid: i32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists
        .flat_map(|text| text.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<_>>())
        .collect()
}

pub fn is_root() -> bool {
    // SAFETY: always succeeds.
    unsafe { libc::geteuid() == 0 }
}
