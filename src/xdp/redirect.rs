//! The program that steers our frames from each queue into its socket, and everything else past it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::assembly::Operand::{Number, Register};
use super::assembly::{Assembly, Instruction, R0, R1, R2, R3, R4, R6, R7, R8, R10, Sum, When, Width};
use super::bpf::{
    AttachFlag, LoadError, MapKind, link_create, map_create, map_set, program_load, program_name,
};
use super::btf;
use super::error::XdpError;
use super::options::{Attach, XdpOptions};
use super::rights::no_program;
use crate::nic::driver::{driver_name, lacks_stamps};
use crate::nic::interface::Interface;
use crate::packet::frame::{ETHERTYPE_BASE, MOST_STREAMS};

/// Bytes that the program puts before each frame: a stamp in nanoseconds, and how asking for it went.
pub const STAMP_BYTES: usize = 16;
/// The kernel's function that asks the driver for a frame's stamp (Linux 6.3 and later).
const STAMP_FUNCTION: &str = "bpf_xdp_metadata_rx_timestamp";
// Helpers, enum bpf_func_id.
const REDIRECT_MAP: i32 = 51;
const ADJUST_META: i32 = 54;
/// XDP_PASS: on to the rest of the kernel.
const PASS: i32 = 2;
// struct xdp_md.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const DATA_META: i16 = 8;
const QUEUE: i16 = 16;

/// The program, loaded and not yet attached.
#[derive(Debug)]
pub struct Loaded {
    sockets: OwnedFd,
    program: OwnedFd,
    stamps: bool,
}

/// The program at work; it is gone with this value, however the process ends.
#[derive(Debug)]
pub struct Redirect {
    sockets: OwnedFd,
    _link: OwnedFd,
    pub native: bool,
    pub stamps: bool,
}

impl Loaded {
    /// Loads it for queues below `queues`. Nothing happens to the interface yet.
    ///
    /// # Errors
    /// Rights are missing, or the card does not stamp.
    pub fn new(interface: &Interface, queues: u32, options: &XdpOptions) -> Result<Self, XdpError> {
        if !options.stamps {
            return Self::with_stamp(interface, queues, None);
        }
        if options.attach == Attach::Generic {
            let why = "a program in the stack cannot ask the driver; ask for native or auto";
            return Err(no_stamps(interface, why.into()));
        }
        match lacks_stamps(&interface.name) {
            Ok(None) => Self::with_stamp(interface, queues, Some(stamp_function(interface)?)),
            Ok(Some(lack)) => Err(no_stamps(interface, lack.into())),
            Err(e) => Err(no_stamps(interface, format!("the driver does not say what it can stamp ({e})"))),
        }
    }

    /// The same with the BTF type of the stamping function, whatever the card can.
    ///
    /// # Errors
    /// Rights are missing, or the driver has no stamps for programs.
    pub fn with_stamp(interface: &Interface, queues: u32, stamp: Option<u32>) -> Result<Self, XdpError> {
        let what = "make a map of sockets";
        let sockets = map_create(MapKind::Sockets, c"fieldtrial", 4, queues)
            .map_err(|e| no_program(what, e).unwrap_or_else(|e| failed(what, interface, e)))?;
        let code = program(sockets.as_raw_fd(), stamp);
        let device = stamp.map(|_| interface.index);
        let what = "load the program that steers frames";
        let program = program_load(what, c"fieldtrial", &code, device).map_err(|e| match e {
            LoadError::Refused(error) => error,
            LoadError::Driver(e) if stamp.is_some() => {
                no_stamps(interface, format!("the driver has no stamps for XDP programs ({e})"))
            }
            LoadError::Driver(e) => failed(what, interface, e),
        })?;
        Ok(Self { sockets, program, stamps: stamp.is_some() })
    }

    /// # Errors
    /// Rights are missing, another program is attached, the driver runs none, or the MTU is too large.
    pub fn attach(self, interface: &Interface, attach: Attach) -> Result<Redirect, XdpError> {
        let link = |flag| link_create(self.program.as_fd(), interface.index, flag);
        let (link, native) = match attach {
            Attach::Native => (link(AttachFlag::Native), true),
            Attach::Generic => (link(AttachFlag::Generic), false),
            Attach::Auto => match link(AttachFlag::Native) {
                Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) && !self.stamps => {
                    (link(AttachFlag::Generic), false)
                }
                result => (result, true),
            },
        };
        let link = link.map_err(|e| attach_refused(interface, native, e))?;
        Ok(Redirect { sockets: self.sockets, _link: link, native, stamps: self.stamps })
    }
}

impl Redirect {
    /// Lets frames of a queue into a socket that is bound to it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn steer(&self, interface: &Interface, queue: u32, socket: BorrowedFd<'_>) -> Result<(), XdpError> {
        map_set(self.sockets.as_fd(), queue, &socket.as_raw_fd().to_ne_bytes())
            .map_err(|e| failed("put a socket into the map", interface, e))
    }
}

