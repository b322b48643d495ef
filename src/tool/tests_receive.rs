//! What `packet-receive` tells of frames that the test itself sends, by every path.

use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{self, Command};
use std::time::Duration;

use serde_json::{Value, json};

use super::tests::{Process, be_the_tool, on_a_link, words};
use crate::model::frame_size::Sizes;
use crate::nic::clock::{monotonic_ns, sleep_until_ns};
use crate::nic::clock_identity::ClockIdentity;
use crate::nic::interface::Interface;
use crate::nic::link::{bring_up, make_veth_with_queues, wait_until_running};
use crate::nic::namespace::inside_as_root;
use crate::nic::skip;
use crate::packet::egress::Egress;
use crate::packet::frame::Frames;
use crate::packet::socket::open_sender;
use crate::xdp::options::XdpOptions;
use crate::xdp::rights::{Capability, Rights};
use crate::xdp::sender::XdpSender;

/// The seed of packet-receive where none is given.
const SEED: u64 = 1;

fn frames(size: u32, streams: u16) -> Frames {
    Frames::new(&Sizes::one(size).expect("in range"), streams, SEED).expect("in range")
}

fn sender() -> OwnedFd {
    open_sender(&Interface::find("ft0").expect("the near end")).expect("socket")
}

fn send(socket: &OwnedFd, bytes: &[u8]) {
    // SAFETY: the descriptor is open, and pointer and length describe `bytes`.
    let taken = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    assert_eq!(taken, bytes.len() as isize, "{}", std::io::Error::last_os_error());
}

fn send_frames(frames: &Frames, sequences: std::ops::Range<u64>) {
    let socket = sender();
    let mut bytes = vec![0; frames.most_bytes()];
    for sequence in sequences {
        frames.write(0, sequence, &mut bytes);
        send(&socket, &bytes);
    }
}

fn ready(test: &str, arguments: &str) -> Process {
    let mut rx = Process::start(test, &format!("packet-receive --interface ft1 {arguments}"));
    assert_eq!(rx.event(), json!({"event": "ready"}), "{arguments}");
    rx
}

/// The result of a receiver that is told that `sent` frames of stream 0 were sent.
fn told(rx: &mut Process, word: &Value) -> Value {
    rx.tell(&word.to_string());
    let result = rx.event();
    assert_eq!((&result["event"], rx.code()), (&json!("result"), Some(0)), "{result}");
    result
}

#[test]
fn recvmmsg_proves_as_the_ring_does_and_says_whose_stamps_it_has() {
    let test = "tool::tests_receive::recvmmsg_proves_as_the_ring_does_and_says_whose_stamps_it_has";
    on_a_link(test, || {
        for path in ["af_packet", "af_packet_recvmmsg"] {
            let mut rx = ready(test, &format!("--path {path} --digest --drain 5s"));
            // So slow that the small receive buffer of an ordinary user holds what comes meanwhile.
            let tx = "packet-send --interface ft0 --frames 400 --rate 4000 --digest";
            let mut tx = Process::start(test, tx);
            tx.event();
            let sent = tx.event();
            rx.tell(&words(&sent));
            let received = rx.event();
            let stream = &received["streams"]["0"];
            let counts = ["sent", "received", "intact", "lost"].map(|key| stream[key].as_u64());
            assert_eq!(counts, [Some(400), Some(400), Some(400), Some(0)], "{path}: {received}");
            assert_eq!(stream["digest"], sent["streams"]["0"]["digest"]);
            let marks = ["path", "stamps", "stamped_by", "foreign_seen"].map(|key| received[key].as_str());
            assert_eq!(marks, [Some(path), Some("software"), Some("kernel"), Some("all")], "{received}");
            assert_eq!((&received["queues"], &received["xdp"]), (&Value::Null, &Value::Null));
            assert_eq!((&received["unstamped"], &received["kernel_drops"]), (&json!(0), &json!(0)));
            let apart = &stream["inter_arrival"];
            assert_eq!((apart["count"].as_u64(), &apart["negative"]), (Some(399), &json!(0)), "{stream}");
            let ns = |value: &Value| value.as_u64().expect("a time");
            let lasted = ns(&stream["last_ns"]) - ns(&stream["first_ns"]);
            let [p50, p99] = ["p50", "p99"].map(|name| ns(&apart["percentiles"][name]));
            assert!(p50 <= p99 && p99 <= ns(&apart["max_ns"]) && ns(&apart["max_ns"]) <= lasted, "{stream}");
            assert!(lasted >= 80_000_000, "400 frames at 4000/s take 100 ms, found {lasted} ns");
            assert_eq!(apart["percentiles"]["p99.9"], Value::Null);
            assert_eq!(apart["absent"], json!({"p99.9": "399 values; p99.9 needs 3688"}));
            assert_eq!(received["latency_absent"], "not asked for (--latency)");
            let frames: u64 = stream["buckets"]["frames"]
                .as_array()
                .expect("a list")
                .iter()
                .filter_map(Value::as_u64)
                .sum();
            assert_eq!(frames, 400, "{stream}");
        }
    });
}

