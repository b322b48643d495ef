//! SIGTERM and SIGINT as a question that a tool asks when it suits it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

const SIGNALS: [libc::c_int; 2] = [libc::SIGTERM, libc::SIGINT];
/// Where the handler leaves its note; negative while nobody reads it.
static NOTE: AtomicI32 = AtomicI32::new(-1);

/// Both signals end a tool in good order, with its result, as long as this lives. A handler, because
/// a blocked signal would go to a thread of somebody else's that does not block it.
#[derive(Debug)]
pub struct Stop {
    note: OwnedFd,
    asked: bool,
}

impl Stop {
    /// One at a time in a process.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn install() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and belongs to nobody else.
        let stop = Self { note: unsafe { OwnedFd::from_raw_fd(fd) }, asked: false };
        NOTE.store(fd, Ordering::SeqCst);
        let handler: extern "C" fn(libc::c_int) = leave_note;
        for signal in SIGNALS {
            handle(signal, handler as libc::sighandler_t)?;
        }
        Ok(stop)
    }

    /// Whether one of the signals has come.
    pub fn asked(&mut self) -> bool {
        let mut count = [0; 8];
        // SAFETY: pointer and length describe `count`.
        let read = unsafe { libc::read(self.note.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        self.asked |= read > 0;
        self.asked
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        for signal in SIGNALS {
            let _ = handle(signal, libc::SIG_DFL);
        }
        NOTE.store(-1, Ordering::SeqCst);
    }
}

/// Readable when a signal has come.
impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.note.as_fd()
    }
}

extern "C" fn leave_note(_: libc::c_int) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: write is allowed in a signal handler, pointer and length describe `one`, and a descriptor
    // that is gone is refused.
    unsafe { libc::write(NOTE.load(Ordering::SeqCst), one.as_ptr().cast(), one.len()) };
}

fn handle(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid sigaction with an empty mask; the handler is either the default
    // or a function of the right type that does only what a handler may.
    let code = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
