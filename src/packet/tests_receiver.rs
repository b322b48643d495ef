//! What the ways in of AF_PACKET make of frames that the test itself puts on a veth pair.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process;
use std::time::Duration;

use super::datagrams::Datagrams;
use super::foreign::Kind;
use super::frame::Frames;
use super::ingress::{Ingress, StampSource, Stamps};
use super::receiver::{Plan, Progress, Received, Receiver, Way};
use super::ring::{BLOCK_BYTES, Ring};
use super::socket::open_sender;
use crate::model::frame_size::Sizes;
use crate::nic::clock::{monotonic_ns, realtime_ns, sleep_until_ns};
use crate::nic::interface::Interface;
use crate::nic::link::{bring_up, make_veth, wait_until_running};
use crate::nic::namespace::inside;

const SEED: u64 = 42;
const LEDGER: Plan = Plan { digest: false, count_only: false };
const WAYS: [&str; 2] = ["af_packet", "af_packet_recvmmsg"];
/// No wait of a test is longer.
const LIMIT_NS: u64 = 5_000_000_000;

fn link() -> (Interface, Interface) {
    make_veth("ft0", "ft1", process::id()).expect("veth");
    for end in ["ft0", "ft1"] {
        bring_up(end).expect("up");
    }
    let running = |name| wait_until_running(name, Duration::from_secs(5)).expect("running");
    (running("ft0"), running("ft1"))
}

fn frames(size: &str, streams: u16) -> Frames {
    let sizes: Sizes = size.parse().expect("sizes");
    Frames::new(&sizes, streams, SEED).expect("in range")
}

fn way(path: &str, on: &Interface, bytes: usize, stamps: Stamps) -> Box<dyn Ingress> {
    match path {
        "af_packet" => Box::new(Ring::open(on, bytes, stamps).expect("ring")),
        _ => Box::new(Datagrams::open(on, bytes, stamps).expect("socket")),
    }
}

fn start(ingress: Box<dyn Ingress>, frames: &Frames) -> Receiver {
    let ways = vec![Way { queue: None, ingress }];
    Receiver::start(ways, frames.clone(), LEDGER).expect("a thread")
}

/// Puts one frame on the wire.
fn send(socket: &OwnedFd, bytes: &[u8]) {
    // SAFETY: the descriptor is open, and pointer and length describe `bytes`.
    let taken = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    assert_eq!(taken, bytes.len() as isize, "{}", std::io::Error::last_os_error());
}

fn send_frame(socket: &OwnedFd, frames: &Frames, stream: u16, sequence: u64) {
    let mut bytes = vec![0; frames.bytes(sequence)];
    frames.write(stream, sequence, &mut bytes);
    send(socket, &bytes);
}

fn wait_for(receiver: &Receiver, what: &str, done: impl Fn(Progress) -> bool) {
    let limit = monotonic_ns() + LIMIT_NS;
    while !done(receiver.progress()) {
        assert!(monotonic_ns() < limit, "{what} did not come: {:?}", receiver.progress());
        sleep_until_ns(monotonic_ns() + 200_000);
    }
}

/// Ends when so many frames, ours or not, were taken.
fn stop_after(receiver: Receiver, frames: u64) -> Received {
    wait_for(&receiver, "the last frame", |seen| seen.own + seen.foreign >= frames);
    receiver.stop().expect("received")
}

#[test]
fn every_frame_arrives_exactly_once_by_ring_and_by_recvmmsg() {
    inside("packet::tests_receiver::every_frame_arrives_exactly_once_by_ring_and_by_recvmmsg", || {
        let (near, far) = link();
        let socket = open_sender(&near).expect("socket");
        for (path, size) in WAYS.iter().flat_map(|path| ["64", "1518", "64-1518/100"].map(|s| (path, s))) {
            let frames = frames(size, 3);
            let receiver = start(way(path, &far, 64 * BLOCK_BYTES, Stamps::Software), &frames);
            let before = realtime_ns();
            for sequence in 0..2_000 {
                (0..3).for_each(|stream| send_frame(&socket, &frames, stream, sequence));
                // An ordinary user's receive buffer holds few frames.
                if sequence % 20 == 19 {
                    wait_for(&receiver, "a part", |seen| seen.own == 3 * (sequence + 1));
                }
            }
            let words = [Some(2_000); 3];
            assert!(receiver.complete(&words) && !receiver.complete(&[Some(2_001); 3]));
            assert_eq!((receiver.gaps(), receiver.failed()), (0, false));
            let received = stop_after(receiver, 6_000);
            let after = realtime_ns();
            for stream in &received.streams {
                let account = stream.ledger.close(Some(2_000));
                assert!(account.exactly_once(), "{path} {size}: {account:?}");
                let (first, last) = account.first_ns.zip(account.last_ns).expect("stamped");
                assert!(before <= first && first < last && last <= after, "{before} {account:?} {after}");
                assert_eq!(stream.inter_arrival.counted() + stream.inter_arrival.negative(), 1_999);
            }
            assert_eq!((received.seen.foreign.total(), received.progress.drops), (0, 0), "{path} {size}");
            assert_eq!(received.queues, [(None, vec![2_000; 3])]);
            assert_eq!((received.stamps, received.seen.unstamped), (StampSource::Kernel, 0));
        }
    });
}

