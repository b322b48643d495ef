//! Ctrl-C in two stages: first finish the run under way, then end it.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use indicatif::ProgressBar;
use tokio::signal::unix::{SignalKind, signal};

use super::voice::aside;
use crate::conduct::Stop;

/// Requests to stop that this process received.
#[derive(Debug, Clone)]
pub struct Signals(Arc<AtomicU8>);

impl Signals {
    /// From here on SIGINT and SIGTERM are requests, no longer the end of the process. What was asked for
    /// once holds for everything that this process still does.
    /// What is asked is answered above the bar, where it stays.
    pub fn listen(bar: Option<ProgressBar>) -> Signals {
        static ASKED: OnceLock<(Signals, Mutex<Option<ProgressBar>>)> = OnceLock::new();
        if let Some((signals, known)) = ASKED.get() {
            *known.lock().unwrap_or_else(PoisonError::into_inner) = bar;
            return signals.clone();
        }
        let asked = Arc::new(AtomicU8::new(0));
        let (signals, known) = ASKED.get_or_init(|| (Signals(Arc::clone(&asked)), Mutex::new(bar)));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
                return;
            };
            runtime.block_on(async {
                let (Ok(mut interrupt), Ok(mut terminate)) =
                    (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
                else {
                    return;
                };
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                    }
                    let bar = known.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    match count.fetch_add(1, Ordering::Relaxed) {
                        0 => say(&bar, "stopping after the run under way; once more ends it at once"),
                        1 => say(&bar, "ending the run under way"),
                        // The hosts' own leases end what we can no longer end in good order.
                        _ => std::process::exit(130),
                    }
                }
            });
        });
        signals.clone()
    }

    pub fn stop(&self) -> Stop {
        match self.0.load(Ordering::Relaxed) {
            0 => Stop::No,
            1 => Stop::AfterRun,
            _ => Stop::Now,
        }
    }
}

fn say(bar: &Option<ProgressBar>, text: &str) {
    match bar {
        Some(bar) => bar.suspend(|| aside(format_args!("\n{text}"))),
        None => aside(text),
    }
}
