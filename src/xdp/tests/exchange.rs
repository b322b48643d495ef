//! What goes through: exactly once, drops told, strangers passed by.

use std::os::fd::AsRawFd;
use std::os::fd::OwnedFd;
use std::thread;

use super::*;
use crate::nic::clock::monotonic_ns;
use crate::nic::namespace::inside;
use crate::packet::egress::Egress;
use crate::packet::frame::{Frames, Verdict};
use crate::packet::ingress::{Ingress, StampSource, Stamps};
use crate::packet::ledger::Ledger;
use crate::packet::receiver::{Plan, Receiver, Way};
use crate::packet::ring::{BLOCK_BYTES, Ring};
use crate::packet::socket::open_sender;
use crate::xdp::live::XdpLive;
use crate::xdp::redirect::{Loaded, stamp_function};
use crate::xdp::sender::XdpSender;

/// Frames under way on each queue, so that no ring on the way is ever full: a veth queue holds 256.
const WINDOW: u64 = 128;
const LIMIT_NS: u64 = 20_000_000_000;

fn frames(sizes: &str, streams: u16) -> Frames {
    Frames::new(&sizes.parse().expect("sizes"), streams, 42).expect("in range")
}

/// Sends `count` frames of stream i by way out i, never more ahead of the receivers than the window, and
/// enters what arrives into a ledger for each stream.
fn exchange(
    ways_out: &mut [Box<dyn Egress>],
    ways_in: &mut [XdpReceiver],
    frames: &Frames,
    count: u64,
) -> Vec<Ledger> {
    let mut ledgers = vec![Ledger::default(); ways_out.len()];
    let mut sent = vec![0u64; ways_out.len()];
    let deadline = monotonic_ns() + LIMIT_NS;
    while ledgers.iter().any(|ledger| ledger.counts().intact < count) {
        assert!(
            monotonic_ns() < deadline,
            "sent {sent:?}, seen {:?}",
            ledgers.iter().map(Ledger::counts).collect::<Vec<_>>()
        );
        for (stream, way) in (0u16..).zip(ways_out.iter_mut()) {
            let place = usize::from(stream);
            if way.waiting() == 0 {
                let ahead = sent[place] - ledgers[place].counts().received;
                let more = (WINDOW - ahead).min(count - sent[place]);
                way.fill(frames, stream, sent[place], more as usize);
            }
            match way.hand_over() {
                Ok(taken) => sent[place] += taken as u64,
                Err(e) => assert!(
                    matches!(
                        e.raw_os_error(),
                        Some(libc::EAGAIN | libc::ENOBUFS | libc::EBUSY | libc::EINTR)
                    ),
                    "{e}"
                ),
            }
        }
        for way in ways_in.iter_mut() {
            let seen = way.take(&mut |arrived| match frames.judge(arrived.bytes) {
                Verdict::Intact { stream, sequence, .. } => {
                    ledgers[usize::from(stream)]
                        .intact(sequence, Some(arrived.at_ns.expect("stamped by us")));
                }
                other => panic!("{other:?}: {:02x?}", arrived.bytes),
            });
            if seen.expect("frames").is_none() {
                thread::yield_now();
            }
        }
    }
    assert!(sent.iter().all(|sent| *sent == count), "{sent:?}");
    ledgers
}

fn assert_exactly_once(ledgers: &[Ledger], count: u64) {
    for ledger in ledgers {
        let account = ledger.close(Some(count));
        assert!(account.exactly_once() && account.counts.reordered == 0, "{account:?}");
    }
}

fn by_af_packet(interface: &Interface, frames: &Frames) -> Receiver {
    let ring = Ring::open(interface, 16 * BLOCK_BYTES, Stamps::Software).expect("ring");
    let ways = vec![Way { queue: None, ingress: Box::new(ring) }];
    let plan = Plan { digest: false, count_only: false };
    Receiver::start(ways, frames.clone(), plan).expect("receiver")
}

fn senders(interface: &Interface, queues: &[u32]) -> Vec<Box<dyn Egress>> {
    let open = |&queue| XdpSender::open(interface, queue, &XdpOptions::default()).expect("sender");
    queues.iter().map(|queue| Box::new(open(queue)) as Box<dyn Egress>).collect()
}

#[test]
fn every_frame_of_both_sizes_arrives_exactly_once_by_one_queue_and_by_two() {
    with_programs(
        "xdp::tests::exchange::every_frame_of_both_sizes_arrives_exactly_once_by_one_queue_and_by_two",
        || {
            let (near, far) = link(2);
            for (size, queues) in [("64", &[0][..]), ("1518", &[1]), ("64", &[0, 1]), ("1518", &[0, 1])] {
                let frames = frames(size, queues.len() as u16);
                let mut ways_in = receive_on(&far, queues);
                assert_eq!(ways_in[0].got().attach(), Some("native"));
                assert_eq!(ways_in[0].stamps(), StampSource::Program, "no card, no card's stamps");
                let ledgers = exchange(&mut senders(&near, queues), &mut ways_in, &frames, 10_000);
                assert_exactly_once(&ledgers, 10_000);
                for way in &mut ways_in {
                    assert_eq!(way.drops().expect("drops"), 0, "{:?}", way.statistics());
                }
            }
            assert_eq!(program_on(&far), None, "no program is left behind");
        },
    );
}

