//! The tools' contract with a conductor, spoken by real processes over a veth pair.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{self, Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};

use super::Tool;
use crate::nic::clock::{monotonic_ns, sleep_until_ns};
use crate::nic::counters::CounterSource;
use crate::nic::link::{bring_up, make_veth, wait_until_running};
use crate::nic::namespace::inside;

/// Arguments of the tool that a child is to be, apart by newlines.
const ARGUMENTS: &str = "FIELDTRIAL_TEST_TOOL";

#[derive(Parser)]
struct Front {
    #[command(subcommand)]
    tool: Tool,
}

/// A tool in a process of its own, killed when dropped.
pub(super) struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<process::ChildStdout>>,
    input: Option<ChildStdin>,
}

impl Process {
    pub(super) fn start(test: &str, arguments: &str) -> Self {
        Self::start_by(&[], test, arguments)
    }

    /// Started by another program, which gives it fewer rights.
    fn start_by(starter: &[&str], test: &str, arguments: &str) -> Self {
        let own = env::current_exe().expect("own path");
        let mut command = Command::new(starter.first().map_or(own.as_os_str(), |name| OsStr::new(*name)));
        if let Some((_, options)) = starter.split_first() {
            command.args(options).arg(own);
        }
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
        command.env(ARGUMENTS, arguments.split(' ').collect::<Vec<_>>().join("\n"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a copy of the test");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { input: child.stdin.take(), child, lines }
    }

    /// The next JSON event; the test harness's own lines are passed over.
    pub(super) fn event(&mut self) -> Value {
        for line in &mut self.lines {
            // The harness prints `test NAME ... ` without an end of line before the first event.
            let line = line.expect("text");
            if let Some(at) = line.find("{\"event\"") {
                return serde_json::from_str(&line[at..]).expect("one JSON object a line");
            }
        }
        panic!("the tool ended without a further event: {:?}", self.child.wait());
    }

    pub(super) fn tell(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("open"), "{line}").expect("the tool reads");
    }

    pub(super) fn terminate(&self) {
        // SAFETY: the child has not been waited for, so the number is still its own.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
    }

    pub(super) fn code(&mut self) -> Option<i32> {
        self.child.wait().expect("a child").code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends as the tool that the environment names, if it names one.
pub(super) fn be_the_tool() {
    if let Ok(arguments) = env::var(ARGUMENTS) {
        let front = Front::try_parse_from(["tool"].into_iter().chain(arguments.split('\n')));
        process::exit(front.unwrap_or_else(|e| panic!("{e}")).tool.run());
    }
}

/// Runs `body` in a network namespace with a link, or the tool that the environment names.
pub(super) fn on_a_link(test: &str, body: impl FnOnce()) {
    be_the_tool();
    inside(test, || {
        make_veth("ft0", "ft1", process::id()).expect("veth");
        for end in ["ft0", "ft1"] {
            bring_up(end).expect("up");
        }
        for end in ["ft0", "ft1"] {
            wait_until_running(end, Duration::from_secs(5)).expect("running");
        }
        body();
    });
}

pub(super) fn words(result: &Value) -> String {
    let sent: serde_json::Map<_, _> = result["streams"]
        .as_object()
        .expect("streams")
        .iter()
        .map(|(stream, of)| (stream.clone(), of["handed"].clone()))
        .collect();
    json!({ "sent": sent }).to_string()
}

#[test]
fn a_proof_is_exactly_once_with_equal_digests_and_ends_soon_after_the_word() {
    let test = "tool::tests::a_proof_is_exactly_once_with_equal_digests_and_ends_soon_after_the_word";
    on_a_link(test, || {
        let common = "--frame-size 128 --streams 2 --seed 7 --digest";
        let mut rx = Process::start(test, &format!("packet-receive --interface ft1 {common} --drain 5s"));
        assert_eq!(rx.event(), json!({"event": "ready"}));
        let mut tx = Process::start(test, &format!("packet-send --interface ft0 {common} --frames 3000"));
        assert_eq!(tx.event(), json!({"event": "ready"}));
        let sent = tx.event();
        assert_eq!((tx.code(), sent["left"]["frames"].as_u64()), (Some(0), Some(6000)), "{sent}");

        let told_ns = monotonic_ns();
        rx.tell(&words(&sent));
        let received = rx.event();
        assert_eq!(rx.code(), Some(0));
        assert!(monotonic_ns() - told_ns < 2_000_000_000, "it waited out its drain though all was there");
        assert_eq!(received["ended_by"], "sent");
        for stream in ["0", "1"] {
            let (tx, rx) = (&sent["streams"][stream], &received["streams"][stream]);
            for (key, expected) in [("sent", 3000), ("received", 3000), ("intact", 3000), ("lost", 0)] {
                assert_eq!(rx[key], expected, "{key} in {rx}");
            }
            assert!(tx["digest"].as_str().is_some_and(|d| d.len() == 64), "{tx}");
            assert_eq!(tx["digest"], rx["digest"]);
        }
        assert_ne!(sent["streams"]["0"]["digest"], sent["streams"]["1"]["digest"]);
    });
}

#[test]
fn without_the_word_of_the_sender_loss_is_what_gaps_show_and_sent_is_null() {
    let test = "tool::tests::without_the_word_of_the_sender_loss_is_what_gaps_show_and_sent_is_null";
    on_a_link(test, || {
        for end_by_signal in [true, false] {
            let mut rx = Process::start(test, "packet-receive --interface ft1 --drain 100ms");
            rx.event();
            let mut tx = Process::start(test, "packet-send --interface ft0 --frames 10");
            assert_eq!(tx.event()["event"], "ready");
            assert_eq!(tx.event()["event"], "result");
            if end_by_signal {
                rx.terminate()
            } else {
                drop(rx.input.take())
            }
            let received = rx.event();
            assert_eq!(received["ended_by"], if end_by_signal { "signal" } else { "input" });
            assert_eq!(received["streams"]["0"]["sent"], Value::Null);
            assert_eq!((&received["streams"]["0"]["intact"], rx.code()), (&json!(10), Some(0)));
            assert_eq!(received["rx_rate"], Value::Null);
        }
    });
}

#[test]
fn frames_that_never_came_are_lost_and_the_receiver_does_not_wait_for_ever() {
    let test = "tool::tests::frames_that_never_came_are_lost_and_the_receiver_does_not_wait_for_ever";
    on_a_link(test, || {
        let mut rx = Process::start(test, "packet-receive --interface ft1 --drain 100ms");
        rx.event();
        rx.tell(r#"{"sent":{"0":5}}"#);
        let received = rx.event();
        let stream = &received["streams"]["0"];
        assert_eq!((&stream["lost"], &stream["first_ns"], rx.code()), (&json!(5), &Value::Null, Some(0)));
    });
}

#[test]
fn a_stopped_sender_tells_what_it_had_sent() {
    let test = "tool::tests::a_stopped_sender_tells_what_it_had_sent";
    on_a_link(test, || {
        let mut tx = Process::start(test, "packet-send --interface ft0 --duration 1h");
        tx.event();
        sleep_until_ns(monotonic_ns() + 150_000_000);
        tx.terminate();
        let sent = tx.event();
        assert_eq!((&sent["cut_short"], tx.code()), (&json!(true), Some(0)));
        assert_eq!(sent["left_total"], sent["streams"]["0"]["handed"]);
    });
}

#[test]
fn counters_start_at_zero_and_carry_growing_instants() {
    let test = "tool::tests::counters_start_at_zero_and_carry_growing_instants";
    on_a_link(test, || {
        let mut before = Process::start(test, "packet-send --interface ft0 --frames 1000");
        assert_eq!(before.event()["event"], "ready");
        assert_eq!(before.event()["event"], "result");
        let mut counters = Process::start(test, "nic-counters --interface ft0 --every 20ms --count 2");
        let (first, second) = (counters.event(), counters.event());
        assert_eq!(
            (&first["tx_packets"], counters.code()),
            (&json!(0), Some(0)),
            "from before the first reading"
        );
        let span = second["at_ns"].as_u64().expect("ns") - first["at_ns"].as_u64().expect("ns");
        assert!(span >= 10_000_000, "{span}");
    });
}

#[test]
fn faults_are_events_with_a_reason_and_an_exit_code() {
    let test = "tool::tests::faults_are_events_with_a_reason_and_an_exit_code";
    on_a_link(test, || {
        let faults = [
            ("packet-send --interface nosuch0", 2, "ft0"),
            ("packet-receive --interface nosuch0", 2, "ft1"),
            ("nic-counters --interface nosuch0", 2, "lo"),
            ("packet-send --interface ft0 --frame-size 63", 2, "64 to 1518"),
            ("packet-receive --interface ft1 --streams 17", 2, "1 to 16"),
            ("packet-send --interface ft0 --rate fast", 2, "frames per second"),
            ("packet-send --interface ft0 --rate 0", 2, "more than 0"),
            ("packet-send --interface ft0 --duration 0s", 2, "--duration"),
            ("packet-send --interface ft0 --frame-size 64-128", 2, "from-to/step"),
            ("packet-send --interface ft0 --streams 2 --cpus 0", 2, "1 for 2 sending"),
            ("packet-send --interface ft0 --cpus 1023", 3, "CPU 1023"),
            ("packet-send --interface ft0 --path af_xdp --queue 7", 3, "no queue 7"),
            ("packet-send --interface ft0 --path af_xdp --xdp-copy zero-copy", 3, "no zero-copy"),
        ];
        for (arguments, code, text) in faults {
            let mut tool = Process::start(test, arguments);
            let fault = tool.event();
            assert_eq!((&fault["event"], tool.code()), (&json!("fault"), Some(code)), "{arguments}: {fault}");
            assert!(fault["why"].as_str().is_some_and(|why| why.contains(text)), "{arguments}: {fault}");
        }
        let mut tool = Process::start(test, "packet-receive --interface ft1");
        tool.event();
        tool.tell("nonsense");
        let fault = tool.event();
        assert_eq!((&fault["event"], tool.code()), (&json!("fault"), Some(2)), "{fault}");
    });
}

#[test]
fn a_sender_without_the_right_to_raw_frames_is_refused_by_its_name() {
    let test = "tool::tests::a_sender_without_the_right_to_raw_frames_is_refused_by_its_name";
    on_a_link(test, || {
        for path in ["af_packet", "af_xdp"] {
            let without = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"];
            let arguments = format!("packet-send --interface ft0 --path {path} --frames 1");
            let mut tool = Process::start_by(&without, test, &arguments);
            let fault = tool.event();
            assert_eq!((&fault["refused"], tool.code()), (&json!(true), Some(3)), "{path}: {fault}");
            assert!(fault["why"].as_str().is_some_and(|why| why.contains("CAP_NET_RAW")), "{path}: {fault}");
        }
    });
}

#[test]
fn an_mtu_smaller_than_the_largest_frame_is_refused_before_anything_is_sent() {
    let test = "tool::tests::an_mtu_smaller_than_the_largest_frame_is_refused_before_anything_is_sent";
    on_a_link(test, || {
        let small =
            Command::new("ip").args(["link", "set", "ft0", "mtu", "1000"]).status().expect("iproute2");
        assert!(small.success());
        for path in ["af_packet", "af_xdp"] {
            let arguments = format!("packet-send --interface ft0 --path {path} --frame-size imix --frames 1");
            let mut tool = Process::start(test, &arguments);
            let fault = tool.event();
            assert_eq!((&fault["event"], tool.code()), (&json!("fault"), Some(3)), "{fault}");
            for part in ["1518", "MTU of 1500", "ft0 is 1000"] {
                assert!(fault["why"].as_str().is_some_and(|why| why.contains(part)), "{part}: {fault}");
            }
        }
        let sent = CounterSource::open("ft0").expect("open").read().expect("read");
        assert_eq!(sent.counters().tx_packets, 0);
    });
}

#[test]
fn streams_of_mixed_and_stamped_frames_arrive_exactly_once_by_every_path() {
    let test = "tool::tests::streams_of_mixed_and_stamped_frames_arrive_exactly_once_by_every_path";
    on_a_link(test, || {
        for (path, queues) in [("af_packet", Value::Null), ("af_xdp", json!([0, 0]))] {
            let common = "--frame-size imix --streams 2 --seed 7 --digest";
            let mut rx = Process::start(test, &format!("packet-receive --interface ft1 {common}"));
            assert_eq!(rx.event()["event"], "ready");
            let more = format!("--frames 600 --rate 20000 --path {path}");
            let mut tx = Process::start(test, &format!("packet-send --interface ft0 {common} {more}"));
            assert_eq!(tx.event()["event"], "ready");
            let sent = tx.event();
            rx.tell(&words(&sent));
            let received = rx.event();
            for stream in ["0", "1"] {
                let (tx, rx) = (&sent["streams"][stream], &received["streams"][stream]);
                assert_eq!((&rx["intact"], &rx["lost"]), (&json!(600), &json!(0)), "{path}: {received}");
                assert_eq!(tx["digest"], rx["digest"], "{path}");
                assert!(tx["took_seconds"].as_f64().is_some_and(|took| took > 0.029), "{path}: {tx}");
            }
            assert_eq!((&sent["path"], &sent["queues"]), (&json!(path), &queues));
            assert_eq!(sent["frame_sizes"], "imix");
            assert_eq!(sent["xdp"]["copy"], if path == "af_xdp" { json!("copy") } else { Value::Null });
        }
    });
}

#[test]
fn a_link_that_stays_down_is_a_fault_within_the_limit() {
    let test = "tool::tests::a_link_that_stays_down_is_a_fault_within_the_limit";
    on_a_link(test, || {
        let down = Command::new("ip").args(["link", "set", "ft0", "down"]).status().expect("iproute2");
        assert!(down.success());
        let mut tool = Process::start(test, "packet-receive --interface ft1 --link-limit 200ms");
        let fault = tool.event();
        assert_eq!((&fault["event"], tool.code()), (&json!("fault"), Some(1)));
        assert!(fault["why"].as_str().is_some_and(|why| why.contains("no carrier")), "{fault}");
    });
}

/// What keeps a pace needs a core for itself: tests/run runs these one at a time.
mod alone {
    use super::*;

    #[test]
    fn a_timed_run_has_rates_and_buckets_with_settling_apart() {
        let test = "tool::tests::alone::a_timed_run_has_rates_and_buckets_with_settling_apart";
        on_a_link(test, || {
            let mut rx = Process::start(test, "packet-receive --interface ft1 --settle 200ms");
            rx.event();
            let mut tx =
                Process::start(test, "packet-send --interface ft0 --rate 5000 --settle 200ms --duration 1s");
            tx.event();
            let sent = tx.event();
            rx.tell(&words(&sent));
            let received = rx.event();

            let rate = |value: &Value| value["per_second"].as_f64().expect("a rate");
            assert!((rate(&sent["left"]) - 5000.0).abs() < 1500.0, "{}", sent["left"]);
            let achieved = sent["achieved_rate"].as_f64().expect("paced");
            assert!((achieved - 5000.0).abs() < 1500.0, "{sent}");
            let took = sent["streams"]["0"]["took_seconds"].as_f64().expect("seconds");
            assert!((6000.0 / took - 5000.0).abs() <= 50.0, "within a hundredth: {took} s");
            assert_eq!(
                (&sent["bound_by"], &sent["streams"]["0"]["achieved"]),
                (&json!("pace"), &json!(achieved))
            );
            assert!((rate(&received["rx_rate"]) - 5000.0).abs() < 1500.0, "{}", received["rx_rate"]);
            assert_eq!((&sent["counter_backward"], &sent["cut_short"]), (&json!(false), &json!(false)));
            assert_eq!((&received["kernel_drops"], &received["stamps"]), (&json!(0), &json!("software")));
            for (result, count) in [(&sent, "handed"), (&received, "frames")] {
                let buckets = result["buckets"].as_array().expect("buckets");
                assert!(
                    buckets.iter().any(|b| b["settling"] == true)
                        && buckets.iter().any(|b| b["settling"] == false)
                );
                let total: u64 = buckets.iter().map(|b| b[count].as_u64().expect("a count")).sum();
                assert_eq!(total, 6000, "1.2 s at 5000/s");
            }
        });
    }
}