#[test]
fn stamps_of_a_card_that_has_none_are_refused_by_name_and_no_stamps_give_no_rate() {
    let test =
        "tool::tests_receive::stamps_of_a_card_that_has_none_are_refused_by_name_and_no_stamps_give_no_rate";
    on_a_link(test, || {
        for path in ["af_packet", "af_packet_recvmmsg", "af_xdp"] {
            let arguments = format!("packet-receive --interface ft1 --stamps hardware --path {path}");
            let mut rx = Process::start(test, &arguments);
            let fault = rx.event();
            assert_eq!((&fault["refused"], rx.code()), (&json!(true), Some(3)), "{path}: {fault}");
            let why = fault["why"].as_str().expect("a reason");
            for part in ["ft1", "hardware", "not supported", "--stamps software"] {
                assert!(why.contains(part), "{path}: {part} in {why}");
            }
        }
        let mut rx = ready(test, "--stamps none");
        send_frames(&frames(64, 1), 0..50);
        let result = told(&mut rx, &json!({"sent": {"0": 50}}));
        assert_eq!((&result["stamps"], &result["stamped_by"]), (&json!("none"), &Value::Null));
        assert_eq!((&result["streams"]["0"]["intact"], &result["rx_rate"]), (&json!(50), &Value::Null));
        assert_eq!(result["inter_arrival_absent"], "no stamps were asked for");
        assert_eq!(result["streams"]["0"]["first_ns"], Value::Null);
    });
}

#[test]
fn a_latency_is_told_only_from_one_clock_or_beside_the_bound_that_was_given() {
    let test =
        "tool::tests_receive::a_latency_is_told_only_from_one_clock_or_beside_the_bound_that_was_given";
    on_a_link(test, || {
        let own = ClockIdentity::read().expect("proc");
        let other = ClockIdentity { boot_id: "another machine".into(), ..own.clone() };
        let bound = "--clock-offset-bound 5us";
        let cases = [
            ("", Some(&own), Ok(("one machine", Value::Null))),
            ("", Some(&other), Err("different clocks")),
            ("", None, Err("names no clock")),
            (bound, Some(&other), Ok(("offset bound", json!(5_000)))),
            (bound, None, Ok(("offset bound", json!(5_000)))),
        ];
        for (more, clock, expected) in cases {
            let mut rx = ready(test, format!("--latency {more}").trim_end());
            send_frames(&frames(64, 1).stamped(true), 0..100);
            let word = clock
                .map_or(json!({"sent": {"0": 100}}), |clock| json!({"sent": {"0": 100}, "clock": clock}));
            let result = told(&mut rx, &word);
            let stream = &result["streams"]["0"];
            assert_eq!(stream["intact"], 100, "a stamped frame is compared but for its stamp: {stream}");
            let latency = &stream["latency"];
            match expected {
                Ok((ground, bound)) => {
                    assert_eq!(
                        (&result["latency_clock"], &result["latency_absent"]),
                        (&json!(ground), &Value::Null)
                    );
                    assert_eq!(result["clock_offset_bound_ns"], bound);
                    assert_eq!((&latency["count"], &latency["negative"]), (&json!(100), &json!(0)));
                    let p50 = latency["percentiles"]["p50"].as_u64().expect("100 values carry it");
                    assert!(p50 > 0 && Some(p50) <= latency["max_ns"].as_u64(), "{latency}");
                    assert_eq!(latency["percentiles"]["p99"], Value::Null, "368 values would carry it");
                }
                Err(why) => {
                    assert_eq!((latency, &result["latency_clock"]), (&Value::Null, &Value::Null));
                    assert!(
                        result["latency_absent"].as_str().is_some_and(|text| text.contains(why)),
                        "{result}"
                    );
                }
            }
        }
    });
}

#[test]
fn a_sender_of_stamped_frames_names_its_clock_and_the_receiver_tells_the_latency() {
    let test =
        "tool::tests_receive::a_sender_of_stamped_frames_names_its_clock_and_the_receiver_tells_the_latency";
    on_a_link(test, || {
        let common = "--latency --frame-size 64-1518/101 --digest";
        let mut rx = ready(test, &format!("{common} --drain 5s"));
        let tx = format!("packet-send --interface ft0 {common} --frames 400 --rate 4000");
        let mut tx = Process::start(test, &tx);
        tx.event();
        let sent = tx.event();
        let result = told(&mut rx, &json!({"sent": {"0": 400}, "clock": sent["clock"]}));
        let stream = &result["streams"]["0"];
        assert_eq!(stream["digest"], sent["streams"]["0"]["digest"], "stamps belong to no digest");
        assert_eq!(
            (&result["latency_clock"], &stream["latency"]["count"]),
            (&json!("one machine"), &json!(400))
        );
        assert!(stream["latency"]["percentiles"]["p99"].is_u64(), "{stream}");
    });
}