#[test]
fn what_a_buffer_too_small_loses_is_what_the_kernel_says_it_dropped_however_often_it_is_asked() {
    let test = "packet::tests_receiver::\
                what_a_buffer_too_small_loses_is_what_the_kernel_says_it_dropped_however_often_it_is_asked";
    inside(test, || {
        let (near, far) = link();
        let socket = open_sender(&near).expect("socket");
        let frames = frames("1518", 2);
        for path in WAYS {
            // Nobody takes frames until all are sent.
            let mut ingress = way(path, &far, 4 * BLOCK_BYTES, Stamps::Software);
            let mut drops = Vec::new();
            for sequence in 0..10_000 {
                (0..2).for_each(|stream| send_frame(&socket, &frames, stream, sequence));
                if sequence % 2_500 == 2_499 {
                    drops.push(ingress.drops().expect("statistics"));
                }
            }
            assert!(drops.is_sorted() && drops[1] > 0 && drops[3] > drops[1], "{path}: {drops:?}");
            let received = stop_after(start(ingress, &frames), 20_000 - drops[3]);
            let accounts: Vec<_> = received.streams.iter().map(|s| s.ledger.close(Some(10_000))).collect();
            let lost: u64 = accounts.iter().map(|account| account.lost).sum();
            let intact: u64 = accounts.iter().map(|account| account.counts.intact).sum();
            assert!(lost > 0 && !accounts.iter().all(|account| account.exactly_once()));
            assert_eq!((lost, intact), (received.progress.drops, 20_000 - drops[3]), "{path}");
        }
    });
}

#[test]
fn damaged_doubled_late_and_foreign_frames_are_each_counted_as_that() {
    let test = "packet::tests_receiver::damaged_doubled_late_and_foreign_frames_are_each_counted_as_that";
    inside(test, || {
        let (near, far) = link();
        let socket = open_sender(&near).expect("socket");
        let frames = frames("64", 2);
        let stray = Frames::new(&Sizes::one(64).expect("in range"), 2, SEED + 1).expect("in range");
        for path in WAYS {
            let receiver = start(way(path, &far, 4 * BLOCK_BYTES, Stamps::Software), &frames);
            [0, 1, 3, 2, 3].iter().for_each(|&sequence| send_frame(&socket, &frames, 1, sequence));
            let mut damaged = vec![0; 60];
            frames.write(1, 4, &mut damaged);
            damaged[59] ^= 1;
            send(&socket, &damaged);
            send_frame(&socket, &stray, 1, 4);
            for ethertype in [0x86ddu16, 0x0800, 0x0806, 0x88cc, 0x9999] {
                let stranger = [&[0xff; 12][..], &ethertype.to_be_bytes(), &[0; 46]].concat();
                send(&socket, &stranger);
            }
            let received = stop_after(receiver, 12);
            let account = received.streams[1].ledger.close(Some(5));
            let counts = account.counts;
            assert_eq!((counts.received, counts.intact, account.lost), (6, 4, 1), "{path}: {account:?}");
            assert_eq!((counts.duplicated, counts.reordered, counts.corrupted), (1, 1, 1), "{account:?}");
            assert_eq!(received.streams[0].ledger.close(Some(0)).counts.received, 0);
            let kinds: Vec<_> = received.seen.foreign.kinds().collect();
            assert_eq!(kinds, Kind::ALL.map(|kind| (kind, 1)), "{path}");
        }
    });
}

#[test]
fn send_stamps_give_a_latency_and_absent_receive_stamps_give_no_time_at_all() {
    let test =
        "packet::tests_receiver::send_stamps_give_a_latency_and_absent_receive_stamps_give_no_time_at_all";
    inside(test, || {
        let (near, far) = link();
        let socket = open_sender(&near).expect("socket");
        let frames = frames("64", 1).stamped(true);
        // On veth no card stamps, and what the kernel stamps must not be shown as the card's.
        for (path, stamps) in
            WAYS.iter().flat_map(|path| [Stamps::Software, Stamps::Hardware, Stamps::None].map(|s| (path, s)))
        {
            let receiver = start(way(path, &far, 4 * BLOCK_BYTES, stamps), &frames);
            (0..50).for_each(|sequence| send_frame(&socket, &frames, 0, sequence));
            let received = stop_after(receiver, 50);
            let stream = &received.streams[0];
            let account = stream.ledger.close(Some(50));
            assert!(account.exactly_once(), "{path} {stamps:?}: {account:?}");
            let timed = stamps == Stamps::Software;
            assert_eq!(received.seen.unstamped, if timed { 0 } else { 50 }, "{path} {stamps:?}");
            assert_eq!(stream.latency.counted(), if timed { 50 } else { 0 }, "{path} {stamps:?}");
            assert_eq!((account.first_ns.is_some(), stream.latency.negative()), (timed, 0));
            if let Some((least, most)) = stream.latency.extremes_ns() {
                assert!(least > 0 && most < LIMIT_NS, "{path}: {least} to {most} ns");
            }
        }
    });
}

