//! Whatever dies, nothing of a job lives on.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fieldtrial::conduct::lab::{Lab, LabError, LabEvent};
use fieldtrial::model::job::{End, Program};
use fieldtrial::protocol::message::{Ask, Request, VERSION};
use fieldtrial::remote::fleet::Fleet;
use fieldtrial::remote::local;

use crate::scene::{EXE, NASTY, Scene, alive, children, ended, is_root, kill, spec, token, until_alive};

const GONE: Duration = Duration::from_secs(4);

fn with_nasty_job(lease_ms: u64) -> Scene {
    let mut scene = Scene::open(lease_ms);
    scene.start(scene.shell(NASTY));
    until_alive(&scene.token, |n| n >= 5, Duration::from_secs(5));
    scene
}

fn loss(fleet: &mut Fleet) -> String {
    loop {
        match fleet.next(Duration::from_secs(10)) {
            Some(LabEvent::Lost { why, .. }) => return why,
            Some(_) => {}
            None => panic!("the loss was not told within 10 s"),
        }
    }
}

#[test]
fn a_killed_agent_takes_its_jobs_along_and_the_loss_is_told_at_once() {
    let mut scene = with_nasty_job(10_000);
    let begun = Instant::now();
    kill(scene.agent_pid(), libc::SIGKILL);
    loss(&mut scene.fleet);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    until_alive(&scene.token, |n| n == 0, GONE);
    let job = scene.argv(&["true"]);
    assert!(matches!(scene.fleet.start("here", job), Err(LabError::Lost { .. })));
}

#[test]
fn a_hung_agent_is_noticed_by_silence_and_its_jobs_end_by_themselves() {
    let mut scene = with_nasty_job(800);
    let pid = scene.agent_pid();
    let begun = Instant::now();
    kill(pid, libc::SIGSTOP);
    let why = loss(&mut scene.fleet);
    assert!(why.contains("silent"), "{why}");
    assert!(begun.elapsed() < Duration::from_millis(2500), "{:?}", begun.elapsed());
    until_alive(&scene.token, |n| n == 0, GONE);
}

#[test]
fn a_killed_init_takes_its_tree_along_and_the_agent_reports_it() {
    let mut scene = Scene::open(10_000);
    let id = scene.start(scene.shell(NASTY));
    until_alive(&scene.token, |n| n >= 5, Duration::from_secs(5));
    let inits = children(scene.agent_pid());
    assert_eq!(inits.len(), 1);
    kill(inits[0], libc::SIGKILL);
    let (report, _) = ended(&mut scene.fleet, id);
    assert_eq!(report.end, End::Signalled(9));
    until_alive(&scene.token, |n| n == 0, if is_root() { Duration::from_millis(100) } else { GONE });
    let (_, report, _) = scene.run(scene.argv(&["true"]));
    assert_eq!(report.end, End::Exited(0), "the agent goes on");
}

#[test]
fn dropping_the_session_ends_the_jobs() {
    let scene = with_nasty_job(10_000);
    let token = scene.token.clone();
    drop(scene);
    until_alive(&token, |n| n == 0, GONE);
}

