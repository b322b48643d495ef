//! Frames over a real veth pair, in network namespaces of their own.

use std::os::fd::{AsRawFd, OwnedFd};
use std::process;
use std::thread;
use std::time::Duration;

use super::frame::Frames;
use super::pace::Pace;
use super::receiver::{Receiver, StreamReceived};
use super::ring::BLOCK_BYTES;
use super::sender::{Plan, SendError, Sender, Sent};
use super::size::Sizes;
use super::socket::open_sender;
use super::watch::Extent;
use crate::nic::clock::{monotonic_ns, sleep_until_ns};
use crate::nic::interface::Interface;
use crate::nic::link::{bring_up, make_veth, wait_until_running};
use crate::nic::namespace::inside;

const SEED: u64 = 42;
const RING: usize = 64 * BLOCK_BYTES;

fn link() -> (Interface, Interface) {
    make_veth("ft0", "ft1", process::id()).expect("veth");
    let up = |name| {
        bring_up(name).expect("up");
        name
    };
    let running = |name| wait_until_running(name, Duration::from_secs(5)).expect("running");
    let (near, far) = (up("ft0"), up("ft1"));
    (running(near), running(far))
}

fn frames(size: u32, streams: u16) -> Frames {
    Frames::new(&Sizes::one(size).expect("in range"), streams, SEED).expect("in range")
}

fn plan(extent: Extent) -> Plan {
    Plan { batch: 64, pace: None, extent, digest: true }
}

/// Takes blocks until none has come for 50 ms.
fn drain(receiver: &mut Receiver) {
    let mut last = monotonic_ns();
    while monotonic_ns() < last + 50_000_000 {
        match receiver.take_block() {
            Some(_) => last = monotonic_ns(),
            None => sleep_until_ns(monotonic_ns() + 1_000_000),
        }
    }
}

/// Sends on one end while the other receives.
fn exchange(sender: &mut Sender, receiver: &mut Receiver, plan: &Plan) -> (Sent, Vec<StreamReceived>) {
    let sent = thread::scope(|scope| {
        let sending = scope.spawn(|| sender.run(plan, || false));
        while !sending.is_finished() {
            if receiver.take_block().is_none() {
                sleep_until_ns(monotonic_ns() + 100_000);
            }
        }
        sending.join().expect("no panic")
    });
    drain(receiver);
    let sent = sent.expect("sent");
    let words: Vec<_> = sent.streams.iter().map(|(handed, _)| Some(*handed)).collect();
    (sent, receiver.close(&words))
}

#[test]
fn every_frame_arrives_exactly_once_with_the_same_digest_at_both_ends() {
    inside("packet::tests::every_frame_arrives_exactly_once_with_the_same_digest_at_both_ends", || {
        let (near, far) = link();
        for (size, streams, batch) in [(64, 3, 64), (1518, 1, 1), (777, 16, 7)] {
            let frames = frames(size, streams);
            let mut receiver = Receiver::open(&far, frames.clone(), RING, true).expect("receiver");
            let mut sender = Sender::open(&near, frames).expect("sender");
            let plan = Plan { batch, ..plan(Extent::Frames(5000)) };
            let (sent, received) = exchange(&mut sender, &mut receiver, &plan);
            for (stream, ((handed, digest), received)) in sent.streams.iter().zip(&received).enumerate() {
                let account = received.account;
                assert!(account.exactly_once(), "{size} B, stream {stream}: {account:?}");
                assert_eq!((*handed, digest), (5000, &received.digest), "{size} B, stream {stream}");
            }
            assert_eq!(sent.left_total, 5000 * u64::from(streams), "by the interface's own counter");
            assert_eq!((receiver.foreign(), sent.cut_short), (0, false));
            let statistics = receiver.statistics().expect("statistics");
            assert_eq!((statistics.packets, statistics.drops), (sent.left_total, 0));
        }
    });
}

#[test]
fn a_receiver_that_sleeps_loses_what_the_kernel_says_it_dropped() {
    inside("packet::tests::a_receiver_that_sleeps_loses_what_the_kernel_says_it_dropped", || {
        let (near, far) = link();
        let frames = frames(1518, 2);
        let mut receiver = Receiver::open(&far, frames.clone(), 4 * BLOCK_BYTES, false).expect("receiver");
        let mut sender = Sender::open(&near, frames).expect("sender");
        let sent = sender.run(&plan(Extent::Frames(10_000)), || false).expect("sent");
        drain(&mut receiver);
        let words: Vec<_> = sent.streams.iter().map(|(handed, _)| Some(*handed)).collect();
        let streams = receiver.close(&words);
        let lost: u64 = streams.iter().map(|s| s.account.lost).sum();
        let intact: u64 = streams.iter().map(|s| s.account.counts.intact).sum();
        let statistics = receiver.statistics().expect("statistics");
        assert!(lost > 0 && !streams.iter().all(|s| s.account.exactly_once()));
        assert_eq!((lost, intact + lost), (statistics.drops, 20_000));
        assert_eq!(statistics.packets, 20_000, "the kernel's count includes its drops");
    });
}

