//! `cancel`: asks a trial that another process on this machine runs to stop, as Ctrl-C would.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use super::args::CancelArgs;
use super::failure::{Failure, Outcome};
use super::status::{Standing, standings};
use super::voice::aside;
use crate::record::{Worker, is_alive};

/// Two requests closer together would be one for the kernel.
const APART: Duration = Duration::from_millis(300);

pub fn cancel(args: &CancelArgs) -> Outcome {
    let found = standings(&args.reports, Some(&args.of))?;
    let at_work: Vec<(&Standing, &Worker)> =
        found.iter().filter_map(|standing| Some((standing, standing.worker.as_ref()?))).collect();
    let [(standing, worker)] = at_work[..] else {
        let listed: Vec<String> = at_work.iter().map(|(s, _)| s.folder.display().to_string()).collect();
        return Err(Failure::Input(match listed.is_empty() {
            true => format!(
                "nobody works on {} on this machine\nnext: `fieldtrial status` shows what runs",
                args.of.display()
            ),
            false => format!("several trials run; name one of them:\n  {}", listed.join("\n  ")),
        }));
    };
    let process = Process::of(worker)?;
    process.interrupt()?;
    if args.now {
        std::thread::sleep(APART);
        process.interrupt()?;
    }
    let what = if args.now { "ends the run under way" } else { "stops after the run under way" };
    aside(format_args!(
        "{} (pid {}) {what} and puts its hosts back\nnext: `fieldtrial status --follow {}` shows its end, `fieldtrial resume` goes on",
        standing.folder.display(),
        worker.pid,
        standing.folder.display()
    ));
    Ok(vec![])
}

/// A process that cannot become another one while we hold it.
struct Process(OwnedFd);

impl Process {
    fn of(worker: &Worker) -> Result<Process, Failure> {
        let gone = || Failure::Input(format!("the trial's process {} has ended just now", worker.pid));
        // SAFETY: pidfd_open takes two integers and returns a new descriptor or -1.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, worker.pid as libc::pid_t, 0) };
        let Some(fd) = i32::try_from(fd).ok().filter(|fd| *fd >= 0) else { return Err(gone()) };
        // SAFETY: the kernel has just given us this descriptor, and nobody else knows of it.
        let process = Process(unsafe { OwnedFd::from_raw_fd(fd) });
        // Looked at after it is held: what has this number now cannot be exchanged any more.
        if is_alive(worker) { Ok(process) } else { Err(gone()) }
    }

    fn interrupt(&self) -> Result<(), Failure> {
        let none = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: a descriptor that we own, a signal, no further information, and no flags.
        let done =
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), libc::SIGINT, none, 0) };
        let error = std::io::Error::last_os_error();
        match (done, error.raw_os_error()) {
            (0, _) | (_, Some(libc::ESRCH)) => Ok(()),
            (_, Some(libc::EPERM)) => Err(Failure::Input(
                "the trial belongs to another user\nnext: ask that user, or be root".into(),
            )),
            _ => Err(Failure::Workstation(format!("the trial cannot be signalled: {error}"))),
        }
    }
}
