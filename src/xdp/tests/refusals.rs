//! What is refused, and what the refusal says.

use std::thread;

use super::*;
use crate::model::frame_size::Sizes;
use crate::nic::link::bring_loopback_up;
use crate::nic::namespace::inside;
use crate::packet::egress::Egress;
use crate::packet::frame::Frames;
use crate::xdp::error::XdpError;
use crate::xdp::live::XdpLive;
use crate::xdp::options::{Copying, LARGEST_RING};
use crate::xdp::sender::XdpSender;

fn send_refused(interface: &Interface, queue: u32, options: XdpOptions) -> XdpError {
    XdpSender::open(interface, queue, &options).expect_err("refused")
}

fn receive_refused(interface: &Interface, queues: &[u32], options: XdpOptions) -> XdpError {
    XdpReceiver::open_all(interface, queues, &options).expect_err("refused")
}

/// Each of `words` is in the text, which is for a person and has no Rust in it.
fn assert_says(error: &XdpError, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
    assert!(!text.contains("Some(") && !text.contains("{ "), "{text}");
}

fn frames(size: u32) -> Frames {
    Frames::new(&Sizes::one(size).expect("in range"), 1, 1).expect("in range")
}

fn set_mtu(interface: &Interface, mtu: u32) -> Interface {
    let mut ip = process::Command::new("ip");
    ip.args(["link", "set", &interface.name, "mtu", &mtu.to_string()]);
    assert!(ip.status().expect("iproute2").success());
    running(&interface.name)
}

#[test]
fn queues_modes_and_rings_that_cannot_be_had_are_refused_with_the_kernels_reason() {
    inside(
        "xdp::tests::refusals::queues_modes_and_rings_that_cannot_be_had_are_refused_with_the_kernels_reason",
        || {
            let (near, _) = link(2);
            let any = XdpOptions::default();
            let absent = send_refused(&near, 2, any);
            assert_says(&absent, &["ft0 has no queue 2", "expected 0 to 1", "os error 22", "ethtool -l ft0"]);
            let zero_copy = send_refused(&near, 0, XdpOptions { copying: Copying::ZeroCopy, ..any });
            assert!(matches!(zero_copy, XdpError::NoZeroCopy { .. }), "{zero_copy}");
            assert_says(&zero_copy, &["ft0", "veth", "os error 95", "copy or auto"]);
            for slots in [0, 32, LARGEST_RING + 1, u32::MAX] {
                let ring = send_refused(&near, 0, XdpOptions { ring: Some(slots), ..any });
                assert_says(&ring, &["ft0", &slots.to_string(), "64 to 262144"]);
            }
            let first = XdpSender::open(&near, 0, &any).expect("free");
            let taken = send_refused(&near, 0, any);
            assert_says(&taken, &["queue 0 of ft0 is taken", "os error 16", "ss --xdp"]);
            drop(first);
            XdpSender::open(&near, 0, &any).expect("free again, a moment later");
            let down = Interface { running: false, up: false, ..near };
            assert_says(&send_refused(&down, 0, any), &["ft0 is down", "ip link set ft0 up"]);
        },
    );
}

#[test]
fn a_frame_longer_than_the_mtu_is_refused_and_not_dropped_in_silence() {
    inside("xdp::tests::refusals::a_frame_longer_than_the_mtu_is_refused_and_not_dropped_in_silence", || {
        let (near, _) = link(1);
        let short = set_mtu(&near, 1499);
        let mut sender = XdpSender::open(&short, 0, &XdpOptions::default()).expect("sender");
        sender.fill(&frames(1517), 0, 0, 1);
        assert_eq!(sender.hand_over().expect("it fits exactly"), 1);
        sender.fill(&frames(1518), 0, 1, 1);
        assert_eq!(sender.hand_over().expect_err("one byte too long").raw_os_error(), Some(libc::EMSGSIZE));
        assert_eq!(sender.waiting(), 1);
    });
}