/// The steering program: frames with one of our ethertypes go to the socket of their queue, or on to the
/// kernel where that queue has none. With `stamp`, the BTF type of the stamping function, the driver's
/// stamp stands before the frame.
fn program(sockets: i32, stamp: Option<u32>) -> Vec<Instruction> {
    let mut a = Assembly::default();
    let (pass, steer) = (a.label(), a.label());
    a.set(R6, Register(R1));
    a.load(Width::Word, R2, R1, DATA);
    a.load(Width::Word, R3, R1, DATA_END);
    a.set(R4, Register(R2));
    a.sum(Sum::Add, R4, Number(14));
    a.jump_when(R4, When::Above, Register(R3), pass);
    a.load(Width::Half, R4, R2, 12);
    a.swap(R4, 16);
    a.sum(Sum::Subtract, R4, Number(i32::from(ETHERTYPE_BASE)));
    // Smaller ethertypes have become very large numbers.
    a.jump_when(R4, When::Above, Number(i32::from(MOST_STREAMS) - 1), pass);
    if let Some(function) = stamp {
        a.set(R1, Register(R6));
        a.set(R2, Number(-(STAMP_BYTES as i32)));
        a.call(ADJUST_META);
        // A driver without room before frames: the frame goes on, and what stands there is no stamp.
        a.jump_when(R0, When::NotEqual, Number(0), steer);
        a.set(R1, Number(0));
        a.store(Width::Double, R10, -8, R1);
        a.set(R1, Register(R6));
        a.set(R2, Register(R10));
        a.sum(Sum::Add, R2, Number(-8));
        a.call_kernel(function);
        a.set(R7, Register(R0));
        a.sum(Sum::ShiftLeft, R7, Number(32));
        a.sum(Sum::ShiftRightSigned, R7, Number(32));
        a.load(Width::Double, R8, R10, -8);
        a.load(Width::Word, R2, R6, DATA_META);
        a.load(Width::Word, R3, R6, DATA);
        a.set(R4, Register(R2));
        a.sum(Sum::Add, R4, Number(STAMP_BYTES as i32));
        a.jump_when(R4, When::Above, Register(R3), steer);
        a.store(Width::Double, R2, 0, R8);
        a.store(Width::Double, R2, 8, R7);
    }
    a.place(steer);
    a.load(Width::Word, R2, R6, QUEUE);
    a.set_map(R1, sockets);
    a.set(R3, Number(PASS));
    a.call(REDIRECT_MAP);
    a.exit();
    a.place(pass);
    a.set(R0, Number(PASS));
    a.exit();
    a.finish()
}

/// The BTF type of this kernel's stamping function.
///
/// # Errors
/// The kernel has none, or does not describe itself.
pub fn stamp_function(interface: &Interface) -> Result<u32, XdpError> {
    let description = fs::read(btf::KERNEL).map_err(|e| {
        no_stamps(interface, format!("the kernel does not describe itself in {} ({e})", btf::KERNEL))
    })?;
    btf::function(&description, STAMP_FUNCTION).ok_or_else(|| {
        no_stamps(interface, format!("the kernel has no {STAMP_FUNCTION} (Linux 6.3 or newer has)"))
    })
}

fn no_stamps(interface: &Interface, why: String) -> XdpError {
    XdpError::NoStamps { interface: interface.name.clone(), driver: driver_name(&interface.name), why }
}

fn attach_refused(interface: &Interface, native: bool, source: io::Error) -> XdpError {
    let name = interface.name.clone();
    let driver = driver_name(&name);
    match source.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => {
            let occupant = occupant(&name);
            XdpError::Occupied { interface: name, occupant, source }
        }
        Some(libc::EOPNOTSUPP) if native => XdpError::NoNative { interface: name, driver, source },
        Some(libc::ERANGE) => XdpError::MtuTooLarge { interface: name, driver, mtu: interface.mtu, source },
        _ => {
            let what = "attach the program that steers frames";
            no_program(what, source).unwrap_or_else(|e| failed(what, interface, e))
        }
    }
}

fn occupant(interface: &str) -> String {
    match Interface::find(interface).ok().and_then(|seen| seen.xdp_program) {
        Some(id) => match program_name(id) {
            Some(name) => format!("{name:?}, program {id}"),
            None => format!("program {id}"),
        },
        None => "it does not say which".to_owned(),
    }
}

fn failed(what: &'static str, interface: &Interface, source: io::Error) -> XdpError {
    let next = "XDP programs attached by a link need Linux 5.9 or newer; `dmesg` may say more";
    XdpError::Kernel { what, interface: interface.name.clone(), source, next }
}
