//! A program that the kernel keeps at hand between test runs.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::thread;

use super::bpf::{AttachFlag, link_create};

/// Every namespace's loopback has this index.
const LOOPBACK: u32 = 1;

/// Holds a program in the kernel's table of XDP programs.
///
/// A test run that finds its program there starts at once. Else it enters the program before the run and
/// removes it after, and each time waits until every CPU has left the table's old state: 45 ms a call on a
/// busy machine, whatever the number of frames. A program is in the table while it is attached somewhere,
/// and nowhere does it less than on the loopback of a network namespace that nobody else is in.
#[derive(Debug)]
pub struct Kept {
    _link: OwnedFd,
    /// Lives as long as the descriptor; gone with the process.
    _namespace: File,
}

impl Kept {
    /// # Errors
    /// CAP_SYS_ADMIN is missing, which a new network namespace needs.
    pub fn new(program: BorrowedFd<'_>) -> io::Result<Self> {
        // A thread of its own: only that one changes its namespace, and ends.
        thread::scope(|scope| scope.spawn(|| attach_apart(program)).join())
            .unwrap_or_else(|_| Err(io::Error::other("the thread that attaches ended early")))
    }
}

fn attach_apart(program: BorrowedFd<'_>) -> io::Result<Kept> {
    // SAFETY: no pointers are passed.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let namespace = File::open("/proc/thread-self/ns/net")?;
    let link = link_create(program, LOOPBACK, AttachFlag::Generic)?;
    Ok(Kept { _link: link, _namespace: namespace })
}