#[test]
fn frames_that_are_not_ours_are_told_apart_and_damage_is_named() {
    let test = "tool::tests_receive::frames_that_are_not_ours_are_told_apart_and_damage_is_named";
    on_a_link(test, || {
        let mut rx = ready(test, "--drain 300ms");
        let socket = sender();
        let frames = frames(64, 1);
        let mut bytes = vec![0; 60];
        for sequence in [0, 2, 1, 2] {
            frames.write(0, sequence, &mut bytes);
            send(&socket, &bytes);
        }
        bytes[50] ^= 0x40;
        send(&socket, &bytes);
        for ethertype in [0x86ddu16, 0x86dd, 0x88cc] {
            send(&socket, &[&[0xff; 12][..], &ethertype.to_be_bytes(), &[0; 46]].concat());
        }
        let result = told(&mut rx, &json!({"sent": {"0": 4}}));
        let stream = &result["streams"]["0"];
        let keys = ["intact", "lost", "duplicated", "reordered", "corrupted"];
        assert_eq!(keys.map(|key| stream[key].as_u64()), [3, 1, 1, 1, 1].map(Some), "{stream}");
        let kinds = json!({"ipv4": 0, "ipv6": 2, "arp": 0, "lldp": 1, "other_run": 0, "other": 0});
        assert_eq!((&result["foreign"], &result["foreign_kinds"]), (&json!(3), &kinds));
    });
}

#[test]
fn counting_alone_says_so_and_has_nothing_that_a_proof_could_read() {
    let test = "tool::tests_receive::counting_alone_says_so_and_has_nothing_that_a_proof_could_read";
    on_a_link(test, || {
        let mut rx = ready(test, "--count-only --drain 5s");
        send_frames(&frames(64, 1), 0..100);
        let result = told(&mut rx, &json!({"sent": {"0": 100}}));
        assert_eq!((&result["counted"]["0"], &result["ended_by"]), (&json!(100), &json!("sent")));
        assert_eq!((result.get("streams"), result.get("rx_rate")), (None, None), "{result}");
    });
}

#[test]
fn arguments_that_do_not_go_together_are_refused_with_what_would() {
    let test = "tool::tests_receive::arguments_that_do_not_go_together_are_refused_with_what_would";
    on_a_link(test, || {
        let faults = [
            ("--queues 0", "--queues goes with --path af_xdp only, found --path af_packet"),
            ("--path af_packet_recvmmsg --attach native", "--attach goes with --path af_xdp only"),
            ("--xdp-copy zero-copy", "--xdp-copy goes with --path af_xdp only"),
            ("--latency --stamps none", "--stamps software or hardware"),
            ("--frame-size 64,9000", "9000"),
        ];
        for (arguments, text) in faults {
            let mut rx = Process::start(test, &format!("packet-receive --interface ft1 {arguments}"));
            let fault = rx.event();
            assert_eq!((&fault["event"], rx.code()), (&json!("fault"), Some(2)), "{arguments}: {fault}");
            assert!(fault["why"].as_str().is_some_and(|why| why.contains(text)), "{arguments}: {fault}");
        }
    });
}

#[test]
fn an_mtu_smaller_than_the_frames_is_refused_before_anything_is_lost() {
    let test = "tool::tests_receive::an_mtu_smaller_than_the_frames_is_refused_before_anything_is_lost";
    on_a_link(test, || {
        let set = Command::new("ip").args(["link", "set", "ft1", "mtu", "1400"]).status();
        assert!(set.expect("iproute2").success());
        let mut rx = Process::start(test, "packet-receive --interface ft1 --frame-size 64,1518");
        let fault = rx.event();
        assert_eq!((&fault["refused"], rx.code()), (&json!(true), Some(3)), "{fault}");
        assert!(fault["why"].as_str().is_some_and(|why| why.contains("ft1 is 1400")), "{fault}");
    });
}

