//! Frames over a real veth pair, in network namespaces of their own.

use std::process;
use std::sync::Arc;
use std::time::Duration;

use super::batch::open_each;
use super::bound::BoundBy;
use super::cpu::allowed;
use super::frame::Frames;
use super::ingress::Stamps;
use super::ledger::Account;
use super::pace::Pace;
use super::receiver::{self, Received, Receiver, Way};
use super::ring::{BLOCK_BYTES, Ring};
use super::schedule::Extent;
use super::sender::{Glance, Plan, SendError, Sender, Sent, check_mtu};
use crate::model::frame_size::Sizes;
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

fn sender(interface: &Interface, frames: &Frames) -> Sender {
    let frames = Arc::new(frames.clone());
    let ways = open_each(interface, &frames).expect("sockets");
    Sender::new(interface, frames, ways, vec![]).expect("counters")
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
    exchange_until(sender, receiver, plan, |_| false)
}

fn exchange_until(
    sender: &mut Sender,
    receiver: Receiver,
    plan: &Plan,
    stop: impl FnMut(Glance<'_>) -> bool,
) -> (Sent, Received, Vec<Account>) {
    let sent = sender.run(plan, stop).expect("sent");
    let mut last = monotonic_ns();
    while monotonic_ns() < last + 50_000_000 {
        last = last.max(receiver.progress().last_own_ns.unwrap_or(0));
        sleep_until_ns(monotonic_ns() + 1_000_000);
    }
    let received = receiver.stop().expect("received");
    let streams = received.streams.iter().zip(&sent.streams);
    let accounts = streams.map(|(stream, sent)| stream.ledger.close(Some(sent.handed))).collect();
    (sent, received, accounts)
}

#[test]
fn every_frame_arrives_exactly_once_with_the_same_digest_at_both_ends() {
    inside("packet::tests::every_frame_arrives_exactly_once_with_the_same_digest_at_both_ends", || {
        let (near, far) = link();
        let runs = [("64", 2, 64), ("1518", 1, 1), ("777", 16, 7), ("imix", 4, 64), ("64-1518/101", 2, 3)];
        for (round, (size, streams, batch)) in runs.into_iter().enumerate() {
            let sizes: Sizes = size.parse().expect("sizes");
            // Every other run with stamps, which belong to no digest.
            let frames = Frames::new(&sizes, streams, SEED).expect("in range").stamped(round % 2 == 1);
            let receiver = receiver(&far, &frames);
            let mut sender = sender(&near, &frames);
            // Where others want this CPU too, the kernel's queue of a flooded veth port overflows.
            let pace = Some(Pace::new(20_000.0 / f64::from(streams), streams).expect("a rate"));
            let plan = Plan { batch, pace, ..plan(Extent::Frames(1000)) };
            let (sent, received, accounts) = exchange(&mut sender, receiver, &plan);
            let digests = received.seen.digests.expect("asked for");
            for (stream, sent) in sent.streams.iter().enumerate() {
                let (account, digest) = (accounts[stream], digests[stream]);
                assert!(account.exactly_once(), "{size} B, stream {stream}: {account:?}");
                assert_eq!((sent.handed, sent.digest), (1000, Some(digest)), "{size} B, stream {stream}");
            }
            assert_eq!(sent.left_total, 1000 * u64::from(streams), "by the interface's own counter");
            assert_eq!((received.seen.foreign.total(), sent.cut_short), (0, false));
            assert_eq!(received.progress.drops, 0);
        }
    });
}

#[test]
fn a_stop_in_the_middle_leaves_exact_counts_at_both_ends() {
    inside("packet::tests::a_stop_in_the_middle_leaves_exact_counts_at_both_ends", || {
        let (near, far) = link();
        let frames = frames(64, 4);
        let receiver = receiver(&far, &frames);
        let mut sender = sender(&near, &frames);
        let pace = Some(Pace::new(20_000.0, 4).expect("a rate"));
        let hour = Extent::Time { settle_ns: 0, duration_ns: 3_600_000_000_000 };
        let plan = Plan { pace, ..plan(hour) };
        let stop = |glance: Glance<'_>| glance.at_ns > 150_000_000;
        let (sent, received, accounts) = exchange_until(&mut sender, receiver, &plan, stop);
        assert!(sent.cut_short);
        let digests = received.seen.digests.expect("asked for");
        for (sent, (account, digest)) in sent.streams.iter().zip(accounts.iter().zip(digests)) {
            assert!(sent.handed > 1000 && account.exactly_once(), "{account:?}");
            assert_eq!(sent.digest, Some(digest));
        }
        assert_eq!(sent.left_total, sent.streams.iter().map(|s| s.handed).sum::<u64>());
    });
}

#[test]
fn frames_larger_than_the_interface_takes_are_refused_with_both_numbers() {
    inside("packet::tests::frames_larger_than_the_interface_takes_are_refused_with_both_numbers", || {
        let (near, _) = link();
        let ask = |sizes: &str, mtu| {
            let frames = Frames::new(&sizes.parse().expect("sizes"), 1, SEED).expect("in range");
            check_mtu(&Interface { mtu, ..near.clone() }, &frames)
        };
        assert!(ask("64,1518", 1500).is_ok() && ask("1418", 1400).is_ok());
        let text = ask("64,1518", 1400).expect_err("too large").to_string();
        for part in ["1518 bytes with FCS", "MTU of 1500", "ft0 is 1400", "ip link set ft0 mtu 1500", "1418"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    });
}

#[test]
fn threads_bound_to_cpus_send_and_cpus_that_are_not_there_are_refused() {
    inside("packet::tests::threads_bound_to_cpus_send_and_cpus_that_are_not_there_are_refused", || {
        let (near, _) = link();
        let (frames, there) = (Arc::new(frames(64, 2)), allowed()[0]);
        let open = |cpus| {
            let ways = open_each(&near, &frames).expect("sockets");
            Sender::new(&near, Arc::clone(&frames), ways, cpus)
        };
        let mut sender = open(vec![there, there]).expect("a CPU for both");
        let sent = sender.run(&plan(Extent::Frames(1000)), |_| false).expect("sent");
        assert_eq!(sent.streams.iter().map(|s| s.handed).collect::<Vec<_>>(), [1000, 1000]);
        assert_eq!((sent.cut_short, sent.left_total), (false, 2000));
        let text = open(vec![there, 1023]).err().expect("no such CPU").to_string();
        assert!(text.contains("CPU 1023"), "{text}");
    });
}

#[test]
fn a_sender_that_is_stopped_or_whose_interface_is_down_says_so() {
    inside("packet::tests::a_sender_that_is_stopped_or_whose_interface_is_down_says_so", || {
        let (near, _) = link();
        let mut sender = sender(&near, &frames(64, 1));
        let hour = Extent::Time { settle_ns: 0, duration_ns: 3_600_000_000_000 };
        let sent = sender.run(&plan(hour), |_| true).expect("stopped");
        assert!(sent.cut_short && sent.windows.left.is_some() && sent.streams[0].handed > 0);

        let down =
            process::Command::new("ip").args(["link", "set", "ft0", "down"]).status().expect("iproute2");
        assert!(down.success());
        let error = sender.run(&plan(Extent::Frames(1)), |_| false).expect_err("down");
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
            let mut sender = sender(&near, &frames);
            let extent = Extent::Time { settle_ns: 200_000_000, duration_ns: 1_000_000_000 };
            let pace = Some(Pace::new(2000.0, 2).expect("a rate"));
            let (sent, received, accounts) = exchange(&mut sender, receiver, &Plan { pace, ..plan(extent) });
            for (stream, account) in sent.streams.iter().zip(&accounts) {
                assert_eq!((stream.handed, account.exactly_once()), (2400, true), "1.2 s at 2000/s");
            }
            let left = sent.windows.left.expect("a window");
            assert!(left.seconds() > 0.8 && (left.per_second() - 4000.0).abs() < 1000.0, "{left:?}");
            for (stream, window) in sent.streams.iter().zip(&sent.windows.streams) {
                let rate = stream.handed as f64 * 1e9 / stream.took_ns as f64;
                assert!((rate - 2000.0).abs() <= 20.0, "within a hundredth: {rate}");
                let of_window = window.expect("a window").per_second();
                assert!((of_window - 2000.0).abs() < 500.0, "{of_window}");
            }
            assert_eq!(sent.bound_by, BoundBy::Pace);
            assert!(sent.spans.iter().any(|s| s.settling) && sent.spans.iter().any(|s| !s.settling));
            assert_eq!(sent.spans.iter().map(|s| s.left).sum::<u64>(), 4800);
            for stream in received.streams {
                let rate = stream.intact.window(200_000_000).expect("whole buckets");
                assert!((rate.per_second() - 2000.0).abs() < 500.0, "{rate:?}");
            }
        });
    }

    #[test]
    fn a_pace_beyond_reach_is_cut_short_and_bound_by_the_host() {
        inside("packet::tests::alone::a_pace_beyond_reach_is_cut_short_and_bound_by_the_host", || {
            let (near, _) = link();
            let mut sender = sender(&near, &frames(1518, 1));
            let extent = Extent::Time { settle_ns: 0, duration_ns: 200_000_000 };
            let pace = Some(Pace::new(1e9, 1).expect("a rate"));
            let sent = sender.run(&Plan { pace, ..plan(extent) }, |_| false).expect("sent");
            let stream = &sent.streams[0];
            assert!(sent.cut_short && stream.handed > 0 && stream.handed < 200_000_000, "{stream:?}");
            // A veth pair without a listener takes every frame at once.
            assert_eq!(sent.bound_by, BoundBy::Host, "{:?}", stream.spent);
            assert!(stream.took_ns >= 290_000_000, "it got its tenth of a second more: {stream:?}");
            assert!(stream.spent.late_ns.is_some_and(|late| late > 100_000_000), "{:?}", stream.spent);
        });
    }
}
