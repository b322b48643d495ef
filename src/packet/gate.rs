//! One starting instant for all threads of a run.

use std::sync::{Condvar, Mutex, PoisonError};

/// Shut until it is opened or the run is called off; the first of the two stays.
#[derive(Debug, Default)]
pub struct Gate {
    /// None while shut; then the start, or None inside where the run was called off.
    start: Mutex<Option<Option<u64>>>,
    changed: Condvar,
}

impl Gate {
    /// Waits, and returns the instant of the start; None when there will be none.
    pub fn wait(&self) -> Option<u64> {
        let shut = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        let open = self.changed.wait_while(shut, |start| start.is_none());
        open.unwrap_or_else(PoisonError::into_inner).flatten()
    }

    /// Lets all go; `start_ns` is the start of each.
    pub fn open(&self, start_ns: u64) {
        self.set(Some(start_ns));
    }

    /// Sends all home, unless they have gone already.
    pub fn call_off(&self) {
        self.set(None);
    }

    fn set(&self, start: Option<u64>) {
        self.start.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(start);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn all_get_the_same_start_and_a_run_called_off_has_none() {
        for (open, expected) in [(true, Some(7)), (false, None)] {
            let gate = Gate::default();
            thread::scope(|scope| {
                let waiting: Vec<_> = (0..3).map(|_| scope.spawn(|| gate.wait())).collect();
                if open {
                    gate.open(7);
                }
                gate.call_off();
                gate.open(9);
                for thread in waiting {
                    assert_eq!(thread.join().expect("no panic"), expected);
                }
            });
        }
    }
}
