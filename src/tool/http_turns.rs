//! Whose turn it is: the requests of a load in order, each once, at their due times where they have some.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::nic::clock::{monotonic_ns, sleep_until_ns};

/// One request to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    pub number: u64,
    /// By the monotonic clock; None where it is due whenever somebody is free for it.
    pub due_ns: Option<u64>,
}

/// The requests that nobody has taken yet.
#[derive(Debug)]
pub struct Turns(Mutex<UnboundedReceiver<Turn>>);

impl Turns {
    /// A closed loop: each turn is there from the start.
    #[must_use]
    pub fn closed(requests: u64) -> Self {
        let (to_come, turns) = unbounded_channel();
        for number in 0..requests {
            // The receiver is alive, two lines above.
            let _ = to_come.send(Turn { number, due_ns: None });
        }
        Self(Mutex::new(turns))
    }

    /// An open loop: one turn every `gap` from `start_ns` on, whether or not anybody is free for it. A thread
    /// keeps the time, since the timers of the asynchronous runtime have steps of 1 ms.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn open(requests: u64, start_ns: u64, rate: f64) -> std::io::Result<Self> {
        let (to_come, turns) = unbounded_channel();
        let keep_time = move || keep_time(requests, start_ns, rate, &to_come);
        std::thread::Builder::new().name("arrivals".into()).spawn(keep_time)?;
        Ok(Self(Mutex::new(turns)))
    }

    /// The next one, once it is due; None after the last.
    pub async fn next(&self) -> Option<Turn> {
        self.0.lock().await.recv().await
    }
}

/// When a request of an open loop is due.
#[must_use]
pub fn due_ns(number: u64, start_ns: u64, rate: f64) -> u64 {
    start_ns + (number as f64 * 1e9 / rate) as u64
}

fn keep_time(requests: u64, start_ns: u64, rate: f64, to_come: &UnboundedSender<Turn>) {
    for number in 0..requests {
        let due_ns = due_ns(number, start_ns, rate);
        sleep_until_ns(due_ns);
        if to_come.send(Turn { number, due_ns: Some(due_ns) }).is_err() {
            return;
        }
    }
}

/// From now until an instant of the monotonic clock; nothing where it has passed.
#[must_use]
pub fn until(instant_ns: u64) -> Duration {
    Duration::from_nanos(instant_ns.saturating_sub(monotonic_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(turns: &Turns) -> Vec<(Turn, u64)> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let mut all = vec![];
            while let Some(turn) = turns.next().await {
                all.push((turn, monotonic_ns()));
            }
            all
        })
    }

    #[test]
    fn every_request_has_one_turn_in_either_loop() {
        let closed = all(&Turns::closed(5));
        assert_eq!(closed.iter().map(|(turn, _)| turn.number).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert!(closed.iter().all(|(turn, _)| turn.due_ns.is_none()));
        let start_ns = monotonic_ns();
        let open = all(&Turns::open(5, start_ns, 500.0).expect("a thread"));
        assert_eq!(open.iter().map(|(turn, _)| turn.number).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        for (turn, came_ns) in open {
            assert_eq!(turn.due_ns, Some(start_ns + turn.number * 2_000_000));
            assert!(came_ns >= start_ns + turn.number * 2_000_000, "never before it is due");
        }
    }

    #[test]
    fn due_times_do_not_drift() {
        assert_eq!(due_ns(100_000, 7, 3.0), 7 + 33_333_333_333_333);
    }
}
