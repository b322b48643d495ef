//! A session against a stand-in for an agent at the other end of two pipes.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::error::{ConnectError, SessionError};
use super::session::{End, Session, Wire};
use crate::conduct::lab::LabEvent;
use crate::protocol::message::{Answer, Ask, Request, VERSION, Welcome};

struct Counted(Arc<AtomicUsize>);

impl End for Counted {
    fn cut(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn story(&self) -> String {
        "its last words".into()
    }
}

struct StandIn {
    lines: std::io::Lines<BufReader<PipeReader>>,
    out: PipeWriter,
}

impl StandIn {
    /// The next request that is no heartbeat; None at the end of input.
    fn hear(&mut self) -> Option<Request> {
        loop {
            let request: Request = serde_json::from_str(&self.lines.next()?.ok()?).ok()?;
            if request.ask != Ask::Beat {
                return Some(request);
            }
        }
    }

    fn say(&mut self, text: &str) {
        writeln!(self.out, "{text}").expect("the session reads");
    }

    fn welcome(&mut self, version: u32) {
        let id = self.hear().expect("a hello").id;
        let welcome = Welcome {
            version,
            lease: 3,
            pid: 1,
            hostname: "h".into(),
            boot_id: "b".into(),
            isolation: "process-group".into(),
            found: Default::default(),
        };
        let answer = serde_json::to_string(&Answer::Welcome(welcome)).expect("it is plain");
        self.say(&format!(r#"{{"re":{id},"answer":{answer}}}"#));
    }
}

type Opened = (Result<Session, ConnectError>, JoinHandle<()>, Arc<AtomicUsize>);

fn open(lease_ms: u64, agent: impl FnOnce(StandIn) + Send + 'static) -> Opened {
    let ((their_in, input), (output, their_out)) = (io::pipe().expect("a pipe"), io::pipe().expect("a pipe"));
    let cuts = Arc::new(AtomicUsize::new(0));
    let thread = std::thread::spawn(move || {
        agent(StandIn { lines: BufReader::new(their_in).lines(), out: their_out })
    });
    let wire = Wire { input: input.into(), output: output.into(), end: Box::new(Counted(cuts.clone())) };
    (Session::open("h1", wire, "tester", Duration::from_millis(lease_ms)), thread, cuts)
}

#[test]
fn what_a_login_shell_prints_before_the_agent_is_passed_over() {
    let (session, thread, _) = open(5000, |mut agent| {
        agent.say("Welcome to h1!\n\nLast login: yesterday");
        agent.welcome(VERSION);
        while agent.hear().is_some() {}
    });
    assert_eq!(session.expect("a session").welcome().lease, 3);
    thread.join().expect("the agent sees the end of its input");
}

#[test]
fn another_version_of_the_protocol_is_refused() {
    let (session, ..) = open(5000, |mut agent| agent.welcome(VERSION + 1));
    assert!(matches!(session.map(drop), Err(ConnectError::Protocol { .. })));
}

#[test]
fn an_agent_that_does_not_speak_is_reported_with_its_last_words() {
    let (session, _, cuts) = open(5000, drop);
    match session.map(drop) {
        Err(ConnectError::Agent { host, found }) => {
            assert_eq!(host, "h1");
            assert!(found.contains("its last words"), "{found}");
        }
        other => panic!("expected Agent, found {other:?}"),
    }
    assert!(cuts.load(Ordering::SeqCst) > 0);
}

#[test]
fn silence_is_a_loss_after_the_lease_and_not_before() {
    let begun = Instant::now();
    let (quiet, hold) = mpsc::channel::<()>();
    let (session, ..) = open(300, move |mut agent| {
        agent.welcome(VERSION);
        let _ = hold.recv();
    });
    let session = session.expect("a session");
    let (sender, events) = mpsc::channel();
    session.attach("h1", sender);
    match events.recv_timeout(Duration::from_secs(5)) {
        Ok(LabEvent::Lost { host, why }) => assert!(host == "h1" && why.contains("silent"), "{host} {why}"),
        other => panic!("expected Lost, found {other:?}"),
    }
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert!(
        matches!(session.ask(Ask::Stop { job: 1 }), Err(SessionError::Lost(why)) if why.contains("silent"))
    );
    drop(quiet);
}

#[test]
fn a_question_under_way_when_the_agent_dies_ends_with_its_loss() {
    let (session, ..) = open(5000, |mut agent| {
        agent.welcome(VERSION);
        agent.hear();
    });
    let lost = session.expect("a session").ask(Ask::Stop { job: 1 });
    assert!(
        matches!(&lost, Err(SessionError::Lost(why)) if why.contains("ended: its last words")),
        "{lost:?}"
    );
}

#[test]
fn nonsense_from_a_welcomed_agent_is_a_loss() {
    let (session, ..) = open(5000, |mut agent| {
        agent.welcome(VERSION);
        agent.say("Segmentation fault");
        while agent.hear().is_some() {}
    });
    let session = session.expect("a session");
    let (sender, events) = mpsc::channel();
    session.attach("h1", sender);
    match events.recv_timeout(Duration::from_secs(5)) {
        Ok(LabEvent::Lost { why, .. }) => assert!(why.contains("Segmentation fault"), "{why}"),
        other => panic!("expected Lost, found {other:?}"),
    }
}

#[test]
fn an_ordered_farewell_is_no_loss() {
    let (session, thread, _) = open(5000, |mut agent| {
        agent.welcome(VERSION);
        assert_eq!(agent.hear().map(|r| r.ask), Some(Ask::Bye));
    });
    let (sender, events) = mpsc::channel();
    let session = session.expect("a session");
    session.attach("h1", sender);
    drop(session);
    thread.join().expect("the agent heard the farewell");
    assert_eq!(events.try_recv().ok(), None);
}