#[test]
fn counting_alone_enters_no_account_and_is_complete_by_number() {
    inside("packet::tests_receiver::counting_alone_enters_no_account_and_is_complete_by_number", || {
        let (near, far) = link();
        let socket = open_sender(&near).expect("socket");
        let frames = frames("64", 2);
        let ways = vec![Way { queue: None, ingress: way(WAYS[0], &far, 4 * BLOCK_BYTES, Stamps::None) }];
        let plan = Plan { count_only: true, ..LEDGER };
        let receiver = Receiver::start(ways, frames.clone(), plan).expect("a thread");
        (0..10).for_each(|_| send_frame(&socket, &frames, 1, 0));
        send(&socket, &[0xff; 60]);
        wait_for(&receiver, "the last frame", |seen| seen.own == 10 && seen.foreign == 1);
        assert!(receiver.complete(&[Some(0), Some(10)]) && !receiver.complete(&[Some(1), Some(10)]));
        assert!(!receiver.complete(&[Some(0), None]), "without the sender's word nothing is complete");
        let received = receiver.stop().expect("received");
        assert_eq!((received.seen.streams, received.seen.foreign.total()), (vec![0, 10], 1));
        assert_eq!(received.streams[1].ledger.close(None).counts.received, 0, "nothing was judged");
    });
}

#[test]
fn a_link_that_goes_down_is_told_and_the_receiver_hears_it_come_up_again() {
    let test =
        "packet::tests_receiver::a_link_that_goes_down_is_told_and_the_receiver_hears_it_come_up_again";
    inside(test, || {
        let (near, far) = link();
        let frames = frames("64", 1);
        for path in WAYS {
            let receiver = start(way(path, &far, 4 * BLOCK_BYTES, Stamps::Software), &frames);
            let down = process::Command::new("ip").args(["link", "set", "ft1", "down"]).status();
            assert!(down.expect("iproute2").success());
            wait_for(&receiver, "the link's error", |seen| seen.link_errors > 0);
            bring_up("ft1").expect("up");
            wait_until_running("ft1", Duration::from_secs(5)).expect("running");
            send_frame(&open_sender(&near).expect("socket"), &frames, 0, 0);
            let received = stop_after(receiver, 1);
            assert!(received.streams[0].ledger.close(Some(1)).exactly_once(), "{path}");
        }
    });
}

#[test]
fn what_waits_when_the_end_is_asked_for_is_taken_before_it() {
    inside("packet::tests_receiver::what_waits_when_the_end_is_asked_for_is_taken_before_it", || {
        let (near, far) = link();
        let socket = open_sender(&near).expect("socket");
        let frames = frames("64", 1);
        for path in WAYS {
            let ingress = way(path, &far, 4 * BLOCK_BYTES, Stamps::Software);
            (0..100).for_each(|sequence| send_frame(&socket, &frames, 0, sequence));
            // Until the kernel hands over a block that is not full.
            sleep_until_ns(monotonic_ns() + 50_000_000);
            let received = start(ingress, &frames).stop().expect("received");
            let account = received.streams[0].ledger.close(Some(100));
            assert!(account.exactly_once(), "{path}: {account:?}");
        }
    });
}

#[test]
fn no_thread_outlives_its_receiver() {
    inside("packet::tests_receiver::no_thread_outlives_its_receiver", || {
        let (_, far) = link();
        let names = || -> Vec<String> {
            let tasks = fs::read_dir("/proc/self/task").expect("proc").flatten();
            let names = tasks.map(|task| fs::read_to_string(task.path().join("comm")).unwrap_or_default());
            names.filter(|name| name.starts_with("receive")).collect()
        };
        let ways = WAYS.map(|path| way(path, &far, 4 * BLOCK_BYTES, Stamps::Software));
        let ways = (0..).zip(ways).map(|(queue, ingress)| Way { queue: Some(queue), ingress }).collect();
        let receiver = Receiver::start(ways, frames("64", 1), LEDGER).expect("threads");
        let limit = monotonic_ns() + LIMIT_NS;
        while names().len() < 2 {
            assert!(monotonic_ns() < limit, "{:?}", names());
            sleep_until_ns(monotonic_ns() + 200_000);
        }
        let asked_ns = monotonic_ns();
        drop(receiver);
        assert_eq!(names(), Vec::<String>::new());
        assert!(monotonic_ns() - asked_ns < 200_000_000, "it slept on though it was told to end");
    });
}
