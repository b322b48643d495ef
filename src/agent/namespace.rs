//! The namespaces that an agent of the embedded lab lives in.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use super::AgentArgs;

/// Texts begin with a word that the embedded lab recognises: `user-namespace` or `network-namespace`.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    #[error("user-namespace: {step}: {source}")]
    User { step: String, source: io::Error },
    #[error("network-namespace: {step}: {source}")]
    Network { step: String, source: io::Error },
}

/// Enters what the arguments ask for. Must run before the first thread: a user namespace is entered by a
/// single-threaded process only.
///
/// # Errors
/// The kernel's answer and the step that it refused.
pub fn enter(args: &AgentArgs) -> Result<(), NamespaceError> {
    if args.userns {
        new_user_namespace()?;
    }
    if let Some(pid) = args.join_userns {
        join_user_namespace(pid)?;
    }
    if args.netns {
        new_network_namespace()?;
    }
    Ok(())
}

fn new_user_namespace() -> Result<(), NamespaceError> {
    let failed = |step: &str| {
        let step = step.to_owned();
        move |source| NamespaceError::User { step, source }
    };
    // SAFETY: plain system calls that always succeed.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    unshare(libc::CLONE_NEWUSER).map_err(failed("unshare"))?;
    fs::write("/proc/self/setgroups", "deny").map_err(failed("setgroups"))?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1\n")).map_err(failed("uid_map"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1\n")).map_err(failed("gid_map"))
}

fn join_user_namespace(pid: i32) -> Result<(), NamespaceError> {
    let failed = |source| NamespaceError::User { step: format!("joining that of process {pid}"), source };
    let namespace = File::open(format!("/proc/{pid}/ns/user")).map_err(failed)?;
    // SAFETY: an open descriptor of a namespace file.
    match unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWUSER) } {
        0 => Ok(()),
        _ => Err(failed(io::Error::last_os_error())),
    }
}

fn new_network_namespace() -> Result<(), NamespaceError> {
    let failed = |step: &str| {
        let step = step.to_owned();
        move |source| NamespaceError::Network { step, source }
    };
    unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS).map_err(failed("unshare"))?;
    // SAFETY: constant strings that end in NUL.
    unsafe {
        if libc::mount(ptr::null(), c"/".as_ptr(), ptr::null(), libc::MS_REC | libc::MS_PRIVATE, ptr::null())
            != 0
        {
            return Err(failed("making mounts private")(io::Error::last_os_error()));
        }
        // Else /sys/class/net goes on showing the parent's interfaces. Where this is refused the port facts do without it.
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        libc::mount(c"sysfs".as_ptr(), c"/sys".as_ptr(), c"sysfs".as_ptr(), flags, ptr::null());
    }
    Ok(())
}

fn unshare(what: libc::c_int) -> io::Result<()> {
    // SAFETY: plain system call.
    match unsafe { libc::unshare(what) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
