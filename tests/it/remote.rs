//! Sessions over a real sshd: what holds, what breaks, and what is said about it.
//!
//! Sessions live in the process that opens them, so each test runs itself once more inside its lab.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fieldtrial::conduct::lab::{Lab as _, LabEvent};
use fieldtrial::model::hosts::{Become, Host, Transport};
use fieldtrial::model::job::{End, Program};
use fieldtrial::remote::error::ConnectError;
use fieldtrial::remote::fleet::Fleet;
use fieldtrial::remote::session::Session;
use fieldtrial::remote::ssh::{self, SshOptions};

use crate::lab::{Faults, Lab};
use crate::process;
use crate::scene::{EXE, NASTY, ended, kill, spec, token, until_alive};

const INSIDE: &str = "FIELDTRIAL_TEST_INSIDE";
const GONE: Duration = Duration::from_secs(5);

/// True in the run inside the lab. Outside it makes the lab, runs the test of this name in there, and is false.
fn inside(faults: &Faults) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let Some(lab) = Lab::with(faults) else { return false };
    let name = std::thread::current().name().expect("a test has a name").to_owned();
    let mut command = lab.command(std::env::current_exe().expect("a test knows its program"));
    command.args(["--exact", &name, "--nocapture"]).env(INSIDE, "1").env_remove("FIELDTRIAL_SKIPS");
    let output = process::finish(&mut command, Duration::from_secs(120));
    let told = process::told(&output);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    false
}

fn host(name: &str) -> Host {
    let config = PathBuf::from(std::env::var_os("FIELDTRIAL_LAB").expect("the lab says where it lies"))
        .join("ssh_config");
    let transport =
        Transport::Ssh { alias: name.into(), user: None, config: Some(config), r#become: Become::No };
    Host { name: name.into(), transport, ports: Default::default(), requirements: Default::default() }
}

fn options(lease_ms: u64) -> SshOptions {
    SshOptions {
        holder: "tester on desk".into(),
        lease: Duration::from_millis(lease_ms),
        exe: EXE.into(),
        agents: BTreeMap::new(),
        limit: Duration::from_secs(10),
        agent_args: vec![],
    }
}

fn connect(name: &str, lease_ms: u64) -> Result<Session, ConnectError> {
    ssh::connect(&host(name), &options(lease_ms))
}

fn fleet(lease_ms: u64) -> Fleet {
    let mut fleet = Fleet::new();
    fleet.add("h1", connect("h1", lease_ms).unwrap_or_else(|e| panic!("{e}")));
    fleet
}

fn with_nasty_job(lease_ms: u64) -> (Fleet, String) {
    let mut fleet = fleet(lease_ms);
    let token = token();
    fleet.start("h1", spec(Program::Shell(NASTY.into()), &token)).expect("the agent takes the job");
    until_alive(&token, |n| n >= 5, Duration::from_secs(5));
    (fleet, token)
}

fn loss(fleet: &mut Fleet) -> (String, Duration) {
    let begun = Instant::now();
    loop {
        match fleet.next(Duration::from_secs(20)) {
            Some(LabEvent::Lost { why, .. }) => return (why, begun.elapsed()),
            Some(_) => {}
            None => panic!("the loss was not told within 20 s"),
        }
    }
}

/// Processes in this sandbox whose command line has all of these words.
fn processes(words: &[&str]) -> Vec<i32> {
    let pids = std::fs::read_dir("/proc").expect("/proc").flatten();
    pids.filter_map(|e| e.file_name().to_string_lossy().parse().ok())
        .filter(|pid: &i32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            words.iter().all(|word| line.contains(word))
        })
        .collect()
}