#[test]
fn damaged_doubled_late_and_foreign_frames_are_each_counted_as_that() {
    inside("packet::tests::damaged_doubled_late_and_foreign_frames_are_each_counted_as_that", || {
        let (near, far) = link();
        let frames = frames(64, 2);
        let mut receiver = Receiver::open(&far, frames.clone(), RING, false).expect("receiver");
        let socket = open_sender(&near).expect("socket");
        let stray = Frames::new(&Sizes::one(64).expect("in range"), 2, SEED + 1).expect("in range");
        let mut bytes = vec![0; 60];
        for sequence in [0, 1, 3, 2, 3] {
            frames.write(1, sequence, &mut bytes);
            send(&socket, &bytes);
        }
        bytes[59] ^= 1;
        send(&socket, &bytes);
        stray.write(1, 4, &mut bytes);
        send(&socket, &bytes);
        send(&socket, &[0xff; 60]);
        drain(&mut receiver);
        let account = receiver.close(&[Some(0), Some(5)])[1].account;
        let counts = account.counts;
        assert_eq!((counts.received, counts.intact, account.lost), (6, 4, 1), "{account:?}");
        assert_eq!((counts.duplicated, counts.reordered, counts.corrupted), (1, 1, 1), "{account:?}");
        assert_eq!(receiver.foreign(), 2);
    });
}

#[test]
fn a_sender_that_is_stopped_or_whose_interface_is_down_says_so() {
    inside("packet::tests::a_sender_that_is_stopped_or_whose_interface_is_down_says_so", || {
        let (near, _) = link();
        let mut sender = Sender::open(&near, frames(64, 1)).expect("sender");
        let hour = Extent::Time { settle_ns: 0, duration_ns: 3_600_000_000_000 };
        let sent = sender.run(&plan(hour), || true).expect("stopped");
        assert!(sent.cut_short && sent.left.is_some() && sent.streams[0].0 > 0);

        let down =
            process::Command::new("ip").args(["link", "set", "ft0", "down"]).status().expect("iproute2");
        assert!(down.success());
        let error = sender.run(&plan(Extent::Frames(1)), || false).expect_err("down");
        assert!(matches!(error, SendError::Refused(_)), "{error}");
        assert!(error.to_string().contains("ip link"), "{error}");
    });
}

fn send(socket: &OwnedFd, bytes: &[u8]) {
    // SAFETY: the descriptor is open, and pointer and length describe `bytes`.
    let taken = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    assert_eq!(taken, bytes.len() as isize, "{}", std::io::Error::last_os_error());
}

/// What keeps a pace needs a core for itself: tests/run runs these one at a time.
mod alone {
    use super::*;

    #[test]
    fn a_steady_rate_is_kept_and_its_window_begins_after_settling() {
        inside("packet::tests::alone::a_steady_rate_is_kept_and_its_window_begins_after_settling", || {
            let (near, far) = link();
            let frames = frames(64, 2);
            let mut receiver = Receiver::open(&far, frames.clone(), RING, false).expect("receiver");
            let mut sender = Sender::open(&near, frames).expect("sender");
            let extent = Extent::Time { settle_ns: 200_000_000, duration_ns: 500_000_000 };
            let pace = Some(Pace::new(2000.0, 2).expect("a rate"));
            let (sent, received) = exchange(&mut sender, &mut receiver, &Plan { pace, ..plan(extent) });
            for (stream, received) in sent.streams.iter().zip(&received) {
                assert_eq!((stream.0, received.account.exactly_once()), (1400, true), "0.7 s at 2000/s");
            }
            let left = sent.left.expect("a window");
            assert!(left.seconds() > 0.3 && (left.per_second() - 4000.0).abs() < 1000.0, "{left:?}");
            assert!(sent.spans.iter().any(|s| s.settling) && sent.spans.iter().any(|s| !s.settling));
            assert_eq!(sent.spans.iter().map(|s| s.left).sum::<u64>(), 2800);
            let rate = receiver.intact().window(200_000_000).expect("whole buckets");
            assert!((rate.per_second() - 4000.0).abs() < 1000.0, "{rate:?}");
        });
    }
}
