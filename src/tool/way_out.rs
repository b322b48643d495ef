//! The ways out of an interface that packet-send can take.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::voice::Fault;
use crate::nic::driver::queues;
use crate::nic::interface::Interface;
use crate::packet::batch;
use crate::packet::egress::Egress;
use crate::packet::frame::Frames;
use crate::packet::socket::SocketError;
use crate::xdp::error::XdpError;
use crate::xdp::live::XdpLive;
use crate::xdp::options::{Copying, XdpOptions};
use crate::xdp::sender::XdpSender;

/// How frames get from the program to the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[value(rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Path {
    /// sendmmsg on a packet socket for each stream, past the queueing discipline
    AfPacket,
    /// An AF_XDP socket for each queue
    AfXdp,
    /// An XDP program in the kernel that makes the same frames, for each stream
    XdpLive,
}

/// Options of the way out.
#[derive(Debug, Clone, Args)]
pub struct WayOutArgs {
    /// How frames get to the interface
    #[arg(long, value_enum, default_value_t = Path::AfPacket)]
    pub path: Path,
    /// Queue of stream 0 with --path af_xdp; each further stream takes the next queue, and once they are
    /// used up streams share them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub queue: u32,
    /// With --path af_xdp, whether the card reads the frames from our memory itself
    #[arg(long, value_enum, default_value_t = Copying::Auto)]
    pub xdp_copy: Copying,
}

/// What was opened.
pub struct WaysOut {
    /// A thread each; stream n takes way n modulo their number.
    pub ways: Vec<Box<dyn Egress>>,
    /// The queue of each stream; None where the kernel chooses by the sending CPU.
    pub queues: Option<Vec<u32>>,
    pub xdp: Option<XdpShape>,
}

/// What the kernel gave an AF_XDP sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct XdpShape {
    /// `copy` or `zero-copy`.
    pub copy: &'static str,
    /// Slots of each ring.
    pub ring: u32,
}

impl WayOutArgs {
    /// Opens the ways out for all streams of `frames`.
    ///
    /// # Errors
    /// The host or its interface cannot do it.
    pub fn open(&self, interface: &Interface, frames: &Arc<Frames>) -> Result<WaysOut, Fault> {
        match self.path {
            Path::AfPacket => {
                let ways = batch::open_each(interface, frames).map_err(|e| match e {
                    SocketError::Forbidden => Fault::refused(e),
                    SocketError::Kernel { .. } => Fault::failed(e),
                })?;
                Ok(WaysOut { ways, queues: None, xdp: None })
            }
            Path::AfXdp => self.open_xdp(interface, frames.streams()),
            Path::XdpLive => {
                let open = |stream| -> Result<Box<dyn Egress>, XdpError> {
                    Ok(Box::new(XdpLive::open(interface, frames, stream)?))
                };
                let ways =
                    (0..frames.streams()).map(open).collect::<Result<_, _>>().map_err(Fault::refused)?;
                Ok(WaysOut { ways, queues: None, xdp: None })
            }
        }
    }

    fn open_xdp(&self, interface: &Interface, streams: u16) -> Result<WaysOut, Fault> {
        // A driver that does not say has one queue each way.
        let there = queues(&interface.name).map_or(1, |queues| queues.tx);
        // A queue beyond them is refused by the kernel, with its reason.
        let usable = there.saturating_sub(self.queue).clamp(1, u32::from(streams));
        let options = XdpOptions { copying: self.xdp_copy, ..XdpOptions::default() };
        let mut ways: Vec<Box<dyn Egress>> = Vec::new();
        let mut xdp = None;
        for queue in self.queue..self.queue + usable {
            let sender = XdpSender::open(interface, queue, &options).map_err(Fault::refused)?;
            xdp = Some(XdpShape { copy: sender.got().copying(), ring: sender.got().ring });
            ways.push(Box::new(sender));
        }
        let queues = (0..u32::from(streams)).map(|stream| self.queue + stream % usable).collect();
        Ok(WaysOut { ways, queues: Some(queues), xdp })
    }
}