/// Runs `body` as root on a link with two queues each way, or the tool that the environment names.
fn on_two_queues(test: &str, body: impl FnOnce()) {
    be_the_tool();
    let lacking = Rights::here().lacking(&[Capability::Bpf, Capability::NetAdmin], false);
    if !lacking.is_empty() {
        return skip::skip("bpf", &format!("{} in the first user namespace", lacking.join(" and ")));
    }
    inside_as_root(test, || {
        make_veth_with_queues("ft0", "ft1", process::id(), 2).expect("veth");
        for end in ["ft0", "ft1"] {
            bring_up(end).expect("up");
        }
        wait_until_running("ft0", Duration::from_secs(5)).expect("running");
        body();
    });
}

/// Hands one frame over to a queue.
fn send_by(way: &mut XdpSender, frames: &Frames, stream: u16, sequence: u64) {
    let limit = monotonic_ns() + 5_000_000_000;
    let mut filled = 0;
    while filled == 0 || way.waiting() > 0 {
        assert!(monotonic_ns() < limit, "the queue takes nothing");
        if filled == 0 {
            filled = way.fill(frames, stream, sequence, 1);
        }
        // A full queue takes the same frame later.
        let _ = way.hand_over();
    }
}

#[test]
fn by_af_xdp_every_queue_has_its_thread_and_a_spread_stream_is_accounted_exactly() {
    let test =
        "tool::tests_receive::by_af_xdp_every_queue_has_its_thread_and_a_spread_stream_is_accounted_exactly";
    on_two_queues(test, || {
        let near = Interface::find("ft0").expect("the near end");
        for (size, pause_every) in [(64, 50), (1518, 20)] {
            let mut rx =
                ready(test, &format!("--path af_xdp --streams 2 --frame-size {size} --digest --drain 5s"));
            let frames = frames(size, 2);
            let mut ways =
                [0, 1].map(|queue| XdpSender::open(&near, queue, &XdpOptions::default()).expect("a sender"));
            for sequence in 0..1_000 {
                // Stream 0 is steered to queue 0, stream 1 spread over both.
                send_by(&mut ways[0], &frames, 0, sequence);
                send_by(&mut ways[(sequence % 2) as usize], &frames, 1, sequence);
                if sequence % pause_every == 0 {
                    // A veth queue holds 256 frames.
                    sleep_until_ns(monotonic_ns() + 1_000_000);
                }
            }
            let result = told(&mut rx, &json!({"sent": {"0": 1000, "1": 1000}}));
            for stream in ["0", "1"] {
                let of = &result["streams"][stream];
                let counts = ["intact", "lost", "duplicated", "corrupted"].map(|key| of[key].as_u64());
                assert_eq!(counts, [1000, 0, 0, 0].map(Some), "{size} B: {result}");
            }
            let queues = json!({"0": {"0": 1000, "1": 500}, "1": {"0": 0, "1": 500}});
            assert_eq!(result["queues"], queues, "{size} B");
            assert_eq!(result["xdp"], json!({"attach": "native", "copy": "copy"}));
            assert_eq!((&result["stamped_by"], &result["stamps"]), (&json!("program"), &json!("software")));
            assert_eq!(result["foreign_seen"], "own ethertypes");
            let why = result["inter_arrival_absent"].as_str().expect("a reason");
            assert!(why.contains("af_xdp") && why.contains("batch"), "{why}");
        }
        let left = Interface::find("ft1").expect("the far end").xdp_program;
        assert_eq!(left, None, "no program is left behind");
    });
}

#[test]
fn by_af_xdp_what_the_host_refuses_is_a_refusal_and_a_signal_ends_it_with_its_result() {
    let test = "tool::tests_receive::by_af_xdp_what_the_host_refuses_is_a_refusal_and_a_signal_ends_it_with_its_result";
    on_two_queues(test, || {
        for (arguments, part) in [("--xdp-copy zero-copy", "zero-copy"), ("--queues 0,7", "queue 7")] {
            let arguments = format!("packet-receive --interface ft1 --path af_xdp {arguments}");
            let mut rx = Process::start(test, &arguments);
            let fault = rx.event();
            assert_eq!((&fault["refused"], rx.code()), (&json!(true), Some(3)), "{arguments}: {fault}");
            assert!(fault["why"].as_str().is_some_and(|why| why.contains(part)), "{fault}");
        }
        let mut rx = ready(test, "--path af_xdp --queues 1 --attach generic --drain 100ms");
        let held = Command::new("ip").args(["-d", "link", "show", "ft1"]).output().expect("iproute2");
        let flags = String::from_utf8_lossy(&held.stdout).into_owned();
        assert!(flags.contains("promiscuity 1"), "a real card would pass none of our addresses: {flags}");
        rx.terminate();
        let result = rx.event();
        assert_eq!((&result["ended_by"], rx.code()), (&json!("signal"), Some(0)), "{result}");
        assert_eq!(result["xdp"]["attach"], "generic");
        assert_eq!(result["queues"], json!({"1": {"0": 0}}));
    });
}
