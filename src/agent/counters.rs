//! Counters of the kernel that follow a whole process tree from the instant its program takes over.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;

use crate::model::job::JobSpec;
use crate::model::metric::SYSTEM_CALLS;
use crate::model::observed::Figures;

/// Hardware event of `perf_event_open(2)`: retired instructions.
const INSTRUCTIONS: (u32, u64) = (0, 1);
/// Kind of event that counts passes of a tracepoint.
const TRACEPOINT: u32 = 2;
/// Bits of the attributes: off until the exec, on in every descendant, user mode only.
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
/// The value is followed by the time that the event was on, and the time that it was really counted.
const WITH_TIMES: u64 = 1 | 2;
const CLOSE_ON_EXEC: libc::c_ulong = 8;
/// Every entry into the kernel by a system call passes here.
const ENTRY: &str = "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id";

/// `struct perf_event_attr` in its first published size (`PERF_ATTR_SIZE_VER0`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Event {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    bp_addr: u64,
}

impl Event {
    const fn new(kind: u32, config: u64, flags: u64) -> Event {
        Event {
            kind,
            size: size_of::<Event>() as u32,
            config,
            sample_period: 0,
            sample_type: 0,
            read_format: WITH_TIMES,
            flags: flags | DISABLED | INHERIT | ENABLE_ON_EXEC,
            wakeup_events: 0,
            bp_type: 0,
            bp_addr: 0,
        }
    }
}

/// What this host counts, or why it does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    pub instructions: Result<Event, String>,
    pub system_calls: Result<Event, String>,
}

impl Counters {
    /// By trying.
    pub fn probe() -> Counters {
        let (kind, config) = INSTRUCTIONS;
        let instructions = Event::new(kind, config, EXCLUDE_KERNEL | EXCLUDE_HV);
        let calls = std::fs::read_to_string(ENTRY).map_err(|e| format!("{ENTRY}: {e}")).and_then(|id| {
            let id = id.trim().parse().map_err(|_| format!("{ENTRY}: expected a number"))?;
            Ok(Event::new(TRACEPOINT, id, 0))
        });
        Counters {
            instructions: tried(instructions, "this machine counts no instructions"),
            system_calls: calls
                .map_err(|why| format!("this host does not let system calls be counted: {why}"))
                .and_then(|event| tried(event, "this host does not let system calls be counted")),
        }
    }
}

fn tried(event: Event, otherwise: &str) -> Result<Event, String> {
    // SAFETY: the event lives across the calls, and the descriptor is closed by whoever opened it.
    unsafe {
        match open(&event) {
            fd if fd < 0 => Err(format!("{otherwise} (perf_event_open: {})", io::Error::last_os_error())),
            fd => {
                libc::close(fd);
                Ok(event)
            }
        }
    }
}

/// Attaches an event to the calling process; its descendants have it on from their exec.
///
/// # Safety
/// Only a system call, so an init may use it.
pub unsafe fn open(event: &Event) -> c_int {
    let (own, any_cpu, alone): (libc::pid_t, c_int, c_int) = (0, -1, -1);
    // SAFETY: the kernel reads `size` bytes of the event.
    unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(event),
            own,
            any_cpu,
            alone,
            CLOSE_ON_EXEC,
        ) as c_int
    }
}

/// The count of all descendants that have ended; None where the event was not counted all the time.
///
/// # Safety
/// Only system calls, so an init may use it.
pub unsafe fn read(fd: c_int) -> Option<u64> {
    let mut found = [0u64; 3];
    // SAFETY: the buffer is local and has the size given.
    let n = unsafe { libc::read(fd, found.as_mut_ptr().cast(), size_of_val(&found)) };
    let [count, on, counted] = found;
    (n == size_of_val(&found) as isize && counted >= on && on > 0).then_some(count)
}

/// What of a job is counted, and why the rest is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    pub instructions: Result<Event, String>,
    /// None where the job does not ask for it.
    pub system_calls: Option<Result<Event, String>>,
}

impl Counted {
    pub fn of(spec: &JobSpec, counters: &Counters) -> Counted {
        let system_calls = spec.count_calls.then(|| counters.system_calls.clone());
        Counted { instructions: counters.instructions.clone(), system_calls }
    }

    /// Why a counter that was asked for has no value.
    pub fn absent(&self, figures: &Figures) -> BTreeMap<String, String> {
        let mut absent = BTreeMap::new();
        let mut tell = |name: &str, value: Option<u64>, counted: &Result<Event, String>| {
            if value.is_none() {
                let shared = || "the counter was not on all the time".to_owned();
                absent.insert(name.to_owned(), counted.clone().err().unwrap_or_else(shared));
            }
        };
        tell("instructions", figures.instructions, &self.instructions);
        if let Some(counted) = &self.system_calls {
            tell(SYSTEM_CALLS, figures.system_calls, counted);
        }
        absent
    }
}
