//! A process under ptrace that is killed at a chosen change of the world: a write, a sync, or a request that sets.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use fieldtrial::protocol::codec::write_message;
use fieldtrial::protocol::message::{Answer, Ask, Reply, Request};

/// What became of one traced session.
pub struct Traced {
    /// Changes of the world that were begun.
    pub changes: usize,
    pub killed: bool,
    pub answers: Vec<Answer>,
}

// linux/ptrace.h
const PTRACE_GET_SYSCALL_INFO: libc::c_uint = 0x420e;
const ENTRY: u8 = 1;
// linux/sockios.h and linux/ethtool.h: requests that set something.
const SETTING: [u64; 2] = [libc::SIOCSIFMTU, libc::SIOCSIFFLAGS];
const ETHTOOL_SETTING: [u32; 2] = [0x3b, 0x3d];

/// Runs an agent through `first` requests at once and `last` after the last of their answers, and kills
/// it just before its change of the world number `kill_at` (counted from 1; 0 for never).
pub fn run(command: &mut Command, first: Vec<Ask>, last: Vec<Ask>, kill_at: usize) -> Traced {
    let_be_traced(command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the agent starts");
    let mut input = child.stdin.take().expect("piped");
    let output = BufReader::new(child.stdout.take().expect("piped"));
    let due = first.len();
    send(&mut input, first);
    let talk = std::thread::spawn(move || {
        let mut answers: Vec<Answer> = vec![];
        let (mut input, mut last) = (Some(input), Some(last));
        for line in output.lines().map_while(Result::ok) {
            let Ok(reply) = serde_json::from_str::<Reply>(&line) else { continue };
            answers.push(reply.answer);
            if answers.len() == due
                && let (Some(input), Some(last)) = (&mut input, last.take())
            {
                send(input, last);
            } else if answers.len() > due {
                input = None;
            }
        }
        answers
    });
    let (changes, killed) = trace(child.id() as libc::pid_t, kill_at);
    // The tracer has reaped it already.
    let _ = child.wait();
    Traced { changes, killed, answers: talk.join().expect("the talk ends with the agent") }
}

/// Runs a program that says nothing of interest, and kills it likewise: changes begun, and whether it was
/// killed.
pub fn alone(command: &mut Command, kill_at: usize) -> (usize, bool) {
    let_be_traced(command);
    let null = Stdio::null;
    let mut child = command.stdin(null()).stdout(null()).stderr(null()).spawn().expect("it starts");
    let ended = trace(child.id() as libc::pid_t, kill_at);
    let _ = child.wait();
    ended
}

fn let_be_traced(command: &mut Command) {
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
}

fn send(input: &mut impl Write, asks: Vec<Ask>) {
    for (id, ask) in asks.into_iter().enumerate() {
        // One that was killed hears nothing.
        let _ = write_message(input, &Request { id: id as u64, ask });
    }
}

fn trace(root: libc::pid_t, kill_at: usize) -> (usize, bool) {
    let (mut changes, mut killed) = (0, false);
    loop {
        let mut status = 0;
        // Children of other threads belong to other tests.
        // SAFETY: a status of our own.
        let tid = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
        if tid < 0 {
            return (changes, killed);
        }
        if !libc::WIFSTOPPED(status) {
            continue;
        }
        let signal = libc::WSTOPSIG(status);
        let mut pass_on = 0;
        if signal == libc::SIGTRAP | 0x80 {
            if !killed && begins_a_change(tid) {
                changes += 1;
                if changes == kill_at {
                    killed = true;
                    // SAFETY: the process that this test started, by its number.
                    unsafe { libc::kill(group_of(tid), libc::SIGKILL) };
                }
            }
        } else if signal == libc::SIGTRAP && tid == root && status >> 16 == 0 {
            let options = libc::PTRACE_O_TRACESYSGOOD
                | libc::PTRACE_O_TRACECLONE
                | libc::PTRACE_O_TRACEFORK
                | libc::PTRACE_O_TRACEVFORK
                | libc::PTRACE_O_TRACEEXEC
                | libc::PTRACE_O_EXITKILL;
            // SAFETY: a stopped tracee of this thread.
            unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, tid, 0, options) };
        } else if signal != libc::SIGTRAP && signal != libc::SIGSTOP {
            pass_on = signal;
        }
        // SAFETY: a stopped tracee of this thread; one that was killed meanwhile is an error nobody needs.
        unsafe { libc::ptrace(libc::PTRACE_SYSCALL, tid, 0, pass_on) };
    }
}

fn begins_a_change(tid: libc::pid_t) -> bool {
    let mut info = [0u64; 11];
    // SAFETY: writes at most the length given.
    let got = unsafe { libc::ptrace(PTRACE_GET_SYSCALL_INFO, tid, size_of_val(&info), info.as_mut_ptr()) };
    if got <= 0 || info[0].to_ne_bytes()[0] != ENTRY {
        return false;
    }
    let (number, args) = (info[3] as libc::c_long, &info[4..10]);
    match number {
        libc::SYS_fsync | libc::SYS_fdatasync => true,
        libc::SYS_write => is_file(tid, args[0]),
        libc::SYS_ioctl => {
            let request = args[1] & 0xffff_ffff;
            SETTING.contains(&request)
                || request == libc::SIOCETHTOOL
                    && ethtool(tid, args[2]).is_some_and(|c| ETHTOOL_SETTING.contains(&c))
        }
        libc::SYS_unlink
        | libc::SYS_unlinkat
        | libc::SYS_rename
        | libc::SYS_renameat
        | libc::SYS_renameat2 => true,
        _ => false,
    }
}

fn is_file(tid: libc::pid_t, fd: u64) -> bool {
    let target = std::fs::read_link(format!("/proc/{tid}/fd/{fd}")).unwrap_or_default();
    target.is_absolute() && target != std::path::Path::new("/dev/null")
}

/// The command of an ethtool request: `ifr_data` stands at byte 16 of the ifreq.
fn ethtool(tid: libc::pid_t, ifreq: u64) -> Option<u32> {
    let mut memory = File::open(format!("/proc/{tid}/mem")).ok()?;
    let mut data = [0; 8];
    memory.seek(SeekFrom::Start(ifreq + 16)).ok()?;
    memory.read_exact(&mut data).ok()?;
    let mut command = [0; 4];
    memory.seek(SeekFrom::Start(u64::from_ne_bytes(data))).ok()?;
    memory.read_exact(&mut command).ok()?;
    Some(u32::from_ne_bytes(command))
}

fn group_of(tid: libc::pid_t) -> libc::pid_t {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
    group.expect("a stopped process has a group")
}
