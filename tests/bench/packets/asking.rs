//! A receiver that asks the driver for the stamp of each frame, also where it has none to give.

use std::io::{BufRead, stdin};
use std::process::ExitCode;
use std::time::Duration;

use fieldtrial::nic::link::wait_until_running;
use fieldtrial::packet::frame::Frames;
use fieldtrial::packet::receiver::{Plan, Receiver, Way};
use fieldtrial::xdp::options::XdpOptions;
use fieldtrial::xdp::receiver::XdpReceiver;
use fieldtrial::xdp::redirect::{Loaded, stamp_function};
use serde_json::json;

/// First argument of the benchmark when it plays this role.
pub const ROLE: &str = "asking-receiver";
/// As in the other rows at full speed.
const SLOTS: u32 = 2048;
const LINK_LIMIT: Duration = Duration::from_secs(5);

/// Counts frames on queue 0 until a line comes in, and says what `packet-receive --count-only` would.
pub fn receive(interface: &str, asks: bool) -> ExitCode {
    let interface = wait_until_running(interface, LINK_LIMIT).unwrap_or_else(|e| panic!("{e}"));
    let stamp = asks.then(|| stamp_function(&interface).unwrap_or_else(|e| panic!("{e}")));
    let loaded = Loaded::with_stamp(&interface, 1, stamp).unwrap_or_else(|e| panic!("{e}"));
    let options = XdpOptions { ring: Some(SLOTS), ..XdpOptions::default() };
    let receivers = XdpReceiver::behind(loaded, &interface, &[0], &options);
    let receivers = receivers.unwrap_or_else(|e| panic!("{e}"));
    let ways = receivers.into_iter().map(|receiver| Way { queue: Some(0), ingress: Box::new(receiver) });
    let sizes = "64".parse().expect("a frame size");
    let frames = Frames::new(&sizes, 1, 1).expect("one stream");
    let plan = Plan { digest: false, count_only: true };
    let receiver = Receiver::start(ways.collect(), frames, plan).expect("a receiver");
    println!("{}", json!({"event": "ready"}));
    let _ = stdin().lock().lines().next();
    let received = receiver.stop().unwrap_or_else(|e| panic!("{e}"));
    println!("{}", json!({"event": "result", "counted": {"0": received.seen.streams[0]}}));
    ExitCode::SUCCESS
}
