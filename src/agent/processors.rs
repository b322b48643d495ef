//! The processors that a job is confined to.

use crate::model::job::Cpus;

/// Processors that this agent, and so its jobs, may use.
pub fn allowed() -> Vec<u32> {
    // SAFETY: a zeroed set is a valid one, and the kernel fills as many bytes as it has.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        set
    };
    // SAFETY: the number stays below the size of the set.
    (0..libc::CPU_SETSIZE as u32).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu as usize, &set) }).collect()
}

/// Picks processors: exactly those of a list, or so many, those first that the fewest other jobs have, and of
/// them the last, since interrupts and other programs crowd the first.
///
/// # Errors
/// A sentence: there are not so many, or one of them is not there.
pub fn choose(asked: &Cpus, allowed: &[u32], taken: &[u32]) -> Result<Vec<u32>, String> {
    let shown = || allowed.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match asked {
        Cpus::List(list) => match list.iter().find(|cpu| !allowed.contains(cpu)) {
            Some(missing) => {
                Err(format!("cpus: processor {missing} is not among those of this host: {}", shown()))
            }
            None => {
                let mut list = list.clone();
                list.sort_unstable();
                list.dedup();
                Ok(list)
            }
        },
        Cpus::Count(count) if *count as usize > allowed.len() => Err(format!(
            "cpus: {count} are asked for, and this host lets its agent use {} ({})",
            allowed.len(),
            shown()
        )),
        Cpus::Count(count) => {
            let mut by_use = allowed.to_vec();
            by_use.sort_by_key(|cpu| (taken.iter().filter(|other| *other == cpu).count(), u32::MAX - cpu));
            by_use.truncate(*count as usize);
            by_use.sort_unstable();
            Ok(by_use)
        }
    }
}

/// The set as the kernel takes it.
pub fn mask(cpus: &[u32]) -> libc::cpu_set_t {
    // SAFETY: a zeroed set is a valid one, and numbers come from such a set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for cpu in cpus.iter().filter(|cpu| **cpu < libc::CPU_SETSIZE as u32) {
            libc::CPU_SET(*cpu as usize, &mut set);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_beside_each_other_get_processors_of_their_own_as_long_as_there_are_any() {
        let of = |count, taken: &[u32]| choose(&Cpus::Count(count), &[0, 1, 2, 3], taken).unwrap();
        assert_eq!(of(1, &[]), [3]);
        assert_eq!(of(2, &[3]), [1, 2]);
        assert_eq!(of(4, &[3]), [0, 1, 2, 3]);
        assert_eq!(of(1, &[0, 1, 2, 3, 3]), [2]);
    }

    #[test]
    fn a_list_is_exact_and_more_than_there_are_is_refused() {
        assert_eq!(choose(&Cpus::List(vec![2, 0, 2]), &[0, 1, 2], &[]), Ok(vec![0, 2]));
        let error = choose(&Cpus::List(vec![0, 9]), &[0, 1, 2], &[]).unwrap_err();
        assert!(error.contains("processor 9 is not among those of this host: 0, 1, 2"), "{error}");
        let error = choose(&Cpus::Count(4), &[0, 1, 2], &[]).unwrap_err();
        assert!(error.contains("4 are asked for") && error.contains("use 3"), "{error}");
    }
}
