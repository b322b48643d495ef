//! One agent spoken to: requests and answers, heartbeats, silence noticed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::error::{ConnectError, SessionError};
use crate::conduct::lab::{JobId, LabEvent};
use crate::protocol::codec::{MAX_LINE, write_message};
use crate::protocol::message::{Answer, Ask, Reply, Request, VERSION, Welcome};

/// The way to an agent: two descriptors and whoever can end it all.
pub struct Wire {
    pub input: OwnedFd,
    pub output: OwnedFd,
    pub end: Box<dyn End>,
}

/// The other end of a wire, as a thing that can be cut off.
pub trait End: Send + Sync {
    /// Ends the way to the agent at once; the agent then sees the end of its input. May be called again.
    fn cut(&self);
    /// What is known about why it broke, empty when nothing is.
    fn story(&self) -> String;
}

/// An agent that holds its host's lease. Dropping it says goodbye and ends the agent.
pub struct Session {
    shared: Arc<Shared>,
    welcome: Welcome,
    finished: Receiver<()>,
    _heart: Sender<()>,
}

struct Shared {
    input: Mutex<Option<File>>,
    waiting: Mutex<HashMap<u64, Sender<Answer>>>,
    sink: Mutex<Sink>,
    lost: OnceLock<String>,
    /// We are ending it ourselves, so its end is no loss.
    closing: AtomicBool,
    next: AtomicU64,
    end: Box<dyn End>,
}

enum Sink {
    Held(Vec<LabEvent>),
    Into { host: String, events: Sender<LabEvent> },
}

/// Longest wait for an answer of an agent whose heart still beats; hashing of programs may take long.
const ANSWER_LIMIT: Duration = Duration::from_secs(600);
/// Longest wait for the first word.
const WELCOME_LIMIT: Duration = Duration::from_secs(20);
/// Lines that a login shell may print before the agent speaks.
const MOST_NOISE: usize = 200;
const FAREWELL: Duration = Duration::from_secs(2);
const STORY: Duration = Duration::from_millis(300);

impl Session {
    /// Says hello over `wire` and takes the lease of `host` for `holder`.
    ///
    /// # Errors
    /// `Leased`, `Protocol`, or `Agent` with what it said when it does not speak.
    pub fn open(host: &str, wire: Wire, holder: &str, lease: Duration) -> Result<Session, ConnectError> {
        let shared = Arc::new(Shared {
            input: Mutex::new(Some(File::from(wire.input))),
            waiting: Mutex::default(),
            sink: Mutex::new(Sink::Held(vec![])),
            lost: OnceLock::new(),
            closing: AtomicBool::new(false),
            next: AtomicU64::new(1),
            end: wire.end,
        });
        let (finish, finished) = mpsc::channel();
        let (reading, output) = (shared.clone(), File::from(wire.output));
        std::thread::spawn(move || {
            let why = read(&reading, output, lease);
            reading.lose(why);
            drop(finish);
        });
        let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        let hello = Ask::Hello { version: VERSION, holder: holder.to_owned(), lease_ms };
        let host = host.to_owned();
        let welcome = match shared.ask(hello, WELCOME_LIMIT) {
            Ok(Answer::Welcome(welcome)) if welcome.version == VERSION => Ok(welcome),
            Ok(Answer::Welcome(w)) => {
                let found =
                    format!("the agent speaks version {} of the protocol, we speak {VERSION}", w.version);
                Err(ConnectError::Protocol { host, found })
            }
            Ok(Answer::Leased { holder }) => Err(ConnectError::Leased { host, holder }),
            Ok(Answer::Fault { text }) if text.starts_with("protocol version") => {
                Err(ConnectError::Protocol { host, found: text })
            }
            Ok(Answer::Fault { text }) => Err(ConnectError::Agent { host, found: text }),
            Ok(other) => {
                Err(ConnectError::Protocol { host, found: format!("expected a welcome, found {other:?}") })
            }
            Err(SessionError::Lost(found) | SessionError::Refused(found)) => {
                Err(ConnectError::Agent { host, found })
            }
        };
        let welcome = welcome.inspect_err(|_| shared.hang_up(&finished))?;
        let (heart, stop) = mpsc::channel();
        let beating = shared.clone();
        std::thread::spawn(move || beat(&beating, &stop, lease / 4));
        Ok(Session { shared, welcome, finished, _heart: heart })
    }

    /// What the agent said when it gave the lease.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// One request and its answer; `Fault` and `Leased` come as errors.
    ///
    /// # Errors
    /// The agent refused, or is lost.
    pub fn ask(&self, ask: Ask) -> Result<Answer, SessionError> {
        match self.shared.ask(ask, ANSWER_LIMIT)? {
            Answer::Fault { text } => Err(SessionError::Refused(text)),
            Answer::Leased { holder } => {
                Err(SessionError::Refused(format!("the host's lease is with {holder}")))
            }
            answer => Ok(answer),
        }
    }

    /// A request whose answer nobody waits for.
    pub fn tell(&self, ask: Ask) {
        // A loss is noticed by the reader.
        let _ = self.shared.send(ask);
    }

    /// From now on events go to `events` under the name `host`, what came before first.
    pub fn attach(&self, host: &str, events: Sender<LabEvent>) {
        let mut sink = lock(&self.shared.sink);
        if let Sink::Held(held) = &mut *sink {
            for mut event in held.drain(..) {
                if let LabEvent::Lost { host: name, .. } = &mut event {
                    host.clone_into(name);
                }
                // Whoever dropped the receiver does not want events.
                let _ = events.send(event);
            }
        }
        *sink = Sink::Into { host: host.to_owned(), events };
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        if self.shared.lost.get().is_none() {
            let _ = self.shared.send(Ask::Bye);
        }
        self.shared.hang_up(&self.finished);
    }
}