#[test]
fn a_program_in_the_stack_and_a_small_ring_that_wraps_do_as_well() {
    with_programs(
        "xdp::tests::exchange::a_program_in_the_stack_and_a_small_ring_that_wraps_do_as_well",
        || {
            let (near, far) = link(1);
            let frames = frames("777,64", 1);
            let options = XdpOptions { attach: Attach::Generic, ring: Some(200), ..XdpOptions::default() };
            let mut ways_in = XdpReceiver::open_all(&far, &[0], &options).expect("receiver");
            let got = ways_in[0].got();
            assert_eq!((got.attach(), got.copying(), got.ring), (Some("generic"), "copy", 256), "rounded up");
            let out = XdpSender::open(&near, 0, &XdpOptions { ring: Some(64), ..options }).expect("sender");
            let ledgers = exchange(&mut [Box::new(out)], &mut ways_in, &frames, 5000);
            assert_exactly_once(&ledgers, 5000);
        },
    );
}

#[test]
fn a_source_inside_the_kernel_writes_the_very_frames_that_a_sender_writes() {
    with_programs(
        "xdp::tests::exchange::a_source_inside_the_kernel_writes_the_very_frames_that_a_sender_writes",
        || {
            let (near, far) = link(1);
            for (size, streams) in [("64", 1), ("1518", 2), ("imix", 1), ("64-1518/91", 1)] {
                let frames = frames(size, streams);
                let mut ways_in = receive_on(&far, &[0]);
                let open = |stream| XdpLive::open(&near, &frames, stream).expect("source");
                let mut ways_out: Vec<_> =
                    (0..streams).map(|s| Box::new(open(s)) as Box<dyn Egress>).collect();
                // Past the end of the pattern's page.
                let ledgers = exchange(&mut ways_out, &mut ways_in, &frames, 6000);
                assert_exactly_once(&ledgers, 6000);
            }
        },
    );
}

#[test]
fn the_stamping_program_runs_on_veth_and_shows_no_stamp_where_no_card_made_one() {
    with_programs(
        "xdp::tests::exchange::the_stamping_program_runs_on_veth_and_shows_no_stamp_where_no_card_made_one",
        || {
            let (near, far) = link(1);
            let frames = frames("64", 1);
            // Only this test may load it for a card that cannot stamp: opening it the usual way is refused.
            let function = stamp_function(&far).expect("a kernel with the function");
            let loaded = Loaded::with_stamp(&far, 1, Some(function)).expect("loaded for this interface");
            let options = XdpOptions { attach: Attach::Native, ring: Some(64), ..XdpOptions::default() };
            let mut way_in = XdpReceiver::behind(loaded, &far, &[0], &options).expect("receiver").remove(0);
            assert_eq!(way_in.stamps(), StampSource::Hardware);
            let mut out = XdpSender::open(&near, 0, &XdpOptions::default()).expect("sender");
            let mut live = XdpLive::open(&near, &frames, 0).expect("source");
            let (mut seen, mut sent) = (0, 0);
            let deadline = monotonic_ns() + LIMIT_NS;
            while seen < 2000 {
                assert!(monotonic_ns() < deadline, "sent {sent}, seen {seen}");
                let way: &mut dyn Egress = if sent < 1000 { &mut out } else { &mut live };
                if sent < 2000 && seen == sent && way.waiting() == 0 {
                    way.fill(&frames, 0, sent, 20);
                }
                sent += way.hand_over().unwrap_or(0) as u64;
                let took = way_in.take(&mut |arrived| {
                    assert_eq!(arrived.at_ns, None, "a stamp from nowhere");
                    assert!(matches!(frames.judge(arrived.bytes), Verdict::Intact { sequence, .. } if sequence == seen));
                    seen += 1;
                });
                took.expect("frames");
            }
        },
    );
}

