//! Frames over a real veth pair, in network namespaces of their own.

use std::process;
use std::time::Duration;

use super::frame::Frames;
use super::ingress::Stamps;
use super::ledger::Account;
use super::pace::Pace;
use super::receiver::{self, Received, Receiver, Way};
use super::ring::{BLOCK_BYTES, Ring};
use super::sender::{Plan, SendError, Sender, Sent};
use super::size::Sizes;
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

/// A receiver with a ring of 64 MiB.
fn receiver(on: &Interface, frames: &Frames) -> Receiver {
    let ring = Ring::open(on, RING, Stamps::Software).expect("ring");
    let ways = vec![Way { queue: None, ingress: Box::new(ring) }];
    let plan = receiver::Plan { digest: true, count_only: false };
    Receiver::start(ways, frames.clone(), plan).expect("receiver")
}

/// Sends while the other end receives, until nothing has come for 50 ms.
fn exchange(sender: &mut Sender, receiver: Receiver, plan: &Plan) -> (Sent, Received, Vec<Account>) {
    let sent = sender.run(plan, || false).expect("sent");
    let mut last = monotonic_ns();
    while monotonic_ns() < last + 50_000_000 {
        last = last.max(receiver.progress().last_own_ns.unwrap_or(0));
        sleep_until_ns(monotonic_ns() + 1_000_000);
    }
    let received = receiver.stop().expect("received");
    let account =
        |(stream, (handed, _)): (&super::tally::Stream, &(u64, _))| stream.ledger.close(Some(*handed));
    let accounts = received.streams.iter().zip(&sent.streams).map(account).collect();
    (sent, received, accounts)
}

#[test]
fn every_frame_arrives_exactly_once_with_the_same_digest_at_both_ends() {
    inside("packet::tests::every_frame_arrives_exactly_once_with_the_same_digest_at_both_ends", || {
        let (near, far) = link();
        for (size, streams, batch) in [(64, 3, 64), (1518, 1, 1), (777, 16, 7)] {
            let frames = frames(size, streams);
            let receiver = receiver(&far, &frames);
            let mut sender = Sender::open(&near, frames).expect("sender");
            let plan = Plan { batch, ..plan(Extent::Frames(5000)) };
            let (sent, received, accounts) = exchange(&mut sender, receiver, &plan);
            let digests = received.seen.digests.expect("asked for");
            for (stream, account) in accounts.iter().enumerate() {
                assert!(account.exactly_once(), "{size} B, stream {stream}: {account:?}");
                assert_eq!(sent.streams[stream], (5000, Some(digests[stream])), "{size} B, stream {stream}");
            }
            assert_eq!(sent.left_total, 5000 * u64::from(streams), "by the interface's own counter");
            assert_eq!((received.seen.foreign.total(), sent.cut_short), (0, false));
            assert_eq!(received.progress.drops, 0);
        }
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

/// What keeps a pace needs a core for itself: tests/run runs these one at a time.
mod alone {
    use super::*;

    #[test]
    fn a_steady_rate_is_kept_and_its_window_begins_after_settling() {
        inside("packet::tests::alone::a_steady_rate_is_kept_and_its_window_begins_after_settling", || {
            let (near, far) = link();
            let frames = frames(64, 2);
            let receiver = receiver(&far, &frames);
            let mut sender = Sender::open(&near, frames).expect("sender");
            let extent = Extent::Time { settle_ns: 200_000_000, duration_ns: 500_000_000 };
            let pace = Some(Pace::new(2000.0, 2).expect("a rate"));
            let (sent, received, accounts) = exchange(&mut sender, receiver, &Plan { pace, ..plan(extent) });
            for (stream, account) in sent.streams.iter().zip(&accounts) {
                assert_eq!((stream.0, account.exactly_once()), (1400, true), "0.7 s at 2000/s");
            }
            let left = sent.left.expect("a window");
            assert!(left.seconds() > 0.3 && (left.per_second() - 4000.0).abs() < 1000.0, "{left:?}");
            assert!(sent.spans.iter().any(|s| s.settling) && sent.spans.iter().any(|s| !s.settling));
            assert_eq!(sent.spans.iter().map(|s| s.left).sum::<u64>(), 2800);
            for stream in received.streams {
                let rate = stream.intact.window(200_000_000).expect("whole buckets");
                assert!((rate.per_second() - 2000.0).abs() < 500.0, "{rate:?}");
            }
        });
    }
}
