//! The bpf(2) system call: maps, programs, links, and test runs.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::assembly::Instruction;
use super::error::XdpError;
use super::rights::no_program;

// Commands and offsets of union bpf_attr, linux/bpf.h.
const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const PROGRAM_LOAD: libc::c_int = 5;
const PROGRAM_TEST_RUN: libc::c_int = 10;
const PROGRAM_BY_ID: libc::c_int = 13;
const INFO: libc::c_int = 15;
const LINK_CREATE: libc::c_int = 28;
const TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// BPF_F_XDP_DEV_BOUND_ONLY.
const DEVICE_BOUND: u32 = 1 << 6;
const VERIFIER_LOG_BYTES: usize = 1 << 16;
/// Room for all attributes used here.
const ATTRIBUTES: usize = 128;

/// Kinds of map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapKind {
    /// Values by index.
    Array = 2,
    /// AF_XDP sockets by index.
    Sockets = 17,
}

/// XDP_FLAGS of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachFlag {
    Generic = 2,
    Native = 4,
}

/// union bpf_attr, with fields at their offsets.
struct Attributes([u64; ATTRIBUTES / 8]);

impl Attributes {
    fn new() -> Self {
        Self([0; ATTRIBUTES / 8])
    }

    fn word(mut self, at: usize, value: u32) -> Self {
        let [low, high] = [0, 4].map(|i| {
            let bytes = self.0[at / 8].to_ne_bytes();
            u32::from_ne_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]])
        });
        let words = if at.is_multiple_of(8) { [value, high] } else { [low, value] };
        let [a, b] = words.map(u32::to_ne_bytes);
        self.0[at / 8] = u64::from_ne_bytes([a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]);
        self
    }

    fn double(mut self, at: usize, value: u64) -> Self {
        self.0[at / 8] = value;
        self
    }

    /// # Safety
    /// Every pointer among the attributes is valid for what the command does with it.
    unsafe fn call(&mut self, command: libc::c_int) -> io::Result<libc::c_long> {
        // SAFETY: pointer and length describe the attributes; the caller vouches for pointers in them.
        let code = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), ATTRIBUTES) };
        if code < 0 { Err(io::Error::last_os_error()) } else { Ok(code) }
    }

    /// # Safety
    /// As for `call`; the command returns a new descriptor.
    unsafe fn open(&mut self, command: libc::c_int) -> io::Result<OwnedFd> {
        // SAFETY: as the caller vouches; a new descriptor belongs to nobody else.
        unsafe { Ok(OwnedFd::from_raw_fd(self.call(command)? as libc::c_int)) }
    }
}

/// A name as the kernel keeps it: at most 15 letters, digits and underscores.
fn name_words(name: &CStr) -> [u64; 2] {
    let mut bytes = [0u8; 16];
    let kept = name.to_bytes().len().min(15);
    bytes[..kept].copy_from_slice(&name.to_bytes()[..kept]);
    let (words, _) = bytes.as_chunks::<8>();
    [u64::from_ne_bytes(words[0]), u64::from_ne_bytes(words[1])]
}

/// Makes a map with keys of 4 bytes.
///
/// # Errors
/// CAP_BPF or CAP_NET_ADMIN is missing, or the kernel has no such map.
pub fn map_create(kind: MapKind, name: &CStr, value_bytes: u32, entries: u32) -> io::Result<OwnedFd> {
    let [first, second] = name_words(name);
    let mut attributes =
        Attributes::new().word(0, kind as u32).word(4, 4).word(8, value_bytes).word(12, entries);
    // map_name is at 28, which no eight bytes begin at.
    for (i, half) in
        [first as u32, (first >> 32) as u32, second as u32, (second >> 32) as u32].into_iter().enumerate()
    {
        attributes = attributes.word(28 + 4 * i, half);
    }
    // SAFETY: no pointers among the attributes.
    unsafe { attributes.open(MAP_CREATE) }
}

/// Sets one value; `value` has the map's length.
///
/// # Errors
/// The kernel refuses, e.g. because a socket that a map of sockets is to hold is none.
pub fn map_set(map: BorrowedFd<'_>, key: u32, value: &[u8]) -> io::Result<()> {
    let mut attributes = Attributes::new()
        .word(0, map.as_raw_fd() as u32)
        .double(8, (&raw const key) as u64)
        .double(16, value.as_ptr() as u64);
    // SAFETY: key and value outlive the call, and the value has the map's length.
    unsafe { attributes.call(MAP_UPDATE) }.map(|_| ())
}

/// Reads one value into `value`, which has the map's length rounded up to 8 bytes.
///
/// # Errors
/// The kernel refuses.
pub fn map_get(map: BorrowedFd<'_>, key: u32, value: &mut [u8]) -> io::Result<()> {
    let mut attributes = Attributes::new()
        .word(0, map.as_raw_fd() as u32)
        .double(8, (&raw const key) as u64)
        .double(16, value.as_mut_ptr() as u64);
    // SAFETY: key and value outlive the call, and the value has the map's length.
    unsafe { attributes.call(MAP_LOOKUP) }.map(|_| ())
}

