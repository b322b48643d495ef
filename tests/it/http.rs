//! The HTTP tools by real processes on loopback: every request has one fate, and the server knows it too.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::{finish, told, wait};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fieldtrial");
const LIMIT: Duration = Duration::from_secs(60);

/// A server in a process of its own, killed when dropped.
struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    fn start(arguments: &str) -> Server {
        let mut command = Command::new(PROGRAM);
        command.args(["tool", "http-serve", "--listen", "127.0.0.1:0"]).args(arguments.split(' '));
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let ready = event(&mut output);
        assert_eq!(ready["event"], "ready", "{ready}");
        let address = ready["address"].as_str().expect("an address").to_owned();
        Server { child, output, address }
    }

    /// Its account, once it was told to end and did.
    fn end(mut self) -> Value {
        // SAFETY: the child has not been waited for, so the number is still its own.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        let status = wait(&mut self.child, LIMIT).expect("it ends when told to");
        assert_eq!(status.code(), Some(0));
        let result = event(&mut self.output);
        let counts = &result["counts"];
        let sum: u64 = ["served", "given_up", "turned_away"].iter().map(|name| of(counts, name)).sum();
        assert_eq!(sum + of(&result, "unfinished"), of(counts, "requests"), "{result}");
        result
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn event(output: &mut impl BufRead) -> Value {
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line:?}"))
}

fn run(arguments: &[&str]) -> Output {
    finish(Command::new(PROGRAM).arg("tool").args(arguments), LIMIT)
}

/// The result of a load, whose four fates add up in any case.
#[track_caller]
fn load(to: &str, arguments: &str) -> Value {
    let arguments = arguments.split(' ').filter(|word| !word.is_empty());
    let output = run(&["http-load", "--to", to].into_iter().chain(arguments).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let result: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)));
    let fates = ["success", "timeout", "transport_error", "wrong_answer"];
    assert_eq!(fates.iter().map(|fate| of(&result, fate)).sum::<u64>(), of(&result, "declared"), "{result}");
    let samples = result["samples"].as_array().expect("samples");
    for fate in fates {
        let sampled = samples.iter().filter(|sample| sample["outcome"] == fate).count() as u64;
        assert_eq!(sampled, of(&result, fate), "{fate}: {result}");
    }
    let numbers: Vec<u64> = samples.iter().map(|sample| of(sample, "number")).collect();
    assert_eq!(numbers, (0..of(&result, "declared")).collect::<Vec<_>>(), "each once, in order");
    result
}

fn of(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} in {value}"))
}

/// A server of one thread that reads a request and answers with these bytes, then closes.
fn answering(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).and_then(|_| stream.write_all(answer));
        }
    });
    address
}

#[test]
fn a_server_that_keeps_up_answers_everything_within_the_deadline() {
    let server = Server::start("--permits 2 --work 5ms");
    let result = load(&server.address, "--concurrency 2 --requests 20 --deadline 20s");
    assert_eq!((of(&result, "success"), of(&result, "connections")), (20, 2), "{result}");
    let latency = &result["latency"];
    assert!(of(latency, "p10_ns") >= 5_000_000, "the work is part of it: {latency}");
    assert!(
        of(latency, "p50_ns") <= of(latency, "p90_ns") && of(latency, "p90_ns") <= of(latency, "most_ns")
    );
    let expected = 20.0 / result["wall_seconds"].as_f64().expect("a number");
    assert!((result["useful_rate"].as_f64().expect("a number") - expected).abs() < 1e-6, "{result}");
    assert!(expected <= 400.0, "two permits of 5 ms cannot do more: {expected}");
    let account = server.end();
    let counts = &account["counts"];
    assert_eq!((of(counts, "requests"), of(counts, "served"), of(counts, "work_done")), (20, 20, 20));
    assert_eq!((of(counts, "connections"), of(&account, "work_for_nobody")), (2, 0));
    assert!(of(counts, "most_working") <= 2 && of(&account, "mean_held_ns") >= 5_000_000, "{account}");
}

#[test]
fn what_was_given_up_is_worked_for_nobody_or_not_at_all_as_declared() {
    // One permit, and eight at once that wait at most for one work and a bit.
    let overload = |hold: &str| {
        let server = Server::start(&format!("--permits 1 --work 100ms --hold-after-disconnect {hold}"));
        let result = load(&server.address, "--concurrency 8 --requests 16 --deadline 150ms");
        assert!(of(&result, "timeout") > 0, "{result}");
        assert_eq!(of(&result, "transport_error") + of(&result, "wrong_answer"), 0, "{result}");
        assert_eq!(result["latency"]["p99_ns"], Value::Null, "above the deadline, so without a figure");
        for sample in result["samples"].as_array().expect("samples") {
            let in_time = of(sample, "latency_ns") <= 150_000_000;
            assert_eq!(sample["outcome"] == "success", in_time, "{sample}");
        }
        // All that was held is worked off; what was given back is not.
        std::thread::sleep(Duration::from_millis(300));
        (server.end(), result)
    };
    let (released, result) = overload("no");
    // A request that never reached the server is given up by the client alone.
    assert!(of(&released["counts"], "given_up") <= of(&result, "timeout"), "{released} {result}");
    assert!(of(&released["counts"], "given_up") > 0, "{released}");
    assert_eq!(of(&released, "work_for_nobody"), 0, "{released}");
    let (held, _) = overload("yes");
    assert!(of(&held, "work_for_nobody") > 0, "{held}");
}

