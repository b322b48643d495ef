//! Killing what a dead init left, where no namespace does it for us.

use std::fs;

use super::resolve::JOB_MARK;

/// Processes that the agent inherited from a killed init: those of its children that carry the mark of
/// a job and are no init. A subreaper gets its grandchildren one generation at a time, hence the rounds.
pub fn kill_marked_orphans() {
    const ROUNDS: usize = 50;
    for _ in 0..ROUNDS {
        let orphans: Vec<i32> = children().into_iter().filter(|pid| is_marked(*pid)).collect();
        if orphans.is_empty() {
            return;
        }
        for pid in orphans {
            // SAFETY: plain system calls on the number of a child of ours, which cannot be reused before it is reaped.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), 0);
            }
        }
    }
}

fn children() -> Vec<i32> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|text| text.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// An init is a copy of the agent and has the agent's own environment, which carries no mark.
fn is_marked(pid: i32) -> bool {
    let marked =
        |entry: &[u8]| entry.strip_prefix(JOB_MARK.as_bytes()).is_some_and(|rest| rest.starts_with(b"="));
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|env| env.split(|b| *b == 0).any(marked))
}
