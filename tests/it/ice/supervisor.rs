//! Runs programs whose ethtool requests for one interface are answered by a model of a card.
//!
//! A filter of system calls (seccomp user notification) hands those requests to a thread of the test;
//! all else goes on to the kernel. It holds for the whole tree of processes, static or not, and needs
//! no rights beyond giving up the right to gain some.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::process::finish;

use super::model::Model;

/// Longest a program under test may take.
const LIMIT: Duration = Duration::from_secs(60);
const LOOK_MS: libc::c_int = 50;

const SIOCETHTOOL: u32 = 0x8946;
/// `ifr_name` and the place of `ifr_data` in `struct ifreq`.
const NAME_BYTES: usize = 16;

// linux/seccomp.h: _IOWR('!', 0, struct seccomp_notif), _IOWR('!', 1, struct seccomp_notif_resp) and
// _IOW('!', 2, __u64).
const NOTIF_RECV: libc::c_ulong = 0xc050_2100;
const NOTIF_SEND: libc::c_ulong = 0xc018_2101;
const NOTIF_ID_VALID: libc::c_ulong = 0x4008_2102;
const _: () = assert!(size_of::<libc::seccomp_notif>() == 80 && size_of::<libc::seccomp_notif_resp>() == 24);

/// Why this machine cannot run programs in this way, if it cannot.
pub fn missing() -> Option<String> {
    let path = "/proc/sys/kernel/seccomp/actions_avail";
    let actions = std::fs::read_to_string(path).unwrap_or_default();
    (!actions.split_whitespace().any(|action| action == "user_notif"))
        .then(|| format!("{path} has no user_notif: {}", actions.trim()))
}

/// Runs the command to its end; the model answers for its interface, and keeps its state between runs.
pub fn run(model: &Arc<Mutex<Model>>, command: &mut Command) -> Output {
    let (near, far) = UnixStream::pair().expect("a socket pair");
    let send_to = far.as_raw_fd();
    // SAFETY: between fork and exec it makes system calls alone; `far` is held until the end of this
    // function, and its descriptor is the same in the child.
    unsafe { command.pre_exec(move || send(send_to, listener()?)) };
    let over = Arc::new(AtomicBool::new(false));
    let serving = {
        let (model, over) = (model.clone(), over.clone());
        std::thread::spawn(move || serve(&near, &model, &over))
    };
    let output = finish(command, LIMIT);
    over.store(true, Ordering::SeqCst);
    serving.join().expect("the supervisor").expect("the supervisor answers");
    drop(far);
    output
}

/// Installs the filter and returns its listener.
fn listener() -> io::Result<OwnedFd> {
    let instruction = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = |at: u32| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, at);
    let equals = |k: u32, jf: u8| instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, jf, k);
    let end = |k: u32| instruction(libc::BPF_RET | libc::BPF_K, 0, 0, k);
    // Offsets of struct seccomp_data: number 0, second argument 24 (its lower half on little-endian).
    let mut filter = [
        load(0),
        equals(libc::SYS_ioctl as u32, 3),
        load(24),
        equals(SIOCETHTOOL, 1),
        end(libc::SECCOMP_RET_USER_NOTIF),
        end(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: plain system calls; the program and its filter live across them.
    unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        let (mode, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
        let fd = libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd as i32)) }
    }
}

/// Room for the control message that carries one descriptor.
#[repr(align(8))]
struct Control([u8; 24]);

fn send(socket: i32, fd: OwnedFd) -> io::Result<()> {
    let mut byte = [0u8];
    let mut data = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = Control([0; 24]);
    // SAFETY: the message points at buffers that live across the call and are as long as it says.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut data, 1);
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        let head = libc::CMSG_FIRSTHDR(&message);
        ((*head).cmsg_level, (*head).cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
        (*head).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(head).cast::<i32>().write_unaligned(fd.as_raw_fd());
        if libc::sendmsg(socket, &message, 0) == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    socket.set_read_timeout(Some(LIMIT))?;
    let mut byte = [0u8];
    let mut data = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = Control([0; 24]);
    // SAFETY: as in `send`; the descriptor received is nobody else's.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut data, 1);
        (message.msg_control, message.msg_controllen) = (control.0.as_mut_ptr().cast(), 24 as _);
        if libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) != 1 {
            return Err(io::Error::last_os_error());
        }
        let head = libc::CMSG_FIRSTHDR(&message);
        assert!(!head.is_null(), "the program under test sent no listener");
        Ok(OwnedFd::from_raw_fd(libc::CMSG_DATA(head).cast::<i32>().read_unaligned()))
    }
}

fn serve(socket: &UnixStream, model: &Mutex<Model>, over: &AtomicBool) -> io::Result<()> {
    let listener = receive(socket)?;
    while !over.load(Ordering::SeqCst) {
        let mut poll = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, as said.
        unsafe { libc::poll(&mut poll, 1, LOOK_MS) };
        if poll.revents & libc::POLLIN != 0 {
            answer_one(&listener, model)?;
        } else if poll.revents != 0 {
            return Ok(());
        }
    }
    Ok(())
}

fn answer_one(listener: &OwnedFd, model: &Mutex<Model>) -> io::Result<()> {
    // SAFETY: all zero is what the kernel asks for here.
    let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the structure of this request, as its number says.
    if unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_RECV as libc::Ioctl, &mut asked) } != 0 {
        return match io::Error::last_os_error() {
            // The asker was killed in the meantime.
            error if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => Ok(()),
            error => Err(error),
        };
    }
    let mut reply = libc::seccomp_notif_resp { id: asked.id, val: 0, error: 0, flags: 0 };
    let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", asked.pid))?;
    // SAFETY: as above; until here the number could have become another process's.
    if unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_ID_VALID as libc::Ioctl, &asked.id) } != 0 {
        return Ok(());
    }
    match call(&memory, asked.data.args[2], model) {
        Ok(None) => reply.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        Ok(Some(errno)) => reply.error = -errno,
        Err(_) => reply.error = -libc::EFAULT,
    }
    // SAFETY: as above. That it fails when the asker was killed is no matter.
    unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_SEND as libc::Ioctl, &mut reply) };
    Ok(())
}

/// The errno of the answer, 0 for none; None where the real kernel shall answer.
fn call(memory: &File, ifreq: u64, model: &Mutex<Model>) -> io::Result<Option<i32>> {
    let mut head = [0; NAME_BYTES + 8];
    memory.read_exact_at(&mut head, ifreq)?;
    let (name, data) = head.split_at(NAME_BYTES);
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let data = u64::from_ne_bytes(data.try_into().expect("eight bytes"));
    let mut command = [0; 4];
    memory.read_exact_at(&mut command, data)?;
    let mut model = model.lock().expect("the model");
    let model = model.card(name);
    let Some(length) = model.answers(name, u32::from_ne_bytes(command)) else { return Ok(None) };
    let mut structure = vec![0; length];
    memory.read_exact_at(&mut structure, data)?;
    Ok(Some(match model.answer(&mut structure) {
        Ok(()) => {
            memory.write_all_at(&structure, data)?;
            0
        }
        Err(errno) => errno,
    }))
}
