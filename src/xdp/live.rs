//! A source of frames inside the kernel: a program that writes each frame and sends it off, run as often as frames are due.
//!
//! A frame that a program made comes to the other end of a veth pair as a frame of a network card does,
//! without a packet of the kernel's stack around it. Its bytes are exactly those of `Frames`: the program
//! counts the sequence in its map, mixes the check, and copies the window of the pattern's page.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use super::assembly::Operand::{Number, Register};
use super::assembly::{Assembly, Instruction, R0, R1, R2, R3, R4, R6, R7, R8, R9, R10, Sum, When, Width};
use super::bpf::{LoadError, MapKind, map_create, map_get, map_set, program_load, run_live};
use super::error::XdpError;
use super::kept::Kept;
use super::rights::no_program;
use crate::model::frame_size::FCS_BYTES;
use crate::nic::driver::driver_name;
use crate::nic::features::takes_frames_of_programs;
use crate::nic::interface::Interface;
use crate::packet::egress::Egress;
use crate::packet::frame::{CHECK, Frames, HEADER, PAGE, SEQUENCE, SIZE};

/// Frames that the kernel sends off together; it takes at most 256 at once.
const BATCH: u32 = 64;
/// Most frames of one system call, so that a sender looks at its clock now and then.
const MOST: usize = 4096;
/// The map's value: the next sequence number; a row for each place in the turn of sizes, with the bytes
/// of the frame and the salt of its check; then the pattern's page.
const COUNTER: usize = 8;
const ROW: usize = 16;
const ROW_SALT: i16 = 8;
/// Most rows, so that offsets of the page stay small numbers.
const MOST_ROWS: usize = 1024;
/// Bytes of a frame that the MTU does not count.
const ETHERNET: u32 = 14;
// Helpers, enum bpf_func_id.
const MAP_LOOKUP: i32 = 1;
const REDIRECT: i32 = 23;
const ADJUST_TAIL: i32 = 65;
const STORE_BYTES: i32 = 190;
/// XDP_DROP.
const DROP: i32 = 1;
// struct xdp_md.
const DATA: i16 = 0;
const DATA_END: i16 = 4;

/// The source of one stream.
#[derive(Debug)]
pub struct XdpLive {
    program: OwnedFd,
    map: OwnedFd,
    _kept: Kept,
    /// A frame of the largest size, of which the kernel makes its copies.
    frame: Vec<u8>,
    /// The map's value, to set the counter.
    value: Vec<u8>,
    stream: u16,
    /// The program's next sequence number.
    next: u64,
    waiting: usize,
}

