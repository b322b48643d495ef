//! From a resolved job to a running one: pipes, the clone of its init, and the agent's ends of both.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::{Duration, Instant};

use super::capture::Capture;
use super::counters::{Counted, Counters};
use super::exec::{Birth, ExecPlan, Image};
use super::init::{self, InitPlan};
use super::processors;
use super::readiness;
use super::resolve::Resolved;
use crate::model::job::{JobSpec, Stdin};

/// The agent's ends of a running job.
pub struct Running {
    pub init: libc::pid_t,
    pub life: PipeWriter,
    pub verdict: PipeReader,
    pub stdin: Option<PipeWriter>,
    pub stdout: Capture,
    pub stderr: Capture,
    pub started: Instant,
}

/// How jobs are kept together on this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    PidNamespace,
    /// A group, with a sweep of descendants: weaker, since a killed init cannot sweep.
    ProcessGroup,
}

impl Isolation {
    /// The word that reports carry.
    pub fn name(self) -> &'static str {
        match self {
            Self::PidNamespace => "pid-namespace",
            Self::ProcessGroup => "process-group",
        }
    }

    /// What this host allows, by trying.
    pub fn probe() -> Isolation {
        // SAFETY: the child ends at once and touches nothing.
        unsafe {
            match raw_clone(true) {
                0 => libc::_exit(0),
                pid if pid > 0 => {
                    libc::waitpid(pid, std::ptr::null_mut(), 0);
                    Isolation::PidNamespace
                }
                _ => Isolation::ProcessGroup,
            }
        }
    }
}

/// What the agent as a whole decides about its jobs.
pub struct Terms {
    pub isolation: Isolation,
    /// Descriptor of the host's lock.
    pub lock: Option<RawFd>,
    /// The agent's lease; an agent silent for one and a half of it counts as hung.
    pub lease: Duration,
    /// What the kernel of this host counts.
    pub counters: Counters,
}

/// One `Birth` in memory that stays shared across clones; unmapped here when dropped.
struct Shared(*mut Birth);

impl Shared {
    fn new() -> io::Result<Shared> {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, zeroed by the kernel, which is a valid `Birth`.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<Birth>(), access, flags, -1, 0) };
        if memory == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Shared(memory.cast())) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this size, and nothing here points to it any more.
        unsafe { libc::munmap(self.0.cast(), size_of::<Birth>()) };
    }
}

/// Starts a job in `cwd`. Must be called from the agent's main thread: the init dies with the thread
/// that cloned it.
///
/// # Errors
/// A text with what the kernel refused.
pub fn launch(
    spec: &JobSpec,
    resolved: &Resolved,
    cwd: &Path,
    terms: &Terms,
    cpus: Option<&[u32]>,
    counted: &Counted,
) -> Result<Running, String> {
    let pattern = readiness::pattern(spec)?;
    let image = Image::new(&resolved.execute, &resolved.argv, &resolved.env, &cwd.to_string_lossy())?;
    let refused = |what: &str, e: io::Error| format!("{what}: {e}");
    let null =
        File::options().read(true).write(true).open("/dev/null").map_err(|e| refused("/dev/null", e))?;
    let (input, stdin) = standard_input(&spec.stdin, cwd, &null)?;
    let pipe = || io::pipe().map_err(|e| refused("a pipe for the job", e));
    let ((life_read, life), (verdict, verdict_write)) = (pipe()?, pipe()?);
    let ((out_read, out_write), (err_read, err_write)) = (pipe()?, pipe()?);
    let birth = Shared::new().map_err(|e| refused("memory shared with the job", e))?;
    let streams = [input.as_raw_fd(), out_write.as_raw_fd(), err_write.as_raw_fd()];
    let namespaced = terms.isolation == Isolation::PidNamespace;
    let mut exec = ExecPlan::new(&image, streams, !namespaced);
    exec.cpus = cpus.map(processors::mask);
    let plan = InitPlan {
        exec,
        instructions: counted.instructions.clone().ok(),
        system_calls: counted.system_calls.clone().and_then(Result::ok),
        life: life_read.as_raw_fd(),
        verdict: verdict_write.as_raw_fd(),
        lock: terms.lock,
        null: null.as_raw_fd(),
        deadline_ns: spec.deadline_ms.saturating_mul(1_000_000),
        silence_ns: (terms.lease * 3 / 2).as_nanos().min(u128::from(u64::MAX)) as u64,
        namespaced,
        birth: birth.0,
    };
    // A stopped init must not stop the agent once its pipe is full of heartbeats.
    set_nonblocking(life.as_raw_fd());
    // SAFETY: the child runs `init::run` only, which keeps to system calls on the memory prepared above.
    let init = unsafe {
        match raw_clone(namespaced) {
            0 => init::run(&plan),
            pid => pid,
        }
    };
    if init < 0 {
        return Err(refused("the kernel gave no process for the job", io::Error::last_os_error()));
    }
    Ok(Running {
        init,
        life,
        verdict,
        stdin,
        stdout: Capture::new(out_read.into(), spec.keep_bytes, spec.speaks_events, pattern.clone()),
        stderr: Capture::new(err_read.into(), spec.keep_bytes, false, pattern),
        started: Instant::now(),
    })
}

