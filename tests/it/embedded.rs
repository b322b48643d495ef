//! The lab in a box, as root and as an ordinary user.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use fieldtrial::conduct::lab::Lab;
use fieldtrial::embedded::{self, EmbeddedError};
use fieldtrial::model::hosts::{Host, Hosts, Port, PortRef, Transport};
use fieldtrial::model::job::Program;
use fieldtrial::remote::fleet::Fleet;
use serde_json::json;

use crate::scene::{EXE, NASTY, children, ended, exe, is_root, spec, token, until_alive};
use crate::skip::skip;

fn hosts() -> Hosts {
    let host = |name: &str, interface: &str| {
        let port = Port { interface: interface.into(), expect: BTreeMap::new(), queues: 1 };
        let host = Host {
            name: name.into(),
            transport: Transport::Netns,
            ports: [("port0".to_owned(), port)].into_iter().collect(),
            requirements: Default::default(),
        };
        (name.to_owned(), host)
    };
    let port = |host: &str| PortRef { host: host.into(), port: "port0".into() };
    Hosts {
        hosts: [host("tx", "ft0"), host("rx", "ft1")].into_iter().collect(),
        links: vec![(port("tx"), port("rx"))],
        lease_ms: 5000,
    }
}

#[test]
fn two_hosts_are_cabled_and_see_only_their_own_ports() {
    let sessions = match embedded::open(&hosts(), &exe(), "tester") {
        Ok(sessions) => sessions,
        Err(why @ EmbeddedError::NotAllowed { .. }) => return skip("user-namespaces", &why.to_string()),
        Err(why) => panic!("{why}"),
    };
    let pids: Vec<u32> = sessions.iter().map(|(_, s)| s.welcome().pid).collect();
    let mut fleet = Fleet::new();
    for (name, session) in sessions {
        fleet.add(&name, session);
    }
    for (host, interface) in [("tx", "ft0"), ("rx", "ft1")] {
        let ports = BTreeMap::from([("port0".to_owned(), interface.to_owned())]);
        let facts = fleet.facts(host, ports, vec![]).unwrap();
        let port = &facts["ports"]["port0"];
        assert_eq!((&port["driver"], &port["carrier"]), (&json!("veth"), &json!(true)), "{port}");
        assert_eq!(facts["management_interfaces"], json!([]));
        let job = spec(
            Program::Shell("ls /sys/class/net | tr '\\n' ' '; tail -n +3 /proc/net/dev | wc -l".into()),
            &token(),
        );
        let id = fleet.start(host, job).unwrap();
        let (report, _) = ended(&mut fleet, id);
        let text = String::from_utf8_lossy(&fleet.heads(id, 1000).unwrap().0).into_owned();
        assert_eq!(text, format!("{interface} lo 2\n"), "{report:?}");
    }
    let other = fleet.facts("tx", BTreeMap::from([("x".to_owned(), "ft1".to_owned())]), vec![]).unwrap();
    assert_eq!(other["ports"]["x"]["present"], json!(false));
    drop(fleet);
    for pid in pids {
        assert!(!Path::new(&format!("/proc/{pid}/ns/net")).exists(), "agent {pid} is still there");
    }
}

#[test]
fn a_killed_workstation_leaves_neither_agent_nor_job() {
    const CLIENT: &str = "FIELDTRIAL_TEST_BOX_CLIENT";
    if let Ok(token) = std::env::var(CLIENT) {
        let mut fleet = Fleet::new();
        for (name, session) in embedded::open(&hosts(), &exe(), "tester").unwrap() {
            fleet.add(&name, session);
            fleet.start(&name, spec(Program::Shell(NASTY.into()), &token)).unwrap();
        }
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    if !is_root() {
        return skip("sandbox", "the lab in a box is opened by root here");
    }
    let token = token();
    let name = std::thread::current().name().unwrap().to_owned();
    let mut client = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name])
        .env(CLIENT, &token)
        .spawn()
        .unwrap();
    until_alive(&token, |n| n >= 10, Duration::from_secs(10));
    let agents = children(client.id() as i32);
    assert_eq!(agents.len(), 2);
    client.kill().unwrap();
    client.wait().unwrap();
    until_alive(&token, |n| n == 0, Duration::from_secs(4));
    let until = Instant::now() + Duration::from_secs(4);
    while agents.iter().any(|pid| Path::new(&format!("/proc/{pid}/exe")).exists()) {
        assert!(Instant::now() < until, "an agent of {agents:?} lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_ordinary_user_gets_the_same_lab_in_a_user_namespace() {
    if !is_root() {
        return skip(
            "sandbox",
            "root gives its rights away; the other test has just run as an ordinary user",
        );
    }
    // Root gives its rights away and runs the test above once more, on copies that the other user can reach.
    let folder = tempfile::Builder::new().prefix("ftuser-").tempdir().unwrap();
    let (test, program) = (folder.path().join("it"), folder.path().join("fieldtrial"));
    crate::desk::copy_program(std::env::current_exe().unwrap(), &test);
    crate::desk::copy_program(EXE, &program);
    for path in [folder.path(), &test, &program] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let output = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&test)
        .args(["--exact", "embedded::two_hosts_are_cabled_and_see_only_their_own_ports", "--nocapture"])
        .env("FIELDTRIAL_TEST_EXE", &program)
        .env("TMPDIR", "/tmp")
        .current_dir("/")
        .output()
        .unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if text.contains("SKIPPED") {
        skip("user-namespaces", "ordinary users may not make user namespaces here");
        return;
    }
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn where_namespaces_are_forbidden_the_error_names_what_is_missing() {
    // A user namespace in which no further namespace may be made stands for such a machine.
    let folder = tempfile::tempdir().unwrap();
    let wrapper = folder.path().join("agent.sh");
    let script = format!(
        "#!/bin/sh\nexec unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_net_namespaces && exec \"$@\"' sh {EXE} \"$@\"\n"
    );
    std::fs::write(&wrapper, script).unwrap();
    std::fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let error = embedded::open(&hosts(), &wrapper, "tester").map(drop).unwrap_err().to_string();
    for word in ["network-namespace", "missing:", "campaigns/commands.yaml"] {
        assert!(error.contains(word), "{error}");
    }
}
