//! What the machine gives and takes: CPU time of processes, stolen time, priority.

use std::fs;

/// Above the tools' 1, so that counters are read when they are due.
const OWN_PRIORITY: libc::c_int = 2;

/// Gives this thread the first turn on its CPU; children start without it.
pub fn come_first() {
    let wanted = libc::sched_param { sched_priority: OWN_PRIORITY };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `wanted` outlives the call; 0 is the calling thread.
    let code = unsafe { libc::sched_setscheduler(0, policy, &wanted) };
    assert_eq!(code, 0, "real-time priority: {}", std::io::Error::last_os_error());
}

/// Processes of a process group.
pub fn members(group: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter(|process| group_of(*process) == Some(group)).collect()
}

fn group_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in brackets may hold anything; after it come state, parent and group.
    stat.rsplit_once(") ")?.1.split(' ').nth(2)?.parse().ok()
}

/// Nanoseconds that all threads of some processes have run.
pub fn cpu_ns(processes: &[u32]) -> u64 {
    let of_process = |process: &u32| -> u64 {
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return 0 };
        let ran = |path: std::path::PathBuf| -> Option<u64> {
            fs::read_to_string(path.join("schedstat")).ok()?.split(' ').next()?.parse().ok()
        };
        threads.flatten().filter_map(|thread| ran(thread.path())).sum()
    };
    processes.iter().map(of_process).sum()
}

/// Nanoseconds that the hypervisor has given to others instead of one of our CPUs.
pub fn stolen_ns() -> u64 {
    let stat = fs::read_to_string("/proc/stat").expect("/proc/stat");
    let line = stat.lines().next().expect("a line for all CPUs");
    // cpu user nice system idle iowait irq softirq steal, in hundredths of a second (USER_HZ).
    let ticks: u64 = line.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok()).unwrap_or(0);
    ticks * 10_000_000
}

/// Whether a program can be started by its name.
pub fn is_installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}
