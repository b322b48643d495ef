//! The init of a job: supervises one process tree from inside, and allocates nothing.
//!
//! It is cloned from an agent that has other threads, so whatever lock one of them held at that instant
//! stays locked here for ever: only system calls on memory prepared beforehand are allowed.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::{MaybeUninit, zeroed};
use std::ptr;

use super::counters::{self, Event};
use super::exec::{self, Birth, ExecPlan, now_ns};
use super::verdict::{Ending, Verdict};

/// Everything the init needs; borrowed memory of the agent, copied by the clone.
pub struct InitPlan<'a> {
    pub exec: ExecPlan<'a>,
    /// Read end of the pipe of life: `h` is a heartbeat, `s` asks for the end, a byte with `SIGNAL` passes a
    /// signal on, closing it is the agent's death.
    pub life: c_int,
    /// Write end of the pipe that carries one `Verdict`.
    pub verdict: c_int,
    /// Held open so that the host's lock is free only when the tree is gone.
    pub lock: Option<c_int>,
    /// `/dev/null`, open for reading and writing.
    pub null: c_int,
    pub deadline_ns: u64,
    /// Silence of the agent after which it counts as hung.
    pub silence_ns: u64,
    /// In a PID namespace of its own; else a subreaper over a process group.
    pub namespaced: bool,
    /// What the kernel counts of the tree.
    pub instructions: Option<Event>,
    pub system_calls: Option<Event>,
    /// Memory that the main process shares with this one.
    pub birth: *mut Birth,
}

/// A byte with this bit on the pipe of life carries the number of a signal for the main process.
pub const SIGNAL: u8 = 0x80;

/// What `exit` says when the agent is gone, for whoever traces processes.
const EXIT_AGENT_GONE: c_int = 71;
const EXIT_BROKEN: c_int = 70;

/// Runs the job to its end and never returns.
///
/// # Safety
/// Must be called right after a raw clone without `CLONE_VM`, in the child.
pub unsafe fn run(plan: &InitPlan<'_>) -> ! {
    // SAFETY: plain system calls on descriptors and memory that `plan` owns in this copy of the process.
    unsafe {
        if plan.namespaced {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        } else {
            // No death signal here: without a namespace this process must live long enough to sweep.
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        }
        // No session of its own: where the scheduler groups by session (autogroup), every job would be another
        // group, made and weighed anew within the measured time. The agent's session has no terminal.
        libc::setpgid(0, 0);
        keep_only_own_descriptors(plan);
        let proc_is_own = plan.namespaced && mount_own_proc();
        let children = child_signals();
        if children < 0 {
            libc::_exit(EXIT_BROKEN);
        }

        let mut verdict: Verdict = zeroed();
        let counting = [&plan.instructions, &plan.system_calls].map(|event| match event {
            Some(event) => counters::open(event),
            None => -1,
        });
        let started = now_ns();
        let main = exec::start(&plan.exec, plan.birth);
        for fd in [plan.exec.stdin, plan.exec.stdout, plan.exec.stderr] {
            libc::close(fd);
        }
        if main < 0 {
            verdict.ending = Ending::ForkFailed as u32;
            verdict.code = -main;
            hand_over(plan, &verdict);
        }

        let mut watch = Watch { plan, main, children, started, signalled: false };
        verdict.ending = watch.until_decided() as u32;
        let killed = verdict.ending != Ending::Own as u32;
        let asked = killed || watch.signalled;
        if killed {
            kill_tree(plan, main);
        }
        watch.until_main_is_dead();
        let ended = now_ns();
        let birth = ptr::read_volatile(plan.birth);
        (verdict.stage, verdict.floor_kib) = (birth.stage, birth.floor_kib);
        if birth.stage != 0 {
            verdict.code = birth.code;
        }
        verdict.wall_ns = ended.saturating_sub(program_began(plan, started));
        if proc_is_own || !plan.namespaced {
            read_io(main, &mut verdict);
        }
        let mut status = 0;
        let mut used: libc::rusage = zeroed();
        if libc::wait4(main, &mut status, 0, &mut used) == main {
            verdict.status = status;
            verdict.user_ns = nanoseconds(used.ru_utime);
            verdict.system_ns = nanoseconds(used.ru_stime);
            verdict.peak_kib = used.ru_maxrss as u64;
            verdict.minor_faults = (used.ru_minflt as u64).saturating_sub(birth.minor_faults);
            verdict.major_faults = used.ru_majflt as u64;
        }
        let left = watch.until_all_are_dead();
        verdict.left_behind = if asked { 0 } else { left };
        if let Some(count) = counters::read(counting[0]) {
            (verdict.instructions, verdict.instructions_known) = (count, 1);
        }
        if let Some(count) = counters::read(counting[1]) {
            (verdict.system_calls, verdict.system_calls_known) = (count, 1);
        }
        hand_over(plan, &verdict);
    }
}

