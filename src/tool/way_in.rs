//! The ways into an interface, opened as the arguments ask.

use clap::ValueEnum;
use serde::Serialize;

use super::packet_receive::PacketReceiveArgs;
use super::voice::Fault;
use crate::nic::hardware_stamps::{HardwareStamps, StampError};
use crate::nic::interface::Interface;
use crate::packet::datagrams::Datagrams;
use crate::packet::ingress::Stamps;
use crate::packet::receiver::Way;
use crate::packet::ring::{BLOCK_BYTES, Ring};
use crate::packet::socket::SocketError;

/// How frames come from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PathIn {
    /// A ring shared with the kernel (TPACKET_V3): the cheapest for the CPU
    #[value(name = "af_packet")]
    Ring,
    /// Copies by recvmmsg, 64 frames a call
    #[value(name = "af_packet_recvmmsg")]
    Recvmmsg,
}

impl PathIn {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "af_packet",
            Self::Recvmmsg => "af_packet_recvmmsg",
        }
    }
}

/// Which stamps are asked for, as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StampsArg {
    /// By the kernel when it takes the frame, or on AF_XDP by this program; marked as such
    Software,
    /// By the card, for every frame (rx_filter=ALL), or refused
    Hardware,
    /// None: no rates, no times
    None,
}

impl From<StampsArg> for Stamps {
    fn from(asked: StampsArg) -> Self {
        match asked {
            StampsArg::Software => Self::Software,
            StampsArg::Hardware => Self::Hardware,
            StampsArg::None => Self::None,
        }
    }
}

/// What AF_XDP came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct XdpGot {
    /// `native` or `generic`.
    pub attach: &'static str,
    /// `copy` or `zero-copy`.
    pub copy: &'static str,
}

/// Open ways in, and what came of opening them.
pub struct Opened {
    pub ways: Vec<Way>,
    pub ring_bytes: usize,
    pub xdp: Option<XdpGot>,
    /// The card's stamp setting, put back when this is dropped.
    pub stamping: Option<HardwareStamps>,
}

/// Opens every way in; frames that arrive from now on are kept.
///
/// # Errors
/// Arguments that do not go together, or a refusal of the host.
pub fn open(args: &PacketReceiveArgs, interface: &Interface) -> Result<Opened, Fault> {
    let stamps = Stamps::from(args.stamps);
    let stamping = match stamps {
        Stamps::Hardware => Some(HardwareStamps::hold(&interface.name).map_err(unstamped)?),
        _ => None,
    };
    let bytes = args.ring as usize * BLOCK_BYTES;
    let (ingress, ring_bytes): (Box<dyn crate::packet::ingress::Ingress>, usize) = match args.path {
        PathIn::Ring => {
            let ring = Ring::open(interface, bytes, stamps).map_err(refused)?;
            let bytes = ring.bytes();
            (Box::new(ring), bytes)
        }
        PathIn::Recvmmsg => {
            let datagrams = Datagrams::open(interface, bytes, stamps).map_err(refused)?;
            let bytes = datagrams.bytes();
            (Box::new(datagrams), bytes)
        }
    };
    Ok(Opened { ways: vec![Way { queue: None, ingress }], ring_bytes, xdp: None, stamping })
}

fn unstamped(error: StampError) -> Fault {
    match error {
        StampError::Kernel { .. } => Fault::failed(error),
        _ => Fault::refused(error),
    }
}

fn refused(error: SocketError) -> Fault {
    match error {
        SocketError::Forbidden => Fault::refused(error),
        SocketError::Kernel { .. } => Fault::failed(error),
    }
}
