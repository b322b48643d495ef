//! The step from a job's init to its main program, on memory prepared beforehand.

use std::ffi::{CString, c_char, c_int};
use std::marker::PhantomData;
use std::ptr;

use super::verdict::Stage;

/// Program, arguments, environment and folder in the form that the kernel takes.
pub struct Image {
    path: CString,
    cwd: CString,
    /// Only pointed to.
    _argv: Vec<CString>,
    _env: Vec<CString>,
    argv_pointers: Vec<*const c_char>,
    env_pointers: Vec<*const c_char>,
}

impl Image {
    /// `path` is what is executed; `argv[0]` is what the program sees as its name.
    ///
    /// # Errors
    /// The text that holds a NUL byte, which no program can be given.
    pub fn new(path: &str, argv: &[String], env: &[(String, String)], cwd: &str) -> Result<Image, String> {
        let text = |s: &str| {
            CString::new(s)
                .map_err(|_| format!("{s:?} holds a NUL byte, which cannot be passed to a program"))
        };
        let argv = argv.iter().map(|a| text(a)).collect::<Result<Vec<_>, _>>()?;
        let env = env.iter().map(|(k, v)| text(&format!("{k}={v}"))).collect::<Result<Vec<_>, _>>()?;
        let pointers = |list: &[CString]| list.iter().map(|s| s.as_ptr()).chain([ptr::null()]).collect();
        Ok(Image {
            path: text(path)?,
            cwd: text(cwd)?,
            argv_pointers: pointers(&argv),
            env_pointers: pointers(&env),
            _argv: argv,
            _env: env,
        })
    }
}

/// The step itself: pointers into an `Image`, and the streams.
pub struct ExecPlan<'a> {
    path: *const c_char,
    cwd: *const c_char,
    argv: *const *const c_char,
    env: *const *const c_char,
    pub stdin: c_int,
    pub stdout: c_int,
    pub stderr: c_int,
    /// Processors that the program is confined to.
    pub cpus: Option<libc::cpu_set_t>,
    /// Die with the init; in a PID namespace the kernel sees to it anyway.
    pub tie_to_parent: bool,
    image: PhantomData<&'a Image>,
}

impl<'a> ExecPlan<'a> {
    /// `streams` are the descriptors that become 0, 1 and 2.
    pub fn new(image: &'a Image, streams: [c_int; 3], tie_to_parent: bool) -> ExecPlan<'a> {
        ExecPlan {
            path: image.path.as_ptr(),
            cwd: image.cwd.as_ptr(),
            argv: image.argv_pointers.as_ptr(),
            env: image.env_pointers.as_ptr(),
            stdin: streams[0],
            stdout: streams[1],
            stderr: streams[2],
            cpus: None,
            tie_to_parent,
            image: PhantomData,
        }
    }
}

/// What the main process tells its init from before its program took over, in memory that both share.
#[derive(Debug)]
#[repr(C)]
pub struct Birth {
    /// `Stage` at which the start failed, 0 when the program ran.
    pub stage: u32,
    /// errno of that failure.
    pub code: i32,
    /// CLOCK_MONOTONIC right before the program took over; 0 when it never came so far.
    pub started_ns: u64,
    /// Largest resident set until then: the kernel goes on to count it as the program's.
    pub floor_kib: u64,
    /// Page faults until then, which the kernel goes on to count as the program's.
    pub minor_faults: u64,
}

/// Starts the main process; its number, or the errno as a negative number.
///
/// A plain fork, not one that shares memory: the peak that the kernel keeps for a process begins with the memory
/// it had before its program, and a shared one would hide every program smaller than the init. Copying page tables
/// is not part of the measured time, which begins in the child.
///
/// # Safety
/// `birth` points to memory shared between processes. Called in the init only.
pub unsafe fn start(plan: &ExecPlan<'_>, birth: *mut Birth) -> libc::pid_t {
    // SAFETY: the child keeps to system calls on memory prepared by the agent, of which it has a copy.
    unsafe {
        match libc::syscall(libc::SYS_clone, libc::SIGCHLD as libc::c_ulong, 0, 0, 0, 0) as libc::pid_t {
            0 => become_program(plan, birth),
            pid if pid < 0 => -*libc::__errno_location(),
            pid => pid,
        }
    }
}

unsafe fn become_program(plan: &ExecPlan<'_>, birth: *mut Birth) -> ! {
    // SAFETY: `birth` is shared memory that outlives this process; everything here is a system call on prepared memory.
    unsafe {
        libc::setpgid(0, 0);
        if plan.tie_to_parent {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        }
        // Ignored signals survive an exec, and this agent ignores some.
        for signal in 1..32 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
        for (fd, to) in [(plan.stdin, 0), (plan.stdout, 1), (plan.stderr, 2)] {
            if libc::dup2(fd, to) < 0 {
                fail(birth, Stage::Streams);
            }
        }
        if libc::chdir(plan.cwd) != 0 {
            fail(birth, Stage::Folder);
        }
        if let Some(cpus) = &plan.cpus
            && libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), cpus) != 0
        {
            fail(birth, Stage::Processors);
        }
        let mut own: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut own);
        (*birth).floor_kib = own.ru_maxrss as u64;
        (*birth).minor_faults = own.ru_minflt as u64;
        (*birth).started_ns = now_ns();
        libc::execve(plan.path, plan.argv, plan.env);
        fail(birth, Stage::Exec)
    }
}

unsafe fn fail(birth: *mut Birth, stage: Stage) -> ! {
    // SAFETY: as in `become_program`.
    unsafe {
        (*birth).stage = stage as u32;
        (*birth).code = *libc::__errno_location();
        libc::_exit(127)
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
pub fn now_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is local; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