#[test]
fn programs_that_cannot_be_attached_are_refused_with_the_kernels_reason() {
    with_programs(
        "xdp::tests::refusals::programs_that_cannot_be_attached_are_refused_with_the_kernels_reason",
        || {
            let (near, far) = link(2);
            let native = XdpOptions { attach: Attach::Native, ring: Some(64), ..XdpOptions::default() };
            let held = receive_on(&far, &[0]);
            let occupied = receive_refused(&far, &[1], native);
            let id = program_on(&far).expect("attached").to_string();
            assert_says(
                &occupied,
                &["ft1", "\"fieldtrial\"", &id, "os error 16", "ip link set dev ft1 xdp off"],
            );
            drop(held);

            let taken =
                XdpLive::open(&near, &frames(64), 0).expect_err("nobody takes frames at the other end");
            assert_says(&taken, &["ft0", "veth", "ndo-xmit", "start the AF_XDP receiver first", "gro on"]);

            let stamps = receive_refused(&far, &[0], XdpOptions { stamps: true, ..native });
            assert_says(
                &stamps,
                &["no hardware stamps on ft1", "veth", "hardware-receive", "software stamps"],
            );
            let twice = receive_refused(&far, &[1, 1], native);
            assert_says(&twice, &["ft1", "each once", "[1, 1]"]);
            assert_says(&receive_refused(&far, &[], native), &["one or more queues"]);

            // The other end's counts, but ends of one MTU are the usual case.
            set_mtu(&near, 9000);
            let jumbo = set_mtu(&far, 9000);
            let too_large = receive_refused(&jumbo, &[0], native);
            assert_says(&too_large, &["ft1", "veth", "MTU 9000", "os error 34", "ft1 mtu 1500", "generic"]);
            let generic = XdpOptions { attach: Attach::Generic, ..native };
            assert_eq!(XdpReceiver::open_all(&jumbo, &[0], &generic).expect("generic").len(), 1);

            bring_loopback_up().expect("lo");
            let lo = running("lo");
            let no_native = receive_refused(&lo, &[0], native);
            assert_says(&no_native, &["lo", "no XDP programs", "os error 95", "generic or auto"]);
            let auto = XdpOptions { attach: Attach::Auto, ..native };
            let got = XdpReceiver::open_all(&lo, &[0], &auto).expect("in the stack")[0].got();
            assert_eq!(got.attach(), Some("generic"), "what was got is told");
            assert_eq!(program_on(&far), None);
        },
    );
}

#[test]
fn without_rights_the_missing_capability_is_named() {
    inside("xdp::tests::refusals::without_rights_the_missing_capability_is_named", || {
        let (near, far) = link(1);
        let options = XdpOptions { ring: Some(64), ..XdpOptions::default() };
        if !Rights::here().lacking(&[Capability::Bpf, Capability::NetAdmin], false).is_empty() {
            let error = receive_refused(&far, &[0], options);
            assert_says(&error, &["CAP_BPF", "CAP_NET_ADMIN", "first user namespace", "root"]);
            let error = XdpLive::open(&near, &frames(64), 0).expect_err("no rights");
            assert_says(&error, &["CAP_BPF", "CAP_NET_ADMIN", "first user namespace"]);
        }
        let unprivileged = thread::spawn(move || {
            drop_effective_rights();
            send_refused(&near, 0, options)
        });
        let error = unprivileged.join().expect("no panic");
        assert_says(&error, &["CAP_NET_RAW", "this network namespace", "unshare -Urn"]);
    });
}

/// Empties the effective set of this thread alone (capset(2), version 3).
fn drop_effective_rights() {
    let header: [u32; 2] = [0x2008_0522, 0];
    let none = [0u32; 6];
    // SAFETY: the header names this thread, and both point at structures of the version's length.
    let code = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn locked_memory_beyond_the_limit_is_refused_where_a_size_was_asked_for_and_else_made_less() {
    inside(
        "xdp::tests::refusals::locked_memory_beyond_the_limit_is_refused_where_a_size_was_asked_for_and_else_made_less",
        || {
            let (near, _) = link(1);
            // Rights in the first namespace lift the limit.
            if !Rights::here().lacking(&[Capability::NetAdmin], false).is_empty() {
                limit_memory(1 << 20);
                let asked = XdpOptions { ring: Some(1024), ..XdpOptions::default() };
                let error = send_refused(&near, 0, asked);
                assert_says(
                    &error,
                    &["2048 KiB", "ft0", "the limit is 1024 KiB", "ulimit -l", "smaller ring"],
                );
                let less = || XdpSender::open(&near, 0, &XdpOptions::default());
                // Other tests of the same user may lock some just now.
                let sender = (0..50).find_map(|_| less().ok()).expect("with less memory");
                assert_eq!(sender.got().ring, 512, "what was got is told");
            }
        },
    );
}

fn limit_memory(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: `limit` is a valid rlimit.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit) }, 0);
}
