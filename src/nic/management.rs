//! The interfaces that carry management traffic, which no test may touch.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Interfaces of the ssh connection's local address and of all default routes; None when neither
/// could be read.
pub fn interfaces(ssh_connection: &str) -> Option<Vec<String>> {
    let v4 = fs::read_to_string("/proc/net/route").ok();
    let v6 = fs::read_to_string("/proc/net/ipv6_route").ok();
    if v4.is_none() && v6.is_none() {
        return None;
    }
    let mut found: BTreeSet<String> =
        default_routes(v4.as_deref().unwrap_or(""), v6.as_deref().unwrap_or(""));
    if let Some(local) = local_address(ssh_connection) {
        found.extend(addresses().into_iter().filter(|(_, address)| *address == local).map(|(name, _)| name));
    }
    Some(with_lower(found, Path::new("/sys/class/net")).into_iter().collect())
}

/// A bridge, bond or VLAN stands on other interfaces, and these carry it.
fn with_lower(found: BTreeSet<String>, net: &Path) -> BTreeSet<String> {
    let mut all = found.clone();
    let mut open: Vec<String> = found.into_iter().collect();
    while let Some(name) = open.pop() {
        let entries = fs::read_dir(net.join(&name)).into_iter().flatten().flatten();
        let lower = entries.filter_map(|e| Some(e.file_name().to_str()?.strip_prefix("lower_")?.to_owned()));
        open.extend(lower.filter(|name| all.insert(name.clone())));
    }
    all
}

/// Third word of SSH_CONNECTION: the address on this host that the client reached.
fn local_address(ssh_connection: &str) -> Option<IpAddr> {
    let word = ssh_connection.split_whitespace().nth(2)?;
    // A link-local address carries its interface after a percent sign.
    let address: IpAddr = word.split('%').next()?.parse().ok()?;
    Some(address.to_canonical())
}

fn default_routes(v4: &str, v6: &str) -> BTreeSet<String> {
    let v4 = v4.lines().skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, destination, mask) = (words.first()?, words.get(1)?, words.get(7)?);
        (*destination == "00000000" && *mask == "00000000").then(|| (*name).to_owned())
    });
    let v6 = v6.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (destination, prefix, name) = (words.first()?, words.get(1)?, words.last()?);
        // The kernel lists an unreachable default on the loopback in every namespace.
        (destination.bytes().all(|b| b == b'0') && *prefix == "00" && *name != "lo")
            .then(|| (*name).to_owned())
    });
    v4.chain(v6).collect()
}

fn addresses() -> Vec<(String, IpAddr)> {
    let mut found = vec![];
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the list is made by getifaddrs, walked along its own links, and freed once.
    unsafe {
        if libc::getifaddrs(&mut list) != 0 {
            return found;
        }
        let mut at = list;
        while !at.is_null() {
            let entry = &*at;
            if let Some(address) = address_of(entry.ifa_addr) {
                found.push((CStr::from_ptr(entry.ifa_name).to_string_lossy().into_owned(), address));
            }
            at = entry.ifa_next;
        }
        libc::freeifaddrs(list);
    }
    found
}

/// # Safety
/// `address` is null or points to a socket address as long as its family says.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: the family tells which structure it is.
    unsafe {
        match i32::from((*address).sa_family) {
            libc::AF_INET => {
                let v4 = &*address.cast::<libc::sockaddr_in>();
                Some(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let v6 = &*address.cast::<libc::sockaddr_in6>();
                Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_with_a_default_route_are_found_and_others_are_not() {
        let v4 = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                  eno1\t00000000\t010011AC\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
                  ens2\t000011AC\t00000000\t0001\t0\t0\t100\t0000FFFF\t0\t0\t0\n";
        let v6 = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eno2\n\
                  00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n";
        assert_eq!(default_routes(v4, v6).into_iter().collect::<Vec<_>>(), ["eno1", "eno2"]);
    }

    #[test]
    fn what_carries_a_bridge_carries_ssh_too() {
        let net = tempfile::tempdir().unwrap();
        for folder in
            ["br0/lower_bond0", "bond0/lower_eth0", "bond0/lower_eth1", "eth0/upper_bond0", "eth2/queues"]
        {
            fs::create_dir_all(net.path().join(folder)).unwrap();
        }
        let all = with_lower(BTreeSet::from(["br0".to_owned()]), net.path());
        assert_eq!(all.into_iter().collect::<Vec<_>>(), ["bond0", "br0", "eth0", "eth1"]);
    }

    #[test]
    fn the_interface_that_carries_ssh_is_found_by_its_address() {
        assert_eq!(local_address("198.18.0.1 50000 198.18.0.11 22"), Some("198.18.0.11".parse().unwrap()));
        assert_eq!(local_address("::1 50000 ::ffff:127.0.0.1 22"), Some("127.0.0.1".parse().unwrap()));
        assert_eq!(local_address(""), None);
        assert!(interfaces("127.0.0.1 1 127.0.0.1 22").unwrap().contains(&"lo".to_owned()));
    }
}
