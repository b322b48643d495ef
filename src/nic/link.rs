//! Links of the embedded lab: made, and brought up.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// Makes a veth pair: `near` here, `far` in the network namespace of the process `peer_pid`.
///
/// # Errors
/// The kernel's answer.
pub fn make_veth(near: &str, far: &str, peer_pid: u32) -> io::Result<()> {
    let mut peer = LinkMessage::default();
    peer.attributes = vec![LinkAttribute::IfName(far.into()), LinkAttribute::NetNsPid(peer_pid)];
    let mut link = LinkMessage::default();
    link.attributes = vec![
        LinkAttribute::IfName(near.into()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]),
    ];
    change(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
}

/// Brings an interface up and stops IPv6 from sending frames of its own on it.
///
/// # Errors
/// No such interface, or the kernel's answer.
pub fn bring_up(interface: &str) -> io::Result<()> {
    let quiet = format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6");
    if interface != "lo" && std::path::Path::new(&quiet).exists() {
        std::fs::write(&quiet, "1")?;
    }
    let mut link = LinkMessage::default();
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    link.attributes = vec![LinkAttribute::IfName(interface.into())];
    change(RouteNetlinkMessage::SetLink(link), 0)
}

fn change(message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut packet = NetlinkMessage::from(message);
    packet.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    packet.finalize();
    let mut bytes = vec![0; packet.buffer_len()];
    packet.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    match NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?.payload {
        NetlinkPayload::Error(e) if e.code.is_some() => Err(e.to_io()),
        _ => Ok(()),
    }
}
