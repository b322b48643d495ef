//! The last words of a stream that is only read for what it says when something goes wrong.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

const MOST: usize = 8 * 1024;

/// Collected by a thread of its own, so that whoever writes is never held up.
#[derive(Debug, Clone, Default)]
pub struct Tail {
    shared: Arc<(Mutex<Words>, Condvar)>,
}

#[derive(Debug, Default)]
struct Words {
    bytes: Vec<u8>,
    over: bool,
}

impl Tail {
    /// Reads `stream` to its end in the background.
    pub fn follow(mut stream: impl Read + Send + 'static) -> Tail {
        let tail = Tail::default();
        let shared = tail.shared.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                let n = stream.read(&mut buffer).unwrap_or(0);
                let mut words = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
                words.bytes.extend_from_slice(&buffer[..n]);
                let surplus = words.bytes.len().saturating_sub(MOST);
                words.bytes.drain(..surplus);
                words.over = n == 0;
                shared.1.notify_all();
                if n == 0 {
                    return;
                }
            }
        });
        tail
    }

    /// What was said last, once the stream has ended or `wait` has passed.
    pub fn text(&self, wait: Duration) -> String {
        let words = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (words, _) = self
            .shared
            .1
            .wait_timeout_while(words, wait, |w| !w.over)
            .unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&words.bytes).replace('\r', "").trim().to_owned()
    }
}
