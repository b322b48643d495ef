//! An interface of the current network namespace, as the kernel describes it.

use std::io;

use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage, LinkXdp};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::route::Route;

/// Longest name the kernel takes, without the closing zero.
const MOST_NAME_BYTES: usize = libc::IFNAMSIZ - 1;

/// What one RTM_GETLINK answer says of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub index: u32,
    /// None where the interface has no six-byte address.
    pub mac: Option<[u8; 6]>,
    /// Largest layer-3 packet in bytes.
    pub mtu: u32,
    /// Set up by its administrator (IFF_UP).
    pub up: bool,
    /// Up, with carrier, and ready to pass traffic (IFF_RUNNING and IFF_LOWER_UP).
    pub running: bool,
    /// How often the carrier came or went since the interface was made.
    pub carrier_changes: u32,
    /// Identifier of an XDP program that is attached here.
    pub xdp_program: Option<u32>,
}

#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    #[error(
        "no interface {name:?} in this network namespace; expected one of: {there}. \
         `ip link` shows them; inside a namespace use `ip netns exec NAME …`"
    )]
    Missing { name: String, there: String },
    #[error(
        "cannot ask the kernel about interfaces: {source}. A netlink socket (NETLINK_ROUTE) must be allowed"
    )]
    Kernel {
        #[from]
        source: io::Error,
    },
}

impl Interface {
    /// # Errors
    /// No interface of that name here, or the kernel refuses to answer.
    pub fn find(name: &str) -> Result<Self, InterfaceError> {
        if name.is_empty() || name.len() > MOST_NAME_BYTES || name.contains('\0') {
            return Err(missing(name));
        }
        let mut ask = LinkMessage::default();
        ask.attributes.push(LinkAttribute::IfName(name.to_owned()));
        match Route::open()?.get(RouteNetlinkMessage::GetLink(ask)) {
            Ok(Some(RouteNetlinkMessage::NewLink(link))) => Ok(Self::of(&link)),
            Ok(_) => Err(missing(name)),
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => Err(missing(name)),
            Err(e) => Err(e.into()),
        }
    }

    /// All interfaces here, in the kernel's order.
    ///
    /// # Errors
    /// The kernel refuses to answer.
    pub fn list() -> Result<Vec<Self>, InterfaceError> {
        let mut ask = LinkMessage::default();
        ask.header.interface_family = AddressFamily::Unspec;
        let answers = Route::open()?.list(RouteNetlinkMessage::GetLink(ask))?;
        Ok(answers
            .iter()
            .filter_map(|answer| match answer {
                RouteNetlinkMessage::NewLink(link) => Some(Self::of(link)),
                _ => None,
            })
            .collect())
    }

    fn of(link: &LinkMessage) -> Self {
        let flags = link.header.flags;
        let mut found = Self {
            name: String::new(),
            index: link.header.index,
            mac: None,
            mtu: 0,
            up: flags.contains(LinkFlags::Up),
            running: flags.contains(LinkFlags::Up | LinkFlags::Running | LinkFlags::LowerUp),
            carrier_changes: 0,
            xdp_program: None,
        };
        for attribute in &link.attributes {
            match attribute {
                LinkAttribute::IfName(name) => found.name.clone_from(name),
                LinkAttribute::Address(bytes) => found.mac = bytes.as_slice().try_into().ok(),
                LinkAttribute::Mtu(mtu) => found.mtu = *mtu,
                LinkAttribute::CarrierChanges(count) => found.carrier_changes = *count,
                LinkAttribute::Xdp(all) => {
                    found.xdp_program = all.iter().find_map(|each| match each {
                        LinkXdp::ProgId(id) | LinkXdp::DrvProgId(id) | LinkXdp::SkbProgId(id) => Some(*id),
                        _ => None,
                    });
                }
                _ => {}
            }
        }
        found
    }
}

fn missing(name: &str) -> InterfaceError {
    let there = match Interface::list() {
        Ok(all) => all.into_iter().map(|i| i.name).collect::<Vec<_>>().join(", "),
        Err(e) => format!("(unknown: {e})"),
    };
    InterfaceError::Missing { name: name.to_owned(), there }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_found_by_name_and_in_the_list() {
        let lo = Interface::find("lo").expect("every network namespace has lo");
        assert_eq!((lo.index, lo.mac), (1, Some([0; 6])));
        assert!(Interface::list().expect("list").iter().any(|i| i.name == "lo" && i.index == lo.index));
    }

    #[test]
    fn a_missing_interface_is_named_with_those_that_are_there() {
        for name in ["nosuch0", "a-name-far-over-the-limit", "", "nul\0byte"] {
            let text = Interface::find(name).expect_err("missing").to_string();
            assert!(text.contains(&format!("{name:?}")) && text.contains("lo"), "{text}");
        }
    }
}
