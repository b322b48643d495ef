//! Workloads of several roles, by real runs on this machine: readiness, ends, and who is named when one dies.

use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

use fieldtrial::evidence::event::{RoleNote, RunNote};
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::model::job::End;
use fieldtrial::model::outcome::RunOutcome;
use fieldtrial::record::{Folder, read};

use crate::desk::{Desk, code, stderr, stdout};
use crate::process::told;

/// A campaign of these roles, one cell in two blocks.
pub fn campaign(roles: &str) -> String {
    format!(
        "campaign: c\nquestion: Does it hold?\nhosts: hosts.yaml\npilot: true\ncontrol: {{}}\n\
         workload:\n  roles:\n{roles}blocks: {{count: 2, order: forward}}\ntimeout: 20s\n"
    )
}

/// A program that listens on a port and lives until it is killed.
fn listener(port: u16) -> String {
    format!(
        "[perl, -MIO::Socket::INET, -e, '$s = IO::Socket::INET->new(LocalAddr => \"127.0.0.1\", LocalPort => {port}, Listen => 5, ReuseAddr => 1) or die $!; while ($c = $s->accept) {{ close $c }}']"
    )
}

/// A program that connects to a port, and fails where nobody listens.
fn caller(port: u16) -> String {
    format!(
        "[perl, -MIO::Socket::INET, -e, 'IO::Socket::INET->new(\"127.0.0.1:{port}\") or die \"nobody listens\"; print \"connected\\n\"']"
    )
}

/// A port that nobody listens on, as far as can be told.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port()
}

fn evidence(desk: &Desk) -> Evidence {
    read(&Folder::open(&desk.record("reports")).expect("a record")).expect("readable").evidence
}

fn note<'a>(run: &'a RunNote, role: &str) -> &'a RoleNote {
    run.roles.iter().find(|note| note.role == role).unwrap_or_else(|| panic!("no {role} in {run:?}"))
}

/// The run of a campaign whose only cell is refused, for a reason that has these words.
#[track_caller]
fn refused(text: &str, words: &[&str]) -> Output {
    let desk = Desk::new(text);
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 8, "nothing was measured: {}", told(&output));
    let reason = evidence(&desk).cells[0].reason.clone().unwrap_or_default();
    for word in words {
        assert!(reason.contains(word), "`{word}` is not in `{reason}`: {}", told(&output));
    }
    output
}

#[test]
fn a_client_starts_when_its_server_listens_and_the_server_ends_with_it() {
    let port = free_port();
    let text = campaign(&format!(
        "    client: {{on: here, after: server, run: {}}}\n    server: {{on: here, run: {}, ready: {{port: {port}}}, ends: {{with: client}}}}\n",
        caller(port),
        listener(port)
    ));
    let desk = Desk::new(&text);
    let plan = stdout(&desk.fieldtrial(&["plan", "c.yaml"]));
    let server = plan.find("role server on here (ready when port").expect(&plan);
    let client = plan.find("role client on here (after server; timed)").expect(&plan);
    assert!(server < client, "in the order of their starts: {plan}");
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let evidence = evidence(&desk);
    assert_eq!(evidence.runs.len(), 2);
    for row in &evidence.runs {
        let run = &row.note;
        assert_eq!(run.outcome, RunOutcome::Measured, "{run:?}");
        let (server, client) = (note(run, "server"), note(run, "client"));
        assert_eq!((&server.report.end, &client.report.end), (&End::Signalled(15), &End::Exited(0)));
        assert!(server.report.wall_ns > client.report.wall_ns, "the server outlives its client");
        let wall_time = run.values["wall_time"];
        assert_eq!(wall_time, client.report.wall_ns as f64 / 1e9, "only the client is timed");
    }
}

#[test]
fn a_line_of_its_output_makes_a_role_ready_and_its_own_way_to_end_is_well() {
    // The line comes on standard error, among others; on the signal it exits with a status of its own.
    let server = "trap 'exit 7' USR1; echo starting >&2; sleep 0.1; echo 'listening: 5201' >&2; touch $READY; while :; do sleep 0.02; done";
    let ready = tempfile::tempdir().unwrap();
    let flag = ready.path().join("ready").display().to_string();
    let text = campaign(&format!(
        "    server: {{on: here, shell: \"{server}\", env: {{READY: '{flag}'}}, ready: {{line: '^listening: \\d+'}}, ends: {{with: [client], signal: USR1}}}}\n    client: {{on: here, after: [server], shell: 'sleep 0.05; test -e {flag} && rm {flag} && echo there'}}\n"
    ));
    let desk = Desk::new(&text);
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    for row in &evidence(&desk).runs {
        assert_eq!(note(&row.note, "server").report.end, End::Exited(7));
        assert_eq!(note(&row.note, "client").stdout_head, "there\n");
    }
}

