//! The ways into an interface, opened as the arguments ask.

use std::os::fd::OwnedFd;

use clap::ValueEnum;
use serde::Serialize;

use super::packet_receive::PacketReceiveArgs;
use super::voice::Fault;
use crate::nic::driver::queues;
use crate::nic::hardware_stamps::{HardwareStamps, StampError};
use crate::nic::interface::Interface;
use crate::packet::datagrams::Datagrams;
use crate::packet::ingress::{Ingress, Stamps};
use crate::packet::receiver::Way;
use crate::packet::ring::{BLOCK_BYTES, Ring};
use crate::packet::socket::{SocketError, be_promiscuous, open_receiver};
use crate::xdp::options::XdpOptions;
use crate::xdp::receiver::XdpReceiver;
use crate::xdp::socket::CHUNK;

/// Ring or receive buffer where nothing else is asked for; 64 MiB lost no frame on veth at full rate.
const RING_MIB: u32 = 64;

/// How frames come from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PathIn {
    /// A ring shared with the kernel (TPACKET_V3): the cheapest for the CPU
    #[value(name = "af_packet")]
    Ring,
    /// Copies by recvmmsg, 64 frames a call
    #[value(name = "af_packet_recvmmsg")]
    Recvmmsg,
    /// AF_XDP, a socket and a thread for each queue; takes our ethertypes only, others pass by
    #[value(name = "af_xdp")]
    Xdp,
}

impl PathIn {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "af_packet",
            Self::Recvmmsg => "af_packet_recvmmsg",
            Self::Xdp => "af_xdp",
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
    /// Of all ways together.
    pub ring_bytes: usize,
    pub xdp: Option<XdpGot>,
    /// Settings of the interface that are put back when this is dropped.
    pub held: Held,
}

/// What an open receiver changed about its interface.
#[derive(Default)]
pub struct Held {
    _stamping: Option<HardwareStamps>,
    _promiscuous: Option<OwnedFd>,
}

/// Opens every way in; frames that arrive from now on are kept.
///
/// # Errors
/// Arguments that do not go together, or a refusal of the host.
pub fn open(args: &PacketReceiveArgs, interface: &Interface) -> Result<Opened, Fault> {
    agree(args)?;
    let stamps = Stamps::from(args.stamps);
    let stamping = match stamps {
        Stamps::Hardware => Some(HardwareStamps::hold(&interface.name).map_err(unstamped)?),
        _ => None,
    };
    let bytes = args.ring.unwrap_or(RING_MIB) as usize * BLOCK_BYTES;
    let mut opened = match args.path {
        PathIn::Ring => {
            let ring = Ring::open(interface, bytes, stamps).map_err(refused)?;
            let ring_bytes = ring.bytes();
            one(Box::new(ring), ring_bytes)
        }
        PathIn::Recvmmsg => {
            let datagrams = Datagrams::open(interface, bytes, stamps).map_err(refused)?;
            let ring_bytes = datagrams.bytes();
            one(Box::new(datagrams), ring_bytes)
        }
        PathIn::Xdp => xdp(args, interface)?,
    };
    opened.held._stamping = stamping;
    Ok(opened)
}

/// Complains about arguments of another path, and about times without stamps.
fn agree(args: &PacketReceiveArgs) -> Result<(), Fault> {
    let only = [
        ("--queues", !args.queues.is_empty()),
        ("--attach", args.attach.is_some()),
        ("--xdp-copy", args.xdp_copy.is_some()),
    ];
    let only = only.iter().find(|(_, given)| *given && args.path != PathIn::Xdp);
    if let Some((name, _)) = only {
        return Err(Fault::bad_input(format!(
            "{name} goes with --path af_xdp only, found --path {}",
            args.path.name()
        )));
    }
    if args.latency && args.stamps == StampsArg::None {
        return Err(Fault::bad_input(
            "--latency needs receive stamps: expected --stamps software or hardware",
        ));
    }
    Ok(())
}

fn one(ingress: Box<dyn Ingress>, ring_bytes: usize) -> Opened {
    Opened { ways: vec![Way { queue: None, ingress }], ring_bytes, xdp: None, held: Held::default() }
}

fn xdp(args: &PacketReceiveArgs, interface: &Interface) -> Result<Opened, Fault> {
    let wanted: Vec<u32> = match args.queues.as_slice() {
        // A driver that tells no number has one.
        [] => (0..queues(&interface.name).map_or(1, |queues| queues.rx)).collect(),
        asked => asked.to_vec(),
    };
    // The program sees only what the card lets in, and no socket of ours would ask it for more.
    let promiscuous = open_receiver().map_err(refused)?;
    be_promiscuous(&promiscuous, interface).map_err(refused)?;
    let options = XdpOptions {
        copying: args.xdp_copy.unwrap_or_default(),
        attach: args.attach.unwrap_or_default(),
        ring: args.ring.map(|mib| mib * (BLOCK_BYTES as u32 / CHUNK)),
        stamps: args.stamps == StampsArg::Hardware,
    };
    let receivers = XdpReceiver::open_all(interface, &wanted, &options).map_err(Fault::refused)?;
    let got = receivers.first().map(XdpReceiver::got);
    let slots: usize = receivers.iter().map(|receiver| receiver.got().ring as usize).sum();
    Ok(Opened {
        ways: receivers
            .into_iter()
            .map(|receiver| Way { queue: Some(receiver.queue()), ingress: Box::new(receiver) })
            .collect(),
        ring_bytes: slots * CHUNK as usize,
        xdp: got.map(|got| XdpGot { attach: got.attach().unwrap_or("native"), copy: got.copying() }),
        held: Held { _promiscuous: Some(promiscuous), ..Held::default() },
    })
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