#[test]
fn two_hosts_are_reached_and_tell_statuses_and_words_apart() {
    if !inside(&Faults::default()) {
        return;
    }
    let mut fleet = fleet(10_000);
    fleet.add("h2", connect("h2", 10_000).unwrap_or_else(|e| panic!("{e}")));
    for name in ["h1", "h2"] {
        assert_eq!(fleet.welcome(name).unwrap().hostname, name);
        let facts = fleet.facts(name, BTreeMap::from([("p".into(), "test0".into())]), vec![]).unwrap();
        assert_eq!(facts["management_interfaces"], serde_json::json!(["eth0"]));
        assert_eq!(facts["ports"]["p"]["driver"], "veth");
    }
    // Cases S01, S02, S04 over ssh.
    for (text, end) in
        [("exit 255", End::Exited(255)), ("kill -9 $$", End::Signalled(9)), ("exit 127", End::Exited(127))]
    {
        let id = fleet.start("h1", spec(Program::Shell(text.into()), &token())).unwrap();
        assert_eq!(ended(&mut fleet, id).0.end, end, "{text}");
    }
    let words = ["/usr/bin/printf", "[%s]", "a b", "c;echo hi", "*", "$HOME", "", "it's"];
    let id = fleet.start("h2", spec(Program::Argv(words.map(str::to_owned).to_vec()), &token())).unwrap();
    ended(&mut fleet, id);
    assert_eq!(fleet.heads(id, 1000).unwrap().0, b"[a b][c;echo hi][*][$HOME][][it's]");
    // Everything that was started for the sessions ends with them.
    drop(fleet);
    assert_eq!(processes(&["agent-"]), [0i32; 0]);
    assert_eq!(processes(&["ssh", "ControlPersist=no"]), [0i32; 0]);
    // The binary is there now: no second upload.
    let begun = std::fs::metadata(EXE).unwrap().len();
    let session = connect("h1", 10_000).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(session.welcome().lease, 2, "{begun}");
}

#[test]
fn a_leased_host_is_refused_with_the_name_of_its_holder() {
    if !inside(&Faults::default()) {
        return;
    }
    let _first = connect("h1", 10_000).unwrap_or_else(|e| panic!("{e}"));
    match connect("h1", 10_000).map(drop) {
        Err(ConnectError::Leased { holder, .. }) => assert!(holder.contains("tester on desk"), "{holder}"),
        other => panic!("expected Leased, found {other:?}"),
    }
}

#[test]
fn a_host_key_that_differs_or_is_unknown_is_refused_in_openssh_words() {
    let faults = Faults { wrong_key: vec!["h1"], unknown_key: vec!["h2"], ..Faults::default() };
    if !inside(&faults) {
        return;
    }
    for (name, words) in [("h1", "IDENTIFICATION HAS CHANGED"), ("h2", "host key is known")] {
        match connect(name, 10_000).map(drop) {
            Err(ConnectError::HostKey { found, .. }) => assert!(found.contains(words), "{found}"),
            other => panic!("expected HostKey, found {other:?}"),
        }
    }
}

#[test]
fn hosts_that_cannot_take_an_agent_say_why() {
    let faults = Faults { noexec: vec!["h1"], full: vec!["h2"], ..Faults::default() };
    if !inside(&faults) {
        return;
    }
    match connect("h1", 10_000).map(drop) {
        Err(ConnectError::NoFolder { tried, .. }) => {
            assert!(tried.contains("/run/fieldtrial: noexec"), "{tried}")
        }
        other => panic!("expected NoFolder, found {other:?}"),
    }
    match connect("h2", 10_000).map(drop) {
        Err(ConnectError::DiskFull { .. }) => {}
        // Without room for a folder none can be made.
        Err(ConnectError::NoFolder { tried, .. }) => assert!(tried.contains("unwritable"), "{tried}"),
        other => panic!("expected DiskFull, found {other:?}"),
    }
}

#[test]
fn an_unreachable_host_and_a_refused_key_are_told_apart() {
    if !inside(&Faults::default()) {
        return;
    }
    let nobody = host("198.18.0.1");
    assert!(matches!(
        ssh::connect(&nobody, &options(10_000)).map(drop),
        Err(ConnectError::Unreachable { .. })
    ));
    let mut stranger = host("h1");
    let Transport::Ssh { config: Some(config), .. } = &mut stranger.transport else { unreachable!() };
    let text = std::fs::read_to_string(&*config).unwrap().replace("/id\n", "/foreign\n");
    *config = config.with_file_name("ssh_config_of_a_stranger");
    std::fs::write(&*config, text).unwrap();
    let refused = ssh::connect(&stranger, &options(10_000)).map(drop);
    assert!(matches!(refused, Err(ConnectError::Authentication { .. })), "{refused:?}");
}