#[test]
fn a_role_that_never_becomes_ready_is_named_with_what_lacks() {
    let port = free_port();
    let client = "    client: {on: here, after: server, run: ['true']}\n";
    let server = |ready: &str| {
        campaign(&format!(
            "{client}    server: {{on: here, run: [sleep, '60'], ready: {ready}, ends: {{with: client}}}}\n"
        ))
    };
    let not_ready = "server on here: not ready after 0.3 s: ";
    refused(
        &server(&format!("{{port: {port}, within: 300ms}}")),
        &[not_ready, &format!("nothing listens on port {port}")],
    );
    refused(&server("{line: up, within: 300ms}"), &[not_ready, "no line of its output fits `up`"]);
    refused(&server("{within: 300ms}"), &[not_ready, "it printed no event `ready`"]);
}

#[test]
fn a_role_that_is_no_longer_ready_in_a_timed_run_makes_it_a_timeout() {
    let count = tempfile::tempdir().unwrap();
    let starts = count.path().join("starts").display().to_string();
    // The proof and the first run find it ready.
    let server = format!("echo x >>{starts}; test $(wc -l <{starts}) -le 2 && echo up; exec sleep 60");
    let text = campaign(&format!(
        "    server: {{on: here, shell: '{server}', ready: {{line: up, within: 2s}}, ends: {{with: client}}}}\n    client: {{on: here, after: server, run: [echo, same]}}\n"
    ));
    let desk = Desk::new(&text);
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 5, "{}", told(&output));
    let evidence = evidence(&desk);
    let outcomes: Vec<RunOutcome> = evidence.runs.iter().map(|row| row.note.outcome).collect();
    assert_eq!(outcomes, [RunOutcome::Measured, RunOutcome::TimedOut]);
    let late = &evidence.runs[1].note;
    assert!(late.reason.as_ref().unwrap().contains("server on here: not ready after 2 s"), "{late:?}");
    assert!(late.roles.iter().all(|note| note.role == "server"), "the client was never started: {late:?}");
}

#[test]
fn a_port_that_somebody_else_listens_on_is_no_readiness() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let text = campaign(&format!(
        "    server: {{on: here, run: [sleep, '60'], ready: {{port: {port}}}, ends: {{with: client}}}}\n    client: {{on: here, after: server, run: ['true']}}\n"
    ));
    refused(&text, &["server on here: not started", &format!("listens on port {port} already")]);
}

#[test]
fn whoever_dies_first_is_named_and_ends_the_others() {
    let roles = |server: &str, client: &str| {
        campaign(&format!(
            "    server: {{on: here, shell: '{server}', ready: {{line: up}}, ends: {{with: client}}}}\n    client: {{on: here, after: server, shell: '{client}'}}\n"
        ))
    };
    let lives = "echo up; exec sleep 60";
    refused(&roles("exit 3", "true"), &["server on here: exit status 3"]);
    refused(&roles("exit 0", "true"), &["ended (exit status 0) before it was ready, and client waits"]);
    let in_window = "server on here: ended (exit status 0) before client, which it has to outlive";
    refused(&roles("echo up; sleep 0.2", "sleep 60"), &[in_window]);
    refused(&roles("echo up; sleep 0.2; kill -9 $$", "sleep 60"), &["server on here: killed by signal 9"]);
    refused(&roles(lives, "sleep 0.1; exit 124"), &["client on here: exit status 124"]);
    let output = refused(
        &roles("trap \"\" TERM; echo up; while :; do sleep 0.1; done", "true"),
        &["server on here: still running 5 s after the signal TERM"],
    );
    assert!(!stderr(&output).contains("panicked"), "{}", told(&output));
}

