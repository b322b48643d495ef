//! Whatever becomes of the process, its program goes with it.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use super::*;
use crate::nic::clock::{monotonic_ns, sleep_until_ns};

/// Set in the process that holds the program.
const HOLD: &str = "FIELDTRIAL_TEST_HOLD";
const NAME: &str = "xdp::tests::holder::a_process_that_is_killed_leaves_no_program_behind";

#[test]
fn a_process_that_is_killed_leaves_no_program_behind() {
    with_programs(NAME, || {
        if env::var_os(HOLD).is_some() {
            let held = receive_on(&running("ft1"), &[0]);
            println!("\nholds {} queue", held.len());
            loop {
                sleep_until_ns(monotonic_ns() + 1_000_000_000);
            }
        }
        let (_, far) = link(1);
        let mut hold = Command::new(env::current_exe().expect("own path"));
        hold.args(["--exact", NAME, "--nocapture"])
            .env(HOLD, "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = hold.spawn().expect("a process that holds the program");
        let said = BufReader::new(child.stdout.take().expect("piped"));
        let ready = said.lines().map_while(Result::ok).any(|line| line == "holds 1 queue");
        let attached = program_on(&far);
        child.kill().expect("SIGKILL");
        let status = child.wait().expect("its end");
        assert!(ready && attached.is_some(), "ready {ready}, program {attached:?}");
        assert_eq!(status.signal(), Some(libc::SIGKILL));
        let deadline = monotonic_ns() + 2_000_000_000;
        while program_on(&far).is_some() {
            assert!(monotonic_ns() < deadline, "the program outlives its process");
            sleep_until_ns(monotonic_ns() + 1_000_000);
        }
        // And the queue can be had again, though the kernel lets go of it a moment later.
        assert_eq!(receive_on(&far, &[0]).len(), 1);
    });
}
