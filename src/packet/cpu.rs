//! The CPUs that sending threads are bound to, where a person asks for it.

use std::io;

/// CPUs that a set can hold (CPU_SETSIZE).
const MOST_CPUS: usize = libc::CPU_SETSIZE as usize;

#[derive(Debug, thiserror::Error)]
pub enum CpuError {
    #[error("CPU {cpu} is not among those this process may use: {there}. `taskset -cp $$` shows them")]
    NotThere { cpu: usize, there: String },
    #[error("cannot bind a thread to CPU {cpu}: {source}")]
    Kernel { cpu: usize, source: io::Error },
    #[error("too few CPUs, {cpus} for {threads} sending threads: expected one for each")]
    Few { cpus: usize, threads: usize },
}

/// CPUs that the calling thread may run on.
#[must_use]
pub fn allowed() -> Vec<usize> {
    let mut set = empty();
    // SAFETY: pointer and size describe `set`; 0 is the calling thread.
    let code = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    // SAFETY: every number is below the size of the set.
    let has = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &set) };
    if code == 0 { (0..MOST_CPUS).filter(has).collect() } else { Vec::new() }
}

/// Refuses a list that is too short for the threads or names a CPU that may not be used. An empty list
/// binds no thread.
///
/// # Errors
/// Which CPU, and those that are there.
pub fn check(cpus: &[usize], threads: usize) -> Result<(), CpuError> {
    if !cpus.is_empty() && cpus.len() < threads {
        return Err(CpuError::Few { cpus: cpus.len(), threads });
    }
    let allowed = allowed();
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(&cpu) => {
            let there = allowed.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            Err(CpuError::NotThere { cpu, there })
        }
        None => Ok(()),
    }
}

/// Binds the calling thread to one CPU.
///
/// # Errors
/// The kernel refuses.
pub fn bind_thread(cpu: usize) -> Result<(), CpuError> {
    if cpu >= MOST_CPUS {
        return Err(CpuError::Kernel { cpu, source: io::Error::from_raw_os_error(libc::EINVAL) });
    }
    let mut set = empty();
    // SAFETY: the number is below the size of the set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: pointer and size describe `set`; 0 is the calling thread.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) } {
        0 => Ok(()),
        _ => Err(CpuError::Kernel { cpu, source: io::Error::last_os_error() }),
    }
}

fn empty() -> libc::cpu_set_t {
    // SAFETY: all-zero bytes are an empty set.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_thread_may_use_one_cpu_and_the_others_keep_theirs() {
        let before = allowed();
        let last = *before.last().expect("a thread runs somewhere");
        let bound =
            std::thread::spawn(move || bind_thread(last).map(|()| allowed())).join().expect("no panic");
        assert_eq!(bound.expect("bound"), [last]);
        assert_eq!(allowed(), before);
    }

    #[test]
    fn a_cpu_that_is_not_there_or_lacks_is_refused_with_those_that_are() {
        let there = allowed();
        assert!(check(&there, 1).is_ok() && check(&[], 16).is_ok());
        let text = check(&[there[0], 1023], 2).expect_err("no such CPU").to_string();
        assert!(text.contains("CPU 1023") && text.contains(&there[0].to_string()), "{text}");
        let text = check(&there[..1], 2).expect_err("too few").to_string();
        assert!(text.contains("1 for 2 sending"), "{text}");
        assert!(bind_thread(usize::MAX).is_err());
    }
}