impl Shared {
    fn send(&self, ask: Ask) -> Result<u64, SessionError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.send_as(id, ask).map(|()| id)
    }

    fn send_as(&self, id: u64, ask: Ask) -> Result<(), SessionError> {
        let mut input = lock(&self.input);
        let Some(file) = &mut *input else { return Err(self.loss()) };
        match write_message(file, &Request { id, ask }) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => Err(SessionError::Refused(e.to_string())),
            Err(_) => Err(self.loss()),
        }
    }

    fn ask(&self, ask: Ask, limit: Duration) -> Result<Answer, SessionError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel();
        lock(&self.waiting).insert(id, sender);
        // Looked at after the entry is made: `lose` clears the entries after it has set the reason.
        if self.lost.get().is_some() {
            lock(&self.waiting).remove(&id);
            return Err(self.loss());
        }
        if let Err(error) = self.send_as(id, ask) {
            lock(&self.waiting).remove(&id);
            return Err(error);
        }
        match receiver.recv_timeout(limit) {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Disconnected) => Err(self.loss()),
            Err(RecvTimeoutError::Timeout) => {
                lock(&self.waiting).remove(&id);
                Err(SessionError::Lost(format!("no answer within {} s", limit.as_secs())))
            }
        }
    }

    fn loss(&self) -> SessionError {
        // A write can fail a moment before the reader has found out why.
        for _ in 0..100 {
            if let Some(why) = self.lost.get() {
                return SessionError::Lost(why.clone());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        SessionError::Lost("the line to the agent is closed".into())
    }

    fn lose(&self, why: String) {
        self.end.cut();
        let why = self.lost.get_or_init(|| why).clone();
        lock(&self.waiting).clear();
        if self.closing.load(Ordering::SeqCst) {
            return;
        }
        match &mut *lock(&self.sink) {
            Sink::Held(held) => held.push(LabEvent::Lost { host: String::new(), why }),
            Sink::Into { host, events } => {
                // Whoever dropped the receiver does not want events.
                let _ = events.send(LabEvent::Lost { host: host.clone(), why });
            }
        }
    }

    /// Ends the agent's input and waits a moment for its own end before cutting it off.
    fn hang_up(&self, finished: &Receiver<()>) {
        self.closing.store(true, Ordering::SeqCst);
        lock(&self.input).take();
        let _ = finished.recv_timeout(FAREWELL);
        self.end.cut();
    }

    fn deliver(&self, reply: Reply) {
        if let Some(id) = reply.re {
            if let Some(sender) = lock(&self.waiting).remove(&id) {
                // Whoever asked may have given up.
                let _ = sender.send(reply.answer);
            }
            return;
        }
        let event = match reply.answer {
            Answer::Event { job, event } => LabEvent::Said { job: JobId(job), event },
            Answer::Ended { job, report } => LabEvent::Ended { job: JobId(job), report },
            _ => return,
        };
        match &mut *lock(&self.sink) {
            Sink::Held(held) => held.push(event),
            Sink::Into { events, .. } => {
                let _ = events.send(event);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread of its own, so that a busy conductor is never taken for a dead one.
fn beat(shared: &Shared, stop: &Receiver<()>, every: Duration) {
    while let Err(RecvTimeoutError::Timeout) = stop.recv_timeout(every) {
        if shared.send(Ask::Beat).is_err() {
            return;
        }
    }
}

/// Reads until the line ends, breaks or falls silent; why.
fn read(shared: &Shared, mut output: File, lease: Duration) -> String {
    let mut held: Vec<u8> = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    let (mut heard, mut spoken, mut noise) = (Instant::now(), false, 0);
    let story = |what: String| match shared.end.story() {
        told if told.is_empty() => what,
        told => format!("{what}: {told}"),
    };
    loop {
        let patience = if spoken { lease } else { WELCOME_LIMIT };
        let Some(wait) = patience.checked_sub(heard.elapsed()) else {
            return format!("silent for {} ms, which is longer than its lease", heard.elapsed().as_millis());
        };
        if !readable(&output, wait) {
            continue;
        }
        match output.read(&mut buffer) {
            Ok(0) => return story("the line to the agent ended".into()),
            Ok(n) => held.extend_from_slice(&buffer[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return story(format!("the line to the agent failed ({e})")),
        }
        heard = Instant::now();
        let Some(end) = held.iter().rposition(|b| *b == b'\n') else {
            if held.len() > MAX_LINE {
                return "the agent sent a line over the limit".into();
            }
            continue;
        };
        let rest = held.split_off(end + 1);
        for line in std::mem::replace(&mut held, rest).split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            match serde_json::from_slice::<Reply>(line) {
                Ok(reply) => {
                    spoken = true;
                    shared.deliver(reply);
                }
                Err(_) if !spoken && noise < MOST_NOISE => noise += 1,
                Err(e) => {
                    let shown = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
                    return format!("the agent sent what is no message ({e}): {shown}");
                }
            }
        }
    }
}

fn readable(file: &File, wait: Duration) -> bool {
    let mut entry = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let millis = wait.as_millis().min(3_600_000) as libc::c_int + 1;
    // SAFETY: one entry that lives across the call.
    unsafe { libc::poll(&mut entry, 1, millis) > 0 }
}

/// How long a `story` may wait for the last words of whoever died.
pub const STORY_WAIT: Duration = STORY;