#[test]
fn a_machine_of_another_kind_needs_an_agent_of_its_kind() {
    if !inside(&Faults::default()) {
        return;
    }
    // h1 calls itself what it is not.
    let ssh_config = host("h1");
    let Transport::Ssh { config: Some(config), .. } = &ssh_config.transport else { unreachable!() };
    let script = "mkdir -p /usr/local/bin && printf '#!/bin/sh\\necho riscv64\\n' >/usr/local/bin/uname; chmod 755 /usr/local/bin/uname";
    let mut command = std::process::Command::new("ssh");
    command.arg("-F").arg(config).args(["h1", script]);
    assert!(process::finish(&mut command, Duration::from_secs(10)).status.success());
    match connect("h1", 10_000).map(drop) {
        Err(error @ ConnectError::Architecture { .. }) => {
            assert!(error.to_string().contains("--agent riscv64=PATH"), "{error}");
        }
        other => panic!("expected Architecture, found {other:?}"),
    }
    let mut given = options(10_000);
    given.agents = BTreeMap::from([("riscv64".into(), EXE.into())]);
    ssh::connect(&host("h1"), &given).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_killed_master_is_noticed_and_leaves_nothing_on_the_host() {
    if !inside(&Faults::default()) {
        return;
    }
    let (mut fleet, token) = with_nasty_job(10_000);
    let masters = processes(&["ssh", "ControlPersist=no"]);
    assert_eq!(masters.len(), 1);
    kill(masters[0], libc::SIGKILL);
    let (why, took) = loss(&mut fleet);
    assert!(took < Duration::from_secs(2) && why.contains("ssh master ended"), "{took:?}: {why}");
    until_alive(&token, |n| n == 0, GONE);
    // The lease is free as soon as the tree is gone.
    connect("h1", 10_000).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_killed_agent_and_a_killed_connection_are_noticed_and_leave_nothing() {
    if !inside(&Faults::default()) {
        return;
    }
    for words in [&["agent-", "--ssh-connection"][..], &["sshd: root@notty"][..]] {
        let (mut fleet, token) = with_nasty_job(10_000);
        let victims = processes(words);
        assert!(!victims.is_empty(), "{words:?}");
        for pid in victims.iter().take(1) {
            kill(*pid, libc::SIGKILL);
        }
        let (why, took) = loss(&mut fleet);
        assert!(took < Duration::from_secs(3), "{words:?} {took:?}: {why}");
        until_alive(&token, |n| n == 0, GONE);
    }
}

#[test]
fn a_pulled_cable_and_a_frozen_agent_are_noticed_within_the_lease() {
    if !inside(&Faults::default()) {
        return;
    }
    let (mut fleet, token) = with_nasty_job(1500);
    let agents = processes(&["agent-", "--ssh-connection"]);
    // The agent and the inits of its jobs are copies of each other; the agent was there first.
    let agent = agents.iter().min().copied().expect("the agent runs");
    kill(agent, libc::SIGSTOP);
    let (why, took) = loss(&mut fleet);
    assert!(why.contains("silent") && took < Duration::from_secs(3), "{took:?}: {why}");
    until_alive(&token, |n| n == 0, GONE);
    kill(agent, libc::SIGKILL);
    drop(fleet);

    let (mut fleet, token) = with_nasty_job(1500);
    let mut command = std::process::Command::new("ip");
    command.args(["link", "set", "labh1", "down"]);
    assert!(process::finish(&mut command, Duration::from_secs(10)).status.success());
    let (why, took) = loss(&mut fleet);
    assert!(why.contains("silent") && took < Duration::from_secs(3), "{took:?}: {why}");
    until_alive(&token, |n| n == 0, GONE);
}

/// Not a test of its own: holds a session with a job until it is killed.
#[test]
fn a_killed_workstation_leaves_no_master_no_agent_and_no_job() {
    const CLIENT: &str = "FIELDTRIAL_TEST_CLIENT";
    if std::env::var_os(CLIENT).is_some() {
        let mut fleet = fleet(10_000);
        let token = std::env::var(CLIENT).unwrap();
        fleet.start("h1", spec(Program::Shell(NASTY.into()), &token)).unwrap();
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    if !inside(&Faults::default()) {
        return;
    }
    let token = token();
    let name = std::thread::current().name().unwrap().to_owned();
    let mut client = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name])
        .env(CLIENT, &token)
        .spawn()
        .unwrap();
    // One process less than in the lab itself: the client carries the token in another variable.
    until_alive(&token, |n| n >= 5, Duration::from_secs(10));
    client.kill().unwrap();
    client.wait().unwrap();
    until_alive(&token, |n| n == 0, GONE);
    let until = Instant::now() + GONE;
    while !processes(&["ssh", "ControlPersist=no"]).is_empty() || !processes(&["agent-"]).is_empty() {
        assert!(Instant::now() < until, "a master or an agent lives on");
        std::thread::sleep(Duration::from_millis(20));
    }
}