/// An agent spoken to by hand, without heartbeats.
fn raw_agent(lease_ms: u64, token: &str) -> (std::process::Child, tempfile::TempDir) {
    let state = tempfile::tempdir().unwrap();
    let mut child = Command::new(EXE)
        .args(["agent", "--state"])
        .arg(state.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let asks = [
        Ask::Hello { version: VERSION, holder: "by hand".into(), lease_ms },
        Ask::Start { job: 1, spec: spec(Program::Shell(NASTY.into()), token) },
    ];
    let input = child.stdin.as_mut().unwrap();
    for (id, ask) in asks.into_iter().enumerate() {
        writeln!(input, "{}", serde_json::to_string(&Request { id: id as u64, ask }).unwrap()).unwrap();
    }
    until_alive(token, |n| n >= 5, Duration::from_secs(5));
    (child, state)
}

#[test]
fn a_silent_workstation_loses_its_jobs_after_the_lease() {
    let token = token();
    let (mut child, _state) = raw_agent(1000, &token);
    let took = until_alive(&token, |n| n == 0, GONE);
    assert!(took > Duration::from_millis(300), "it must not be the jobs' own end: {took:?}");
    assert_eq!(child.wait().unwrap().code(), Some(75));
}

#[test]
fn the_end_of_input_ends_the_jobs_at_once() {
    let token = token();
    let (mut child, _state) = raw_agent(60_000, &token);
    drop(child.stdin.take());
    let took = until_alive(&token, |n| n == 0, GONE);
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_agent_asked_to_end_by_a_signal_leaves_neither_job_nor_folder() {
    let token = token();
    let (mut child, _state) = raw_agent(60_000, &token);
    let folder = std::fs::read_link(format!("/proc/{}/cwd", alive(&token)[0])).unwrap();
    let work = folder.parent().unwrap();
    assert!(work.is_dir());
    kill(child.id() as i32, libc::SIGTERM);
    until_alive(&token, |n| n == 0, GONE);
    assert_eq!(child.wait().unwrap().code(), Some(75));
    assert!(!work.exists());
}

#[test]
fn a_hang_up_does_not_end_an_agent() {
    let token = token();
    let (mut child, _state) = raw_agent(60_000, &token);
    kill(child.id() as i32, libc::SIGHUP);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(child.try_wait().unwrap(), None);
    drop(child.stdin.take());
    until_alive(&token, |n| n == 0, GONE);
    child.wait().unwrap();
}

#[test]
fn lines_that_are_no_requests_are_answered_and_survived() {
    let state = tempfile::tempdir().unwrap();
    let mut child = Command::new(EXE)
        .args(["agent", "--state"])
        .arg(state.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for (line, expected) in [
        ("nonsense", r#"{"re":null,"answer":{"fault""#),
        (r#"{"id":7,"ask":{"dance":{}}}"#, r#"{"re":7,"answer":{"fault""#),
        (r#"{"id":8,"ask":{"stop":{"job":1}}}"#, r#"{"re":8,"answer":{"fault":{"text":"say hello first"#),
        (
            r#"{"id":9,"ask":{"hello":{"version":99,"holder":"x","lease_ms":1000}}}"#,
            r#"{"re":9,"answer":{"fault":{"text":"protocol version"#,
        ),
        (r#"{"id":10,"ask":"beat"}"#, r#"{"re":10,"answer":"beat"}"#),
    ] {
        writeln!(input, "{line}").unwrap();
        let answer = answers.next().unwrap().unwrap();
        assert!(answer.starts_with(expected), "{line}: {answer}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn without_namespaces_a_sweep_ends_the_tree_and_the_report_says_so() {
    let state = tempfile::tempdir().unwrap();
    // An ordinary user's agent: root gives its rights away first, in a folder that user can enter.
    let exe = state.path().join("agent.sh");
    let binary = state.path().join("fieldtrial");
    crate::desk::copy_program(EXE, &binary);
    let become_nobody = if is_root() { "setpriv --reuid=65534 --regid=65534 --clear-groups" } else { "" };
    let script = format!("#!/bin/sh\nexec {become_nobody} {} \"$@\"\n", binary.display());
    std::fs::write(&exe, script).unwrap();
    for path in [state.path(), &exe, &binary] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let folder = format!("/tmp/fieldtrial-test-{}", token());
    let args = ["--state".to_owned(), folder.clone()];
    let session = local::connect("here", &exe, &args, "tester", Duration::from_secs(10)).unwrap();
    assert_eq!(session.welcome().isolation, "process-group");
    let mut fleet = Fleet::new();
    fleet.add("here", session);
    let token = token();

    let mut job = spec(Program::Shell(NASTY.into()), &token);
    job.deadline_ms = 500;
    let id = fleet.start("here", job).unwrap();
    let (report, _) = ended(&mut fleet, id);
    assert_eq!((report.end, report.isolation.as_str()), (End::TimedOut, "process-group"));
    until_alive(&token, |n| n == 0, Duration::from_millis(50));

    let job = spec(Program::Shell("(setsid sleep 300 &); sleep 0.1; exit 3".into()), &token);
    let id = fleet.start("here", job).unwrap();
    let (report, _) = ended(&mut fleet, id);
    assert_eq!((report.end, report.left_behind), (End::Exited(3), 1));
    until_alive(&token, |n| n == 0, Duration::from_millis(50));

    let id = fleet.start("here", spec(Program::Shell(NASTY.into()), &token)).unwrap();
    until_alive(&token, |n| n >= 5, Duration::from_secs(5));
    let pid = fleet.welcome("here").unwrap().pid as i32;
    kill(children(pid)[0], libc::SIGKILL);
    let (report, _) = ended(&mut fleet, id);
    assert_eq!(report.end, End::Signalled(9));
    until_alive(&token, |n| n == 0, Duration::from_millis(500));

    fleet.start("here", spec(Program::Shell(NASTY.into()), &token)).unwrap();
    until_alive(&token, |n| n >= 5, Duration::from_secs(5));
    kill(pid, libc::SIGKILL);
    until_alive(&token, |n| n == 0, GONE);
    std::fs::remove_dir_all(folder).unwrap();
}
