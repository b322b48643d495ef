//! What the driver of an interface can do with XDP, as generic netlink tells.

use std::io;

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};

// linux/netlink.h, linux/genetlink.h, linux/netdev.h.
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XDP_FEATURES: u16 = 3;
const NDO_XMIT: u64 = 1 << 2;
/// Bytes of struct nlmsghdr and struct genlmsghdr.
const HEADERS: usize = 20;
const ATTRIBUTE: usize = 4;

/// Whether an interface takes frames that XDP programs send off now; a veth end does while the other end
/// has a program or GRO. None where the kernel does not tell (before Linux 6.3).
///
/// # Errors
/// There is no such interface, or the kernel does not answer.
pub fn takes_frames_of_programs(index: u32) -> io::Result<Option<bool>> {
    let socket = Socket::new(NETLINK_GENERIC)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let family = match ask(&socket, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, b"netdev\0") {
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
        answer => attribute(&answer?, CTRL_ATTR_FAMILY_ID).and_then(|v| v.first_chunk().copied()),
    };
    let Some(family) = family.map(u16::from_ne_bytes) else { return Ok(None) };
    let answer = ask(&socket, family, NETDEV_CMD_DEV_GET, NETDEV_A_DEV_IFINDEX, &index.to_ne_bytes())?;
    let features = attribute(&answer, NETDEV_A_DEV_XDP_FEATURES).and_then(|v| v.first_chunk().copied());
    Ok(features.map(|features| u64::from_ne_bytes(features) & NDO_XMIT != 0))
}

/// One request with one attribute; the kernel's answer, or its error.
fn ask(socket: &Socket, kind: u16, command: u8, attribute: u16, value: &[u8]) -> io::Result<Vec<u8>> {
    let mut request = vec![0; HEADERS];
    request[4..6].copy_from_slice(&kind.to_ne_bytes());
    request[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    request[16..18].copy_from_slice(&[command, 1]);
    request.extend(((ATTRIBUTE + value.len()) as u16).to_ne_bytes());
    request.extend(attribute.to_ne_bytes());
    request.extend(value);
    request.resize(request.len().next_multiple_of(4), 0);
    let length = request.len() as u32;
    request[..4].copy_from_slice(&length.to_ne_bytes());
    socket.send(&request, 0)?;
    // The kernel answers within the call that asks.
    let (answer, _) = socket.recv_from_full()?;
    let u16_at = |at: usize| answer.get(at..).and_then(|b| b.first_chunk().copied()).map(u16::from_ne_bytes);
    if u16_at(4) != Some(NLMSG_ERROR) {
        return Ok(answer);
    }
    let code = answer.get(16..).and_then(|b| b.first_chunk().copied()).map_or(0, i32::from_ne_bytes);
    Err(io::Error::from_raw_os_error(-code))
}

/// The value of an attribute of the first message.
fn attribute(message: &[u8], wanted: u16) -> Option<&[u8]> {
    let end = u32::from_ne_bytes(*message.first_chunk()?) as usize;
    let mut rest = message.get(HEADERS..end)?;
    loop {
        let [a, b, c, d] = *rest.first_chunk()?;
        let (length, kind) = (usize::from(u16::from_ne_bytes([a, b])), u16::from_ne_bytes([c, d]));
        let value = rest.get(ATTRIBUTE..length)?;
        if kind == wanted {
            return Some(value);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::interface::Interface;
    use crate::nic::link::make_veth;
    use crate::nic::namespace::inside;

    #[test]
    fn a_veth_end_takes_frames_of_programs_only_while_the_other_end_can() {
        inside(
            "nic::features::tests::a_veth_end_takes_frames_of_programs_only_while_the_other_end_can",
            || {
                make_veth("ft0", "ft1", std::process::id()).expect("veth");
                let index = Interface::find("ft0").expect("near end").index;
                assert_eq!(takes_frames_of_programs(index).expect("answer"), Some(false));
                assert_eq!(
                    takes_frames_of_programs(9999).expect_err("absent").raw_os_error(),
                    Some(libc::ENODEV)
                );
            },
        );
    }

    #[test]
    fn a_damaged_answer_has_no_attribute() {
        let mut message = vec![0; HEADERS];
        message.extend([8, 0, 1, 0, 7, 0, 0, 0, 12, 0, 3, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
        message[0] = message.len() as u8;
        assert_eq!(attribute(&message, 3), Some(&[5, 0, 0, 0, 0, 0, 0, 0][..]));
        assert_eq!(attribute(&message, 1), Some(&[7, 0, 0, 0][..]));
        assert_eq!(attribute(&message, 9), None);
        for cut in 0..message.len() {
            assert_eq!(attribute(&message[..cut], 3), None);
        }
        message[HEADERS] = 0;
        assert_eq!(attribute(&message, 3), None, "an attribute without length");
    }
}