impl XdpLive {
    /// Loads the source of a stream; needs CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN in the first user
    /// namespace. The other end of a veth pair needs a program or GRO, or it takes no such frames.
    ///
    /// # Errors
    /// The link is down, the MTU is smaller than the frames, the driver takes no frames from programs,
    /// or rights are missing.
    pub fn open(interface: &Interface, frames: &Frames, stream: u16) -> Result<Self, XdpError> {
        let name = || interface.name.clone();
        if !interface.running {
            return Err(XdpError::LinkDown { interface: name(), seen: "down or without carrier" });
        }
        let needed = frames.most_bytes() as u32 - ETHERNET;
        if needed > interface.mtu {
            let frame_bytes = frames.most_bytes() as u32 + FCS_BYTES;
            return Err(XdpError::MtuTooSmall { interface: name(), mtu: interface.mtu, frame_bytes, needed });
        }
        let rows: Vec<_> = frames.shapes(stream).collect();
        if frames.are_stamped() || rows.len() > MOST_ROWS {
            let wanted = format!(
                "frames from inside the kernel carry no instant of writing, and at most {MOST_ROWS} sizes take \
                 turns: send by af_packet or af_xdp"
            );
            return Err(XdpError::Unsuited { interface: name(), wanted });
        }
        let mut value = vec![0; COUNTER];
        for (bytes, salt) in &rows {
            value.extend((*bytes as u64).to_ne_bytes());
            value.extend(salt.to_ne_bytes());
        }
        value.extend(frames.page(stream));
        let first = (0..).find(|&sequence| frames.bytes(sequence) == frames.most_bytes()).unwrap_or(0);
        let mut frame = vec![0; frames.most_bytes()];
        frames.write(stream, first, &mut frame);
        let failed = |what, source| XdpError::Kernel {
            what,
            interface: name(),
            source,
            next: "Frames from programs need Linux 5.18 or newer",
        };
        let what = "make the map of a frame source";
        let map = map_create(MapKind::Array, c"fieldtrial", value.len() as u32, 1)
            .map_err(|e| no_program(what, e).unwrap_or_else(|e| failed(what, e)))?;
        let code = source(map.as_raw_fd(), interface.index, rows.len(), frames.most_bytes());
        let what = "load a frame source";
        let program = program_load(what, c"fieldtrial", &code, None).map_err(|e| match e {
            LoadError::Refused(error) => error,
            LoadError::Driver(e) => failed(what, e),
        })?;
        map_set(map.as_fd(), 0, &value).map_err(|e| failed("fill the map of a frame source", e))?;
        if takes_frames_of_programs(interface.index).is_ok_and(|takes| takes == Some(false)) {
            let driver = driver_name(&interface.name);
            return Err(XdpError::NoFramesOfPrograms { interface: name(), driver });
        }
        let kept = Kept::new(program.as_fd()).map_err(|source| XdpError::Kernel {
            what: "keep a frame source at hand",
            interface: name(),
            source,
            next: "It needs a network namespace of its own, and so CAP_SYS_ADMIN: run as root",
        })?;
        Ok(Self { program, map, _kept: kept, frame, value, stream, next: 0, waiting: 0 })
    }

    /// The program's counter.
    fn counter(&self) -> io::Result<u64> {
        let mut value = vec![0; self.value.len().next_multiple_of(8)];
        map_get(self.map.as_fd(), 0, &mut value)?;
        let mut counter = [0; COUNTER];
        counter.copy_from_slice(&value[..COUNTER]);
        Ok(u64::from_ne_bytes(counter))
    }
}

impl Egress for XdpLive {
    /// `frames` and `stream` are those it was opened with.
    fn fill(&mut self, _frames: &Frames, stream: u16, first: u64, count: usize) -> usize {
        debug_assert_eq!(stream, self.stream, "a source is for one stream");
        if self.waiting > 0 {
            return 0;
        }
        if first != self.next {
            self.value[..COUNTER].copy_from_slice(&first.to_ne_bytes());
            if map_set(self.map.as_fd(), 0, &self.value).is_err() {
                return 0;
            }
            self.next = first;
        }
        self.waiting = count.min(MOST);
        self.waiting
    }

    fn waiting(&self) -> usize {
        self.waiting
    }

    fn hand_over(&mut self) -> io::Result<usize> {
        if self.waiting == 0 {
            return Ok(0);
        }
        let ran = run_live(self.program.as_fd(), &self.frame, self.waiting as u32, BATCH);
        let next = self.counter()?;
        let taken = next.wrapping_sub(self.next) as usize;
        self.next = next;
        self.waiting -= taken.min(self.waiting);
        match ran {
            // The kernel frees the identifiers of earlier runs a moment later, and 65,535 are all it has:
            // seen at 100,000 calls/s.
            Err(e) if taken == 0 && e.raw_os_error() == Some(libc::ENOSPC) => {
                Err(io::Error::from_raw_os_error(libc::EAGAIN))
            }
            // A signal may come after some frames.
            Err(e) if taken == 0 => Err(e),
            _ => Ok(taken),
        }
    }
}

