//! The step from a job's init to its main program, on memory prepared beforehand.

use std::ffi::{CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr;

use super::verdict::{Stage, Verdict};

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
            tie_to_parent,
            image: PhantomData,
        }
    }
}

struct Birth<'a> {
    plan: &'a ExecPlan<'a>,
    verdict: *mut Verdict,
}

/// Starts the main process; its number, or the errno as a negative number.
///
/// # Safety
/// `stack` points to `bytes` of memory that nothing else uses. Called in the init only.
pub unsafe fn start(plan: &ExecPlan<'_>, stack: *mut u8, bytes: usize, verdict: &mut Verdict) -> libc::pid_t {
    let mut birth = Birth { plan, verdict };
    // Shared memory and a suspended parent, as posix_spawn does it: no page table is copied in the measured time.
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack grows down from its aligned end; the parent sleeps until the child has executed or ended,
    // so the borrowed plan outlives the child's use of it.
    unsafe {
        let top = stack.add(bytes - bytes % 16);
        let pid = libc::clone(become_program, top.cast(), flags, ptr::from_mut(&mut birth).cast());
        if pid < 0 { -*libc::__errno_location() } else { pid }
    }
}

extern "C" fn become_program(birth: *mut c_void) -> c_int {
    // SAFETY: `birth` points into the suspended parent; everything here is a system call on prepared memory.
    unsafe {
        let birth = &*birth.cast::<Birth<'_>>();
        let plan = birth.plan;
        let fail = |stage: Stage| -> ! {
            (*birth.verdict).stage = stage as u32;
            (*birth.verdict).code = *libc::__errno_location();
            libc::_exit(127)
        };
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
                fail(Stage::Streams);
            }
        }
        if libc::chdir(plan.cwd) != 0 {
            fail(Stage::Folder);
        }
        libc::execve(plan.path, plan.argv, plan.env);
        fail(Stage::Exec)
    }
}