struct Watch<'a> {
    plan: &'a InitPlan<'a>,
    main: libc::pid_t,
    children: c_int,
    started: u64,
    /// The main process was sent a signal that is to end it.
    signalled: bool,
}

impl Watch<'_> {
    /// Waits for the first of: main process over, deadline, stop asked. Never returns when the agent is gone.
    unsafe fn until_decided(&mut self) -> Ending {
        let mut heard = self.started;
        loop {
            // SAFETY: see `run`.
            unsafe {
                if self.main_is_dead() {
                    return Ending::Own;
                }
                // Asked anew each time: the program may not have taken over yet when this is first asked.
                let deadline = program_began(self.plan, self.started).saturating_add(self.plan.deadline_ns);
                let now = now_ns();
                if now >= deadline {
                    return Ending::TimedOut;
                }
                let silent_at = heard.saturating_add(self.plan.silence_ns);
                if now >= silent_at {
                    self.agent_is_gone();
                }
                let (alive, _) = wait_for(self.plan.life, self.children, deadline.min(silent_at) - now);
                match alive {
                    Life::Quiet => {}
                    Life::Beat => heard = now_ns(),
                    Life::Signal(signal) => {
                        heard = now_ns();
                        self.signalled = true;
                        // Not a group yet where its program has not taken over.
                        if libc::kill(-self.main, signal) != 0 {
                            libc::kill(self.main, signal);
                        }
                    }
                    Life::Stop => return Ending::Stopped,
                    Life::Gone => self.agent_is_gone(),
                }
            }
        }
    }

    unsafe fn until_main_is_dead(&self) {
        // SAFETY: see `run`.
        unsafe {
            while !self.main_is_dead() {
                self.wait_a_little();
            }
        }
    }

    /// Kills and reaps until no descendant is left; returns how many had to be killed.
    unsafe fn until_all_are_dead(&self) -> u32 {
        let mut killed = 0;
        loop {
            // SAFETY: see `run`.
            unsafe {
                let mut status = 0;
                let pid = libc::waitpid(-1, &mut status, libc::WNOHANG);
                if pid > 0 {
                    if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL {
                        killed += 1;
                    }
                    continue;
                }
                if pid < 0 && *libc::__errno_location() == libc::ECHILD {
                    return killed;
                }
                // The main process is reaped by now: its number may be another's group.
                kill_tree(self.plan, 0);
                self.wait_a_little();
            }
        }
    }

    /// A tree that cannot be killed (a process in an uninterruptible sleep) is waited for as long as
    /// the agent lives: saying "ended" too early would let it disturb the next run.
    unsafe fn wait_a_little(&self) {
        const STEP_NS: u64 = 20_000_000;
        // SAFETY: see `run`.
        unsafe {
            if matches!(wait_for(self.plan.life, self.children, STEP_NS).0, Life::Gone) {
                self.agent_is_gone();
            }
        }
    }

    /// Reaps orphans; true as soon as the main process is a zombie, which is left in place.
    unsafe fn main_is_dead(&self) -> bool {
        loop {
            // SAFETY: `info` is plain memory that the kernel fills.
            unsafe {
                let mut info: libc::siginfo_t = zeroed();
                let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
                // Asked for by number first: an orphan zombie in front of it must not hide it.
                if libc::waitid(libc::P_PID, self.main as u32, &mut info, flags) == 0
                    && info.si_pid() == self.main
                {
                    return true;
                }
                info = zeroed();
                if libc::waitid(libc::P_ALL, 0, &mut info, flags) != 0 || info.si_pid() == 0 {
                    return false;
                }
                if info.si_pid() != self.main {
                    libc::waitpid(info.si_pid(), ptr::null_mut(), libc::WNOHANG);
                }
            }
        }
    }

    /// Ends this process: the kernel then kills every member of its PID namespace. Without one, sweeps.
    unsafe fn agent_is_gone(&self) -> ! {
        // SAFETY: see `run`.
        unsafe {
            if !self.plan.namespaced {
                for _ in 0..500 {
                    kill_tree(self.plan, self.main);
                    while libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG) > 0 {}
                    if libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG) < 0 {
                        break;
                    }
                    let pause = libc::timespec { tv_sec: 0, tv_nsec: 5_000_000 };
                    libc::nanosleep(&pause, ptr::null_mut());
                }
            }
            libc::_exit(EXIT_AGENT_GONE)
        }
    }
}