/// Loads an XDP program; `device` binds it to one interface, which kernel functions that ask the
/// driver need.
///
/// # Errors
/// Rights are missing, the driver has not what the program asks for (EOPNOTSUPP, EINVAL), or the
/// verifier refuses it.
pub fn program_load(
    what: &'static str,
    name: &CStr,
    code: &[Instruction],
    device: Option<u32>,
) -> Result<OwnedFd, LoadError> {
    let [first, second] = name_words(name);
    let attributes = |log: &mut [u8]| {
        let log_at = if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 };
        Attributes::new()
            .word(0, TYPE_XDP)
            .word(4, code.len() as u32)
            .double(8, code.as_ptr() as u64)
            // Helpers that only free software may call are not used; kernel functions are.
            .double(16, c"GPL".as_ptr() as u64)
            .word(24, u32::from(!log.is_empty()))
            .word(28, log.len() as u32)
            .double(32, log_at)
            .word(44, if device.is_some() { DEVICE_BOUND } else { 0 })
            .double(48, first)
            .double(56, second)
            .word(64, device.unwrap_or(0))
            .word(68, ATTACH_XDP)
    };
    // SAFETY: code and licence outlive the call.
    let source = match unsafe { attributes(&mut []).open(PROGRAM_LOAD) } {
        Ok(program) => return Ok(program),
        Err(e) => e,
    };
    if matches!(source.raw_os_error(), Some(libc::EOPNOTSUPP)) {
        return Err(LoadError::Driver(source));
    }
    if matches!(source.raw_os_error(), Some(libc::EPERM)) {
        return Err(no_program(what, source).map_or_else(LoadError::Driver, LoadError::Refused));
    }
    let mut log = vec![0; VERIFIER_LOG_BYTES];
    // SAFETY: code, licence and log outlive the call.
    let again = unsafe { attributes(&mut log).open(PROGRAM_LOAD) };
    let said = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
    let last: Vec<&str> = said.lines().rev().take(3).collect();
    let said = last.into_iter().rev().collect::<Vec<_>>().join("; ");
    again.map_err(|source| LoadError::Refused(XdpError::Verifier { what, source, said }))
}

/// Why a program was not loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The driver has not what the program asks for.
    Driver(io::Error),
    Refused(XdpError),
}

/// Attaches a program until the descriptor closes, however the process ends.
///
/// # Errors
/// EBUSY or EEXIST: another program is there. EOPNOTSUPP: the driver runs none. ERANGE: the MTU.
pub fn link_create(program: BorrowedFd<'_>, interface: u32, flag: AttachFlag) -> io::Result<OwnedFd> {
    let mut attributes = Attributes::new()
        .word(0, program.as_raw_fd() as u32)
        .word(4, interface)
        .word(8, ATTACH_XDP)
        .word(12, flag as u32);
    // SAFETY: no pointers among the attributes.
    unsafe { attributes.open(LINK_CREATE) }
}

/// The name of a loaded program by its identifier; None where the kernel does not tell.
#[must_use]
pub fn program_name(id: u32) -> Option<String> {
    // SAFETY: no pointers among the attributes.
    let program = unsafe { Attributes::new().word(0, id).open(PROGRAM_BY_ID) }.ok()?;
    // struct bpf_prog_info: the name is 16 bytes at 64.
    let mut info = [0u8; 256];
    let mut attributes = Attributes::new()
        .word(0, program.as_raw_fd() as u32)
        .word(4, info.len() as u32)
        .double(8, info.as_mut_ptr() as u64);
    // SAFETY: `info` outlives the call, and its length is told.
    unsafe { attributes.call(INFO) }.ok()?;
    let name = CStr::from_bytes_until_nul(&info[64..80]).ok()?.to_string_lossy().into_owned();
    (!name.is_empty()).then_some(name)
}

/// Runs an XDP program `times` times on copies of `frame`, which then really take the way that the
/// program says (BPF_F_TEST_XDP_LIVE_FRAMES, Linux 5.18 and later); `batch` frames are under way at once.
///
/// # Errors
/// Rights are missing, the kernel has no live frames (EINVAL), or a signal came (EINTR).
pub fn run_live(program: BorrowedFd<'_>, frame: &[u8], times: u32, batch: u32) -> io::Result<()> {
    /// BPF_F_TEST_XDP_LIVE_FRAMES.
    const LIVE: u32 = 1 << 1;
    let mut attributes = Attributes::new()
        .word(0, program.as_raw_fd() as u32)
        .word(8, frame.len() as u32)
        .double(16, frame.as_ptr() as u64)
        .word(32, times)
        .word(64, LIVE)
        .word(72, batch);
    // SAFETY: the frame outlives the call, and its length is told.
    unsafe { attributes.call(PROGRAM_TEST_RUN) }.map(|_| ())
}