impl Running {
    /// Tells the init that the agent lives. A full pipe means it has not listened for long; it need not hear this one.
    pub fn beat(&mut self) {
        let _ = self.life.write(b"h");
    }

    /// Has the init pass a signal on to the process group of the main process.
    pub fn signal(&mut self, signal: i32) {
        let _ = self.life.write(&[init::SIGNAL | (signal as u8 & !init::SIGNAL)]);
    }

    /// Asks for the end of the tree.
    pub fn stop(&mut self) {
        let _ = self.life.write(b"s");
    }

    /// Hands one line to a job started with a pipe.
    ///
    /// # Errors
    /// There is no such pipe, the line is too long to be written whole, or the job does not read.
    pub fn tell(&mut self, line: &str) -> Result<(), String> {
        let Some(pipe) = &mut self.stdin else {
            return Err("this job's standard input is not a pipe, or it is closed".into());
        };
        let mut text = line.trim_end_matches('\n').as_bytes().to_vec();
        text.push(b'\n');
        if text.len() > libc::PIPE_BUF {
            return Err(format!(
                "a line of {} bytes is over the limit of {} that is written whole",
                text.len(),
                libc::PIPE_BUF
            ));
        }
        match pipe.write(&text) {
            Ok(_) => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                Err("the job does not read its standard input, whose pipe is full".into())
            }
            Err(e) => Err(format!("the job's standard input is closed: {e}")),
        }
    }
}

fn standard_input(stdin: &Stdin, cwd: &Path, null: &File) -> Result<(OwnedFd, Option<PipeWriter>), String> {
    match stdin {
        Stdin::Empty => null.try_clone().map(|f| (f.into(), None)).map_err(|e| format!("/dev/null: {e}")),
        Stdin::File(path) => {
            let path = cwd.join(path);
            let file = File::open(&path).map_err(|e| format!("standard input {}: {e}", path.display()))?;
            Ok((file.into(), None))
        }
        Stdin::Pipe => {
            let (reader, writer) = io::pipe().map_err(|e| format!("a pipe for standard input: {e}"))?;
            set_nonblocking(writer.as_raw_fd());
            Ok((reader.into(), Some(writer)))
        }
    }
}

/// Writes and reads on `descriptor` answer at once from here on.
pub fn set_nonblocking(descriptor: RawFd) {
    // SAFETY: plain fcntl; a descriptor that is none only yields an error.
    unsafe {
        let flags = libc::fcntl(descriptor, libc::F_GETFL);
        libc::fcntl(descriptor, libc::F_SETFL, flags | libc::O_NONBLOCK);
    }
}

/// A fork by system call, so that the child can be put into namespaces of its own.
///
/// # Safety
/// The child must keep to system calls: other threads' locks stay locked in it.
unsafe fn raw_clone(namespaced: bool) -> libc::pid_t {
    let namespaces = if namespaced { libc::CLONE_NEWPID | libc::CLONE_NEWNS } else { 0 };
    let flags = (namespaces | libc::SIGCHLD) as libc::c_ulong;
    // SAFETY: no shared memory and no new stack: both processes go on from here on copies.
    unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) as libc::pid_t }
}

/// An owned descriptor that becomes readable when something is written to it from another thread.
pub fn wake_descriptor() -> io::Result<OwnedFd> {
    // SAFETY: the descriptor returned is ours.
    unsafe {
        match libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) {
            fd if fd < 0 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}
