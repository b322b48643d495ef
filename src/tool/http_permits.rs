//! A scarce resource behind a server: permits, the work done while one is held, and what became of requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::nic::clock::monotonic_ns;

/// Requests that wait for a permit at once; more are turned away, or a load that nobody bounds would fill
/// the memory.
const MOST_WAITING: u64 = 100_000;

/// What happens to a request whose client has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// It keeps its place and its permit, and its work is done for nobody
    Yes,
    /// It gives both back at once
    No,
}

/// Permits and the account of all requests for them.
#[derive(Debug)]
pub struct Permits {
    permits: Semaphore,
    work: Duration,
    hold: Hold,
    tally: Mutex<Tally>,
}

/// What became of the requests. `requests` is the sum of `served`, `given_up`, `turned_away` and, as long as
/// the server runs, of those that it still has in hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    pub connections: u64,
    pub requests: u64,
    /// Answered while the client was still there.
    pub served: u64,
    /// The client closed its connection before its answer.
    pub given_up: u64,
    /// Asked for something else than work, or came while too many waited.
    pub turned_away: u64,
    /// Works carried out to their end, also those for nobody.
    pub work_done: u64,
    /// In all, while working.
    pub held_ns: u64,
    /// Of one work.
    pub most_held_ns: u64,
    /// At once, without a permit.
    pub most_waiting: u64,
    /// At once, with a permit.
    pub most_working: u64,
    #[serde(skip)]
    waiting: u64,
    #[serde(skip)]
    working: u64,
}

impl Permits {
    #[must_use]
    pub fn new(permits: usize, work: Duration, hold: Hold) -> Self {
        Self { permits: Semaphore::new(permits), work, hold, tally: Mutex::default() }
    }

    /// One request: waits for a permit, works, and is counted also when it is dropped on the way.
    /// False when too many wait already.
    pub async fn serve(self: &Arc<Self>) -> bool {
        let mut request = Request { permits: Arc::clone(self), told: false };
        self.tally().requests += 1;
        if self.tally().waiting >= MOST_WAITING {
            request.end(|tally| tally.turned_away += 1);
            return false;
        }
        match self.hold {
            Hold::No => Arc::clone(self).carry_out().await,
            // A task of its own does not end with the connection. It fails only where the server ends.
            Hold::Yes => drop(tokio::spawn(Arc::clone(self).carry_out()).await),
        }
        request.end(|tally| tally.served += 1);
        true
    }

    /// A request for something that this server does not have.
    pub fn turn_away(&self) {
        let mut tally = self.tally();
        tally.requests += 1;
        tally.turned_away += 1;
    }

    pub fn connected(&self) {
        self.tally().connections += 1;
    }

    #[must_use]
    pub fn so_far(&self) -> Tally {
        *self.tally()
    }

    async fn carry_out(self: Arc<Self>) {
        let waiting = Within::new(Arc::clone(&self), |tally| (&mut tally.waiting, &mut tally.most_waiting));
        // The semaphore is never closed.
        let permit = self.permits.acquire().await;
        drop(waiting);
        let working = Within::new(Arc::clone(&self), |tally| (&mut tally.working, &mut tally.most_working));
        let began_ns = monotonic_ns();
        tokio::time::sleep(self.work).await;
        let held_ns = monotonic_ns() - began_ns;
        drop((working, permit));
        let mut tally = self.tally();
        tally.work_done += 1;
        tally.held_ns += held_ns;
        tally.most_held_ns = tally.most_held_ns.max(held_ns);
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        // Plain numbers are whole whoever panicked beside them.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in hand; dropped without an end, its client has gone.
struct Request {
    permits: Arc<Permits>,
    told: bool,
}

impl Request {
    fn end(&mut self, count: impl FnOnce(&mut Tally)) {
        self.told = true;
        count(&mut self.permits.tally());
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if !self.told {
            self.permits.tally().given_up += 1;
        }
    }
}

/// Picks a number of the tally and the most that it ever was.
type Place = fn(&mut Tally) -> (&mut u64, &mut u64);

/// Counted as long as it lives.
struct Within {
    permits: Arc<Permits>,
    place: Place,
}

impl Within {
    fn new(permits: Arc<Permits>, place: Place) -> Self {
        let mut tally = permits.tally();
        let (now, most) = place(&mut tally);
        *now += 1;
        *most = (*most).max(*now);
        drop(tally);
        Self { permits, place }
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        *(self.place)(&mut self.permits.tally()).0 -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two requests for one permit: the first has it, the second waits, and both clients go.
    fn both_leave(hold: Hold) -> Tally {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let permits = Arc::new(Permits::new(1, Duration::from_millis(20), hold));
            let first = tokio::time::timeout(Duration::from_millis(2), permits.serve());
            let second = tokio::time::timeout(Duration::from_millis(2), permits.serve());
            let (first, second) = tokio::join!(first, second);
            assert!(first.is_err() && second.is_err(), "both are still in hand");
            // The third gets the permit at once where it was given back, and after both works where it was held.
            assert!(permits.serve().await);
            permits.so_far()
        })
    }

    #[test]
    fn a_permit_that_is_held_for_nobody_is_worked_for_nobody() {
        let held = both_leave(Hold::Yes);
        assert_eq!((held.requests, held.given_up, held.served), (3, 2, 1));
        assert_eq!((held.work_done, held.most_working, held.most_waiting), (3, 1, 2), "{held:?}");
        let released = both_leave(Hold::No);
        assert_eq!((released.requests, released.given_up, released.served), (3, 2, 1));
        assert_eq!((released.work_done, released.most_working), (1, 1), "{released:?}");
        for tally in [held, released] {
            assert_eq!((tally.waiting, tally.working), (0, 0));
            assert!(tally.most_held_ns >= 20_000_000 && tally.held_ns >= tally.work_done * 20_000_000);
        }
    }

    #[test]
    fn no_more_work_at_once_than_there_are_permits() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let tally = runtime.block_on(async {
            let permits = Arc::new(Permits::new(2, Duration::from_millis(2), Hold::No));
            let mut all = tokio::task::JoinSet::new();
            for _ in 0..9 {
                let permits = Arc::clone(&permits);
                all.spawn(async move { permits.serve().await });
            }
            while let Some(done) = all.join_next().await {
                assert!(done.expect("no panic"));
            }
            permits.so_far()
        });
        assert_eq!((tally.served, tally.most_working, tally.most_waiting), (9, 2, 7), "{tally:?}");
    }
}