/// Writes one frame and sends it off: see `Frames` for the layout and the numbers. R6 is the context, R7
/// the map's value, R8 the sequence, R9 the row of the size.
fn source(map: i32, interface: u32, rows: usize, most_bytes: usize) -> Vec<Instruction> {
    let mut a = Assembly::default();
    let (drop, whole) = (a.label(), a.label());
    a.set(R6, Register(R1));
    a.set(R1, Number(0));
    a.store(Width::Word, R10, -4, R1);
    a.set_map(R1, map);
    a.set(R2, Register(R10));
    a.sum(Sum::Add, R2, Number(-4));
    a.call(MAP_LOOKUP);
    a.jump_when(R0, When::Equal, Number(0), drop);
    a.set(R7, Register(R0));
    a.load(Width::Double, R8, R7, 0);
    a.set(R9, Register(R8));
    a.sum(Sum::Modulo, R9, Number(rows as i32));
    // The verifier knows no bound of a remainder.
    a.jump_when(R9, When::Above, Number(rows as i32 - 1), drop);
    a.sum(Sum::Multiply, R9, Number(ROW as i32));
    a.sum(Sum::Add, R9, Register(R7));
    // The kernel's copy has the largest size; cut it to this frame's.
    a.load(Width::Double, R2, R9, COUNTER as i16);
    a.sum(Sum::Subtract, R2, Number(most_bytes as i32));
    a.jump_when(R2, When::Equal, Number(0), whole);
    a.set(R1, Register(R6));
    a.call(ADJUST_TAIL);
    a.jump_when(R0, When::NotEqual, Number(0), drop);
    a.place(whole);
    a.load(Width::Word, R2, R6, DATA);
    a.load(Width::Word, R3, R6, DATA_END);
    a.set(R4, Register(R2));
    a.sum(Sum::Add, R4, Number(HEADER as i32));
    a.jump_when(R4, When::Above, Register(R3), drop);
    a.set(R4, Register(R8));
    a.swap(R4, 64);
    a.store(Width::Double, R2, SEQUENCE as i16, R4);
    a.load(Width::Double, R4, R9, COUNTER as i16);
    a.sum(Sum::Add, R4, Number(FCS_BYTES as i32));
    a.swap(R4, 16);
    a.store(Width::Half, R2, SIZE as i16, R4);
    check(&mut a);
    a.store(Width::Word, R2, CHECK as i16, R4);
    a.set(R3, Register(R8));
    a.sum(Sum::And, R3, Number(PAGE as i32 - 1));
    a.sum(Sum::Add, R3, Register(R7));
    a.sum(Sum::Add, R3, Number((COUNTER + rows * ROW) as i32));
    a.set(R1, Register(R6));
    a.set(R2, Number(HEADER as i32));
    a.load(Width::Double, R4, R9, COUNTER as i16);
    a.sum(Sum::Subtract, R4, Number(HEADER as i32));
    a.jump_when(R4, When::Above, Number((most_bytes - HEADER) as i32), drop);
    a.jump_when(R4, When::Equal, Number(0), drop);
    a.call(STORE_BYTES);
    a.jump_when(R0, When::NotEqual, Number(0), drop);
    a.sum(Sum::Add, R8, Number(1));
    a.store(Width::Double, R7, 0, R8);
    a.set(R1, Number(interface as i32));
    a.set(R2, Number(0));
    a.call(REDIRECT);
    a.exit();
    a.place(drop);
    a.set(R0, Number(DROP));
    a.exit();
    a.finish()
}

/// `R4 = ` the check of the sequence in R8 with the salt of the row in R9, in network order: SplitMix64's
/// output function. Uses R1.
fn check(a: &mut Assembly) {
    let with = |a: &mut Assembly, sum, number| {
        a.set_wide(R1, number);
        a.sum(sum, R4, Register(R1));
    };
    let fold = |a: &mut Assembly, bits| {
        a.set(R1, Register(R4));
        a.sum(Sum::ShiftRight, R1, Number(bits));
        a.sum(Sum::Xor, R4, Register(R1));
    };
    a.load(Width::Double, R4, R9, COUNTER as i16 + ROW_SALT);
    a.sum(Sum::Xor, R4, Register(R8));
    with(a, Sum::Add, 0x9e37_79b9_7f4a_7c15);
    fold(a, 30);
    with(a, Sum::Multiply, 0xbf58_476d_1ce4_e5b9);
    fold(a, 27);
    with(a, Sum::Multiply, 0x94d0_49bb_1331_11eb);
    fold(a, 31);
    a.sum(Sum::ShiftRight, R4, Number(32));
    a.swap(R4, 32);
}
