//! What one command costs: wall time and peak memory.

use std::process::{Command, Stdio};
use std::time::Instant;

/// Runs a command once with its output thrown away; milliseconds and peak memory in KiB. Panics where
/// it fails.
#[expect(clippy::zombie_processes, reason = "wait4 reaps it, and tells its peak memory besides")]
pub fn cost(command: &mut Command) -> (f64, i64) {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the child is ours and not waited for elsewhere; both pointers are to live locals.
    let ended = unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) };
    let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
    assert_eq!(ended, child.id() as libc::pid_t, "waiting failed: {}", std::io::Error::last_os_error());
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        "expected exit 0 of {command:?}, found wait status {status}; its complaints are above"
    );
    (elapsed_ms, usage.ru_maxrss)
}
