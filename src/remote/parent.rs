//! A thread that lives as long as the program and is the parent of all its children.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};

type Order = (Command, Sender<io::Result<Child>>);

/// Starts a child that gets `signal` when this program dies. The kernel ties that to the thread that
/// forked, not to the process, hence the thread. The child is out of reach of the terminal's Ctrl-C: we decide about it.
///
/// # Errors
/// The program cannot be started.
pub fn spawn(mut command: Command, signal: libc::c_int) -> io::Result<Child> {
    let us = std::process::id();
    // SAFETY: three system calls between fork and exec, no allocation.
    unsafe {
        command.pre_exec(move || {
            libc::setsid();
            libc::prctl(libc::PR_SET_PDEATHSIG, signal);
            // We may have died before the line above.
            if libc::getppid() as u32 != us {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
    static ORDERS: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let orders = ORDERS.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, answer) in receiver {
                // Nobody waits any more: then nobody would end this child either.
                if let Err(mpsc::SendError(Ok(mut child))) = answer.send(command.spawn()) {
                    let _ = child.kill();
                }
            }
        });
        Mutex::new(sender)
    });
    let (answer, answered) = mpsc::channel();
    let gone = || io::Error::other("the thread that starts children has ended");
    orders.lock().unwrap_or_else(PoisonError::into_inner).send((command, answer)).map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}