#[test]
fn where_nobody_listens_every_request_is_a_transport_error() {
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a port");
    let result = load(&nobody.to_string(), "--concurrency 3 --requests 9 --deadline 20s");
    assert_eq!((of(&result, "transport_error"), of(&result, "connections")), (9, 0), "{result}");
    let (why, count) = result["reasons"].as_object().expect("reasons").iter().next().expect("one");
    assert!(why.contains("refused") && count == 9, "{why}: {count}");
    assert_eq!(result["useful_rate"], 0.0);
}

#[test]
fn a_connection_that_breaks_and_an_answer_that_is_no_http_are_transport_errors() {
    for broken in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort", b"what?\r\n\r\n"] {
        let result = load(&answering(broken).to_string(), "--requests 3 --deadline 20s");
        assert_eq!(of(&result, "transport_error"), 3, "{result}");
    }
}

#[test]
fn an_answer_to_another_request_is_a_wrong_answer_however_fast_it_comes() {
    let other = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\nwork 1 done\n");
    let result = load(&other.to_string(), "--requests 3 --deadline 20s");
    assert_eq!((of(&result, "success"), of(&result, "wrong_answer")), (1, 2), "request 1 is right: {result}");
    let reasons = result["reasons"].to_string();
    assert!(reasons.contains("work 0 done") && reasons.contains("work 1 done"), "{reasons}");
    let refused = answering(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let result = load(&refused.to_string(), "--requests 2 --deadline 20s");
    assert_eq!(of(&result, "wrong_answer"), 2, "{result}");
    assert!(result["reasons"].to_string().contains("503"), "{result}");
}

#[test]
fn a_server_that_says_nothing_is_given_up_at_the_deadline() {
    // Connections are taken by the kernel, and nobody reads them.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = silent.local_addr().expect("bound").to_string();
    let began = Instant::now();
    let result = load(&to, "--concurrency 4 --requests 8 --deadline 100ms");
    assert_eq!(
        (of(&result, "timeout"), of(&result, "connections")),
        (8, 8),
        "a new one after each: {result}"
    );
    assert!(began.elapsed() >= Duration::from_millis(200), "two rounds, each up to its deadline");
    drop(silent);
}

#[test]
fn latencies_of_an_open_loop_count_from_when_a_request_was_due() {
    // One client, so a stalled answer keeps the next requests from being sent; each takes 20 ms of work and one
    // is due every 2 ms, so the last waits for nearly all works before it.
    let server = Server::start("--permits 1 --work 20ms");
    let result = load(&server.address, "--concurrency 1 --requests 15 --deadline 30s --rate 500/s");
    assert_eq!(of(&result, "success"), 15, "{result}");
    let samples = result["samples"].as_array().expect("samples");
    for (sample, number) in samples.iter().zip(0..) {
        assert_eq!(of(sample, "due_ns"), number * 2_000_000, "{sample}");
        assert!(of(sample, "sent_ns") >= of(sample, "due_ns"), "never before it was due: {sample}");
        let works = (number + 1) * 20_000_000;
        let done = of(sample, "due_ns") + of(sample, "latency_ns");
        assert!(done >= works, "all works before it are part of its latency: {sample}");
    }
    assert!(of(&result, "most_behind_ns") >= 14 * 18_000_000, "{result}");
    drop(server.end());

    // The same against a deadline: what is due while the only client is busy may never be sent at all.
    let server = Server::start("--permits 1 --work 300ms");
    let result = load(&server.address, "--concurrency 1 --requests 12 --deadline 100ms --rate 1000");
    assert_eq!(of(&result, "timeout"), 12, "{result}");
    let unsent = result["samples"].as_array().expect("samples").iter().filter(|one| one["sent_ns"].is_null());
    assert!(unsent.count() > 0, "{result}");
}

#[test]
fn arguments_that_cannot_be_are_refused_with_what_was_expected() {
    for (arguments, words) in [
        (
            &["http-load", "--to", "localhost:80", "--requests", "1", "--deadline", "1s"][..],
            "invalid socket address",
        ),
        (&["http-load", "--to", "127.0.0.1:80", "--requests", "0", "--deadline", "1s"], "1..="),
        (&["http-load", "--to", "127.0.0.1:80", "--requests", "1", "--deadline", "80"], "as in 500ms"),
        (&["http-load", "--to", "127.0.0.1:80", "--requests", "1", "--deadline", "0s"], "as in 80ms"),
        (
            &["http-load", "--to", "127.0.0.1:80", "--requests", "1", "--deadline", "1s", "--rate", "0"],
            "as in 100",
        ),
        (&["http-serve", "--listen", "127.0.0.1:0", "--permits", "0"], "1..="),
        (&["http-serve", "--listen", "192.0.2.7:0"], "cannot listen on 192.0.2.7:0"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", told(&output));
        assert!(told(&output).contains(words), "{words}: {}", told(&output));
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound").to_string();
    let output = run(&["http-serve", "--listen", &address]);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("choose another port"), "{}", told(&output));
}

#[test]
fn a_path_that_asks_for_no_work_is_turned_away_and_counted() {
    let server = Server::start("--permits 1 --work 1ms");
    let mut stream = std::net::TcpStream::connect(&server.address).expect("it listens");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("expected GET /unit/N"), "{answer}");
    let account = server.end();
    assert_eq!(of(&account["counts"], "turned_away"), 1, "{account}");
}