#[test]
fn an_ordinary_user_sends_by_af_xdp_and_every_frame_arrives_by_af_packet() {
    inside(
        "xdp::tests::exchange::an_ordinary_user_sends_by_af_xdp_and_every_frame_arrives_by_af_packet",
        || {
            let (near, far) = link(2);
            for size in ["64", "1518"] {
                let frames = frames(size, 2);
                let receiver = by_af_packet(&far, &frames);
                for (stream, mut way) in (0u16..).zip(senders(&near, &[0, 1])) {
                    let mut sent = 0;
                    while sent < 3000 {
                        if way.waiting() == 0 {
                            way.fill(&frames, stream, sent, 64.min(3000 - sent as usize));
                        }
                        match way.hand_over() {
                            Ok(taken) => sent += taken as u64,
                            Err(e) => assert_eq!(e.raw_os_error(), Some(libc::EAGAIN)),
                        }
                    }
                }
                let deadline = monotonic_ns() + LIMIT_NS;
                while !receiver.complete(&[Some(3000), Some(3000)]) {
                    assert!(monotonic_ns() < deadline, "{:?}", receiver.progress());
                    thread::yield_now();
                }
                assert_eq!(receiver.stop().expect("received").seen.foreign.total(), 0);
            }
        },
    );
}

#[test]
fn what_the_kernel_dropped_is_what_is_lost_however_often_it_is_read() {
    with_programs(
        "xdp::tests::exchange::what_the_kernel_dropped_is_what_is_lost_however_often_it_is_read",
        || {
            let (near, far) = link(1);
            let frames = frames("64", 1);
            let options = XdpOptions { ring: Some(64), ..XdpOptions::default() };
            let mut way_in = XdpReceiver::open_all(&far, &[0], &options).expect("receiver").remove(0);
            let mut out = XdpSender::open(&near, 0, &options).expect("sender");
            let mut sent = 0;
            // Nobody takes frames: all but a ring of them have to be dropped.
            while sent < 500 {
                if out.waiting() == 0 {
                    out.fill(&frames, 0, sent, 20);
                }
                sent += out.hand_over().unwrap_or(0) as u64;
            }
            let mut seen = 0;
            while way_in.take(&mut |_| seen += 1).expect("frames").is_some() {}
            let drops = [way_in.drops().expect("drops"), way_in.drops().expect("drops")];
            assert_eq!((drops, seen), ([sent - 64; 2], 64), "{:?}", way_in.statistics());
        },
    );
}

#[test]
fn frames_that_are_not_ours_and_queues_not_asked_for_go_on_to_the_kernel() {
    with_programs(
        "xdp::tests::exchange::frames_that_are_not_ours_and_queues_not_asked_for_go_on_to_the_kernel",
        || {
            let (near, far) = link(2);
            let ours = frames("64", 1);
            let mut way_in = receive_on(&far, &[1]).remove(0);
            let stack = by_af_packet(&far, &ours);
            // One of ours on the queue that nobody asked for, and two strangers: one ethertype below ours, and
            // one behind our sixteen.
            let mut out = XdpSender::open(&near, 0, &XdpOptions::default()).expect("sender");
            out.fill(&ours, 0, 0, 1);
            assert_eq!(out.hand_over().expect("taken"), 1);
            let socket = open_sender(&near).expect("socket");
            let mut stranger = [0x5a; 60];
            for ethertype in [0x88b4u16, 0x88c5] {
                stranger[12..14].copy_from_slice(&ethertype.to_be_bytes());
                send(&socket, &stranger);
            }
            let deadline = monotonic_ns() + LIMIT_NS;
            while !(stack.complete(&[Some(1)]) && stack.progress().foreign == 2) {
                assert!(monotonic_ns() < deadline, "{:?}", stack.progress());
                thread::yield_now();
            }
            assert_eq!(way_in.take(&mut |_| panic!("nothing is for this queue")).expect("frames"), None);
        },
    );
}

fn send(socket: &OwnedFd, bytes: &[u8]) {
    // SAFETY: the descriptor is open, and pointer and length describe `bytes`.
    let taken = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    assert_eq!(taken, bytes.len() as isize, "{}", std::io::Error::last_os_error());
}

/// What times calls needs a core for itself: tests/run runs these one at a time.
mod alone {
    use super::*;

    #[test]
    fn a_source_inside_the_kernel_starts_each_call_at_once() {
        with_programs(
            "xdp::tests::exchange::alone::a_source_inside_the_kernel_starts_each_call_at_once",
            || {
                let (near, far) = link(1);
                let frames = frames("64", 1);
                let mut way_in = receive_on(&far, &[0]).remove(0);
                let mut live = XdpLive::open(&near, &frames, 0).expect("source");
                let start = monotonic_ns();
                // One frame a call would pass the table by.
                for sequence in (0..600).step_by(2) {
                    assert_eq!(live.fill(&frames, 0, sequence, 2), 2);
                    assert_eq!(live.hand_over().expect("sent"), 2);
                }
                let each_us = (monotonic_ns() - start) / 300_000;
                // 11 us were measured, and 10 to 100 ms where the program is not kept at hand.
                assert!(each_us < 2000, "{each_us} us a call");
                let mut seen = 0;
                while way_in.take(&mut |_| seen += 1).expect("frames").is_some() {}
                assert_eq!(seen, 600, "{:?}", way_in.statistics());
            },
        );
    }
}