#[test]
fn the_whole_run_has_one_deadline() {
    let text = campaign(
        "    first: {on: here, shell: 'sleep 0.6; echo up; exec sleep 60', ready: {line: up}, ends: {with: second}}\n    second: {on: here, after: first, run: [sleep, '60']}\n",
    )
    .replace("timeout: 20s", "timeout: 1s");
    let began = std::time::Instant::now();
    refused(&text, &["on here: still running after 1 s"]);
    assert!(began.elapsed() < std::time::Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn much_on_standard_error_and_bytes_that_are_no_text_are_taken_as_they_come() {
    let text = campaign(
        "    noisy: {on: here, shell: 'head -c 200000 /dev/zero | tr \"\\0\" e >&2; printf \"\\377\\376x\\n\"'}\n    other: {on: here, run: [echo, same]}\n",
    );
    let desk = Desk::new(&text);
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let evidence = evidence(&desk);
    let noisy = note(&evidence.runs[0].note, "noisy");
    assert_eq!((noisy.report.stderr.bytes, noisy.report.stdout.bytes), (200_000, 4));
    let slowest = evidence.runs[0].note.roles.iter().map(|note| note.report.wall_ns).max().unwrap();
    assert_eq!(evidence.runs[0].note.values["wall_time"], slowest as f64 / 1e9, "both are timed");
    assert!(Path::new(&desk.record("reports")).join("index.html").exists());
}

#[test]
fn roles_that_cannot_work_together_are_refused_by_check_with_their_place() {
    let check = |roles: &str, wanted: &str| {
        let desk = Desk::new(&campaign(roles));
        let output = desk.fieldtrial(&["check", "c.yaml"]);
        assert_eq!(code(&output), 2, "{}", told(&output));
        assert!(stderr(&output).contains(wanted), "`{wanted}`: {}", told(&output));
        assert!(stderr(&output).contains("c.yaml:"), "{}", told(&output));
    };
    let a = "    a: {on: here, run: ['true']";
    let b = "    b: {on: here, run: ['true']";
    check(&format!("{a}, after: b}}\n{b}}}\n"), "`a` waits for `b`, which never says that it is ready");
    check(&format!("{a}, after: bb}}\n{b}, ready: event}}\n"), "no role is called `bb`");
    check(&format!("{a}, after: a}}\n{b}}}\n"), "is named by itself");
    let circle = format!("{a}, after: b, ready: event}}\n{b}, after: a, ready: event}}\n");
    check(&circle, "in a circle");
    check(&format!("{a}, ends: {{with: b}}}}\n{b}, ends: {{with: a}}}}\n"), "none of them ever ends");
    check(&format!("{a}, ends: {{with: b, signal: KILL}}}}\n{b}}}\n"), "`TERM` or `INT`");
    check(&format!("{a}, ready: {{port: 70000}}}}\n"), "`ready.port`: expected");
    check(&format!("{a}, ready: {{line: '('}}}}\n"), "a regular expression");
    check(&format!("{a}, timed: false}}\n"), "no role is timed");
    check(&format!("{a}, on_: x}}\n"), "unknown key `on_`");
    check("    a: {on: nowhere, run: ['true']}\n", "no host is called `nowhere`");
    check("    a: {on: here}\n", "the role `a` lacks the key `run`");
}

#[test]
fn iperf3_runs_as_two_roles_on_two_hosts_of_the_lab_in_a_box() {
    if let Err(why) = crate::lab::allowed() {
        crate::skip::skip("sandbox", &why);
        return;
    }
    // The hosts have a cable between them and no address: setup gives them one.
    let address = |host: u32, port: &str| {
        format!("setup: {{run: [ip, address, replace, 10.77.0.{host}/24, dev, {port}]}}")
    };
    let text = campaign(&format!(
        "    server: {{on: rx, run: [iperf3, -s, -p, '5201'], ready: {{port: 5201}}, ends: {{with: client}}, {}}}\n    \
         client: {{on: tx, after: server, run: [iperf3, -c, 10.77.0.2, -p, '5201', -n, 1M, -J], cwd: /, {}}}\n",
        address(2, "ft-rx0"),
        address(1, "ft-tx0")
    ));
    let desk = Desk::new(&(text + "verify: {output: ignored}\n"));
    let hosts = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts/netns.yaml");
    desk.write("hosts.yaml", &std::fs::read_to_string(hosts).expect("the shipped hosts file"));
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    for row in &evidence(&desk).runs {
        let client = row.note.roles.iter().find(|note| note.role == "client" && note.phase.is_run()).unwrap();
        assert_eq!((client.host.as_str(), &client.report.end), ("tx", &End::Exited(0)));
        assert!(client.stdout_head.contains("\"remote_host\":\t\"10.77.0.2\""), "{}", client.stdout_head);
    }
}
