//! Two network namespaces that end with the benchmark, and virtual cables between them.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fieldtrial::nic::counters::{CounterSource, Reading};
use fieldtrial::nic::interface::Interface;
use fieldtrial::nic::link::{bring_up, make_veth_with_queues, wait_until_running};
use fieldtrial::xdp::assembly::{Assembly, Operand, R0};
use fieldtrial::xdp::bpf::{AttachFlag, link_create, program_load};

/// XDP_DROP.
const DROP: i32 = 1;
const LINK_LIMIT: Duration = Duration::from_secs(5);

/// Which end of a cable; senders are near, receivers far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Near,
    Far,
}

/// The near namespace is that of the main thread, the far one that of a thread which only waits. Nothing
/// has a name, so nothing is left behind however the benchmark ends.
pub struct Namespaces {
    far: File,
    far_thread: u32,
    _waiting: mpsc::Sender<()>,
}

impl Namespaces {
    /// Needs CAP_SYS_ADMIN.
    pub fn make() -> Self {
        leave_namespace();
        let (told, tell) = mpsc::channel();
        let (waiting, wait) = mpsc::channel::<()>();
        thread::spawn(move || {
            leave_namespace();
            let namespace = File::open("/proc/thread-self/ns/net").expect("own namespace");
            // SAFETY: takes no arguments and cannot fail.
            let thread = unsafe { libc::gettid() };
            told.send((namespace, thread as u32)).expect("the main thread listens");
            let _ = wait.recv();
        });
        let (far, far_thread) = tell.recv().expect("the far thread tells its namespace");
        Self { far, far_thread, _waiting: waiting }
    }

    /// A command that starts `program` at one end.
    pub fn command(&self, end: End, program: &str) -> Command {
        match end {
            End::Near => Command::new(program),
            End::Far => {
                let mut command = Command::new("nsenter");
                let (process, far) = (std::process::id(), self.far.as_raw_fd());
                command.arg(format!("--net=/proc/{process}/fd/{far}")).arg(program);
                command
            }
        }
    }

    /// Makes a cable with so many queues each way at both ends, and brings it up.
    pub fn connect(&self, queues: u32) -> Pair {
        let (near_name, far_name) = (format!("near{queues}"), format!("far{queues}"));
        make_veth_with_queues(&near_name, &far_name, self.far_thread, queues)
            .unwrap_or_else(|e| panic!("{e}"));
        bring_up(&near_name).unwrap_or_else(|e| panic!("{e}"));
        let far = self.at_far(|| {
            bring_up(&far_name).unwrap_or_else(|e| panic!("{e}"));
            CounterSource::open(&far_name).expect("counters of the far port")
        });
        wait_until_running(&near_name, LINK_LIMIT).unwrap_or_else(|e| panic!("{e}"));
        Pair { near_name, far_name, far }
    }

    /// Attaches a program that drops every frame to the far port, until the descriptor closes.
    pub fn drop_all(&self, pair: &Pair) -> OwnedFd {
        let mut program = Assembly::default();
        program.set(R0, Operand::Number(DROP));
        program.exit();
        let program = program_load("load a program that drops", c"drop", &program.finish(), None);
        let program = program.unwrap_or_else(|e| panic!("{e:?}"));
        self.at_far(|| {
            let port = Interface::find(&pair.far_name).expect("the far port");
            link_create(program.as_fd(), port.index, AttachFlag::Native).expect("veth runs programs")
        })
    }

    /// Runs `work` in the far namespace; sockets opened there stay there.
    fn at_far<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let there = scope.spawn(|| {
                // SAFETY: a descriptor of a namespace, and only this short thread moves.
                let code = unsafe { libc::setns(self.far.as_raw_fd(), libc::CLONE_NEWNET) };
                assert_eq!(code, 0, "setns: {}", std::io::Error::last_os_error());
                work()
            });
            there.join().expect("work at the far end")
        })
    }
}

/// One cable.
pub struct Pair {
    pub near_name: String,
    pub far_name: String,
    far: CounterSource,
}

impl Pair {
    /// What the far port has counted, and the instant right after the reading.
    pub fn arrived(&mut self) -> Reading {
        self.far.read().expect("counters of the far port")
    }
}

fn leave_namespace() {
    // SAFETY: no pointers are passed.
    let code = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    assert_eq!(code, 0, "a network namespace of its own: {}", std::io::Error::last_os_error());
}