enum Life {
    Quiet,
    Beat,
    Signal(c_int),
    Stop,
    Gone,
}

/// Waits for a word of the agent or a child's end, at most `wait_ns`.
unsafe fn wait_for(life: c_int, children: c_int, wait_ns: u64) -> (Life, bool) {
    // SAFETY: all buffers are local and outlive the calls.
    unsafe {
        let mut fds = [
            libc::pollfd { fd: life, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: children, events: libc::POLLIN, revents: 0 },
        ];
        // An hour at most, so that the conversion cannot overflow.
        let wait = wait_ns.min(3_600_000_000_000);
        let time = libc::timespec {
            tv_sec: (wait / 1_000_000_000) as libc::time_t,
            tv_nsec: (wait % 1_000_000_000) as libc::c_long,
        };
        if libc::ppoll(fds.as_mut_ptr(), 2, &time, ptr::null()) <= 0 {
            return (Life::Quiet, false);
        }
        let child = fds[1].revents != 0;
        if child {
            let mut info: MaybeUninit<[libc::signalfd_siginfo; 8]> = MaybeUninit::uninit();
            libc::read(children, info.as_mut_ptr().cast(), size_of::<[libc::signalfd_siginfo; 8]>());
        }
        if fds[0].revents == 0 {
            return (Life::Quiet, child);
        }
        let mut word = [0u8; 64];
        match libc::read(life, word.as_mut_ptr().cast(), word.len()) {
            0 => (Life::Gone, child),
            n if n > 0 && word.iter().take(n as usize).any(|b| *b == b's') => (Life::Stop, child),
            n if n > 0 => match word.iter().take(n as usize).find(|b| **b & SIGNAL != 0) {
                Some(byte) => (Life::Signal(c_int::from(byte & !SIGNAL)), child),
                None => (Life::Beat, child),
            },
            _ => (Life::Quiet, child),
        }
    }
}

/// When the program took over, or `otherwise` when it has not yet.
unsafe fn program_began(plan: &InitPlan<'_>, otherwise: u64) -> u64 {
    // SAFETY: shared memory that the agent keeps mapped in this copy of the process.
    match unsafe { ptr::read_volatile(&raw const (*plan.birth).started_ns) } {
        0 => otherwise,
        began => began,
    }
}

/// SIGKILL to everything below this process; `main` is the group to kill as well, 0 for none.
unsafe fn kill_tree(plan: &InitPlan<'_>, main: libc::pid_t) {
    // SAFETY: system calls on local buffers.
    unsafe {
        if plan.namespaced {
            libc::kill(-1, libc::SIGKILL);
            return;
        }
        if main > 0 {
            libc::kill(-main, libc::SIGKILL);
        }
        // Orphans become children of this subreaper, so killing children again and again reaches all.
        let fd = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return;
        }
        let mut text = [0u8; 4096];
        let n = libc::read(fd, text.as_mut_ptr().cast(), text.len());
        libc::close(fd);
        let mut pid: libc::pid_t = 0;
        for byte in text.iter().take(n.max(0) as usize) {
            if byte.is_ascii_digit() {
                pid = pid.wrapping_mul(10).wrapping_add((byte - b'0') as libc::pid_t);
            } else {
                if pid > 1 {
                    libc::kill(pid, libc::SIGKILL);
                }
                pid = 0;
            }
        }
    }
}

