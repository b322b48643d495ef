//! AF_XDP over real veth pairs, in network namespaces of their own.

mod exchange;
mod holder;
mod refusals;

use std::process;
use std::time::Duration;

use super::options::{Attach, XdpOptions};
use super::receiver::XdpReceiver;
use super::rights::{Capability, Rights};
use crate::nic::interface::Interface;
use crate::nic::link::{bring_up, make_veth_with_queues, wait_until_running};
use crate::nic::namespace::inside_as_root;
use crate::nic::skip;

/// Runs `body` as root in a network namespace, or says why this machine cannot.
fn with_programs(test: &str, body: impl FnOnce()) {
    let lacking = Rights::here().lacking(&[Capability::Bpf, Capability::NetAdmin], false);
    if lacking.is_empty() {
        inside_as_root(test, body);
    } else {
        skip::skip("bpf", &format!("{} in the first user namespace", lacking.join(" and ")));
    }
}

/// A veth pair with so many queues each way, both ends up.
fn link(queues: u32) -> (Interface, Interface) {
    make_veth_with_queues("ft0", "ft1", process::id(), queues).expect("veth");
    for end in ["ft0", "ft1"] {
        bring_up(end).expect("up");
    }
    (running("ft0"), running("ft1"))
}

fn running(name: &str) -> Interface {
    wait_until_running(name, Duration::from_secs(5)).expect("running")
}

fn receive_on(interface: &Interface, queues: &[u32]) -> Vec<XdpReceiver> {
    let options = XdpOptions { attach: Attach::Native, ring: Some(1024), ..XdpOptions::default() };
    XdpReceiver::open_all(interface, queues, &options).expect("receivers")
}

/// The identifier of the program that is attached to an interface now.
fn program_on(interface: &Interface) -> Option<u32> {
    Interface::find(&interface.name).expect("still there").xdp_program
}
