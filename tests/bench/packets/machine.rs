//! What the machine gives and takes: CPU time of processes, stolen time, priority.

use std::collections::BTreeMap;
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

/// What each thread of some processes has had of its CPU, by thread.
pub fn turns(processes: &[u32]) -> BTreeMap<u32, Turns> {
    let folders = processes.iter().filter_map(|process| fs::read_dir(format!("/proc/{process}/task")).ok());
    let turns = |thread: fs::DirEntry| -> Option<(u32, Turns)> {
        let number = thread.file_name().to_str()?.parse().ok()?;
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let mut fields = text.split(' ').map_while(|field| field.parse().ok());
        Some((number, Turns { ran_ns: fields.next()?, waited_ns: fields.next()? }))
    };
    folders.flat_map(|folder| folder.flatten()).filter_map(turns).collect()
}

/// Since a thread began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turns {
    pub ran_ns: u64,
    /// Ready to run, while its CPU was with others.
    pub waited_ns: u64,
}

/// What happened to the threads of a tool between two looks: the time that all ran, and the time that the
/// busiest of them waited.
pub fn between(first: &BTreeMap<u32, Turns>, last: &BTreeMap<u32, Turns>) -> Turns {
    let each = last.iter().filter_map(|(thread, last)| {
        let first = first.get(thread)?;
        Some(Turns { ran_ns: last.ran_ns - first.ran_ns, waited_ns: last.waited_ns - first.waited_ns })
    });
    let each: Vec<_> = each.collect();
    let busiest = each.iter().max_by_key(|turns| turns.ran_ns).copied().unwrap_or_default();
    Turns { ran_ns: each.iter().map(|turns| turns.ran_ns).sum(), ..busiest }
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