unsafe fn hand_over(plan: &InitPlan<'_>, verdict: &Verdict) -> ! {
    // SAFETY: a `Verdict` is plain bytes, smaller than PIPE_BUF, hence written whole.
    unsafe {
        libc::write(plan.verdict, ptr::from_ref(verdict).cast(), size_of::<Verdict>());
        libc::_exit(0)
    }
}

/// Closes what the agent had open, above all its channel to the workstation and other jobs' pipes of life.
unsafe fn keep_only_own_descriptors(plan: &InitPlan<'_>) {
    // SAFETY: descriptor numbers only.
    unsafe {
        for fd in 0..3 {
            libc::dup2(plan.null, fd);
        }
        let x = &plan.exec;
        let mut keep =
            [2, x.stdin, x.stdout, x.stderr, plan.life, plan.verdict, plan.lock.unwrap_or(2), c_int::MAX];
        // Insertion sort: `sort` may allocate.
        for i in 1..keep.len() {
            let mut j = i;
            while j > 0 && keep[j - 1] > keep[j] {
                keep.swap(j - 1, j);
                j -= 1;
            }
        }
        for pair in keep.windows(2) {
            let (first, last) = (pair[0] + 1, pair[1] - 1);
            if first > last {
                continue;
            }
            if libc::syscall(libc::SYS_close_range, first, last, 0) != 0 {
                // Kernels before 5.9; the agent itself never opens more than this.
                for fd in first..=last.min(4096) {
                    libc::close(fd);
                }
            }
        }
    }
}

/// Gives the namespace its own `/proc`; false where the kernel does not allow it.
unsafe fn mount_own_proc() -> bool {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: constant strings. Private first: on a shared tree the mount would appear on the host.
    unsafe {
        mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE)
            && mount(Some(c"proc"), c"/proc", Some(c"proc"), flags)
    }
}

unsafe fn mount(source: Option<&CStr>, target: &CStr, kind: Option<&CStr>, flags: libc::c_ulong) -> bool {
    let text = |t: Option<&CStr>| t.map_or(ptr::null::<c_char>(), CStr::as_ptr);
    // SAFETY: all strings end in NUL and live across the call.
    unsafe { libc::mount(text(source), target.as_ptr(), text(kind), flags, ptr::null::<c_void>()) == 0 }
}

unsafe fn child_signals() -> c_int {
    // SAFETY: signal sets are plain memory.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_BLOCK, &set, ptr::null_mut());
        libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    }
}

/// `rchar` and `wchar` of the zombie: its own and those of the children it waited for.
unsafe fn read_io(pid: libc::pid_t, verdict: &mut Verdict) {
    let mut path = [0u8; 32];
    let mut at = copy(&mut path, 0, b"/proc/");
    let mut digits = [0u8; 10];
    let mut n = 0;
    let mut rest = pid;
    while rest > 0 && n < digits.len() {
        digits[n] = b'0' + (rest % 10) as u8;
        rest /= 10;
        n += 1;
    }
    for i in (0..n).rev() {
        at = copy(&mut path, at, &digits[i..=i]);
    }
    copy(&mut path, at, b"/io\0");
    // SAFETY: `path` ends in NUL; the buffer is local.
    unsafe {
        let fd = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return;
        }
        let mut text = [0u8; 512];
        let got = libc::read(fd, text.as_mut_ptr().cast(), text.len()).max(0) as usize;
        libc::close(fd);
        if let Some((rchar, wchar)) = super::verdict::parse_io(text.get(..got).unwrap_or(&[])) {
            verdict.rchar = rchar;
            verdict.wchar = wchar;
            verdict.io_known = 1;
        }
    }
}

fn copy(to: &mut [u8; 32], at: usize, from: &[u8]) -> usize {
    for (i, byte) in from.iter().enumerate() {
        if let Some(slot) = to.get_mut(at + i) {
            *slot = *byte;
        }
    }
    at + from.len()
}

fn nanoseconds(t: libc::timeval) -> u64 {
    t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000
}
