//! Which capabilities a refused call lacked.

use std::fs;
use std::io;

use super::error::XdpError;

/// A capability that AF_XDP needs (capabilities(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// To open the socket.
    NetRaw,
    /// To attach a program to an interface.
    NetAdmin,
    /// To make maps and programs; CAP_SYS_ADMIN includes it.
    Bpf,
}

impl Capability {
    const fn bit(self) -> u32 {
        match self {
            Self::NetAdmin => 12,
            Self::NetRaw => 13,
            Self::Bpf => 39,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::Bpf => "CAP_BPF",
        }
    }
}

const SYS_ADMIN: u32 = 21;

/// Maps and programs belong to no namespace: rights in a user namespace do not count for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    effective: u64,
    in_first_namespace: bool,
}

impl Rights {
    /// Of this thread. What cannot be read counts as no rights.
    #[must_use]
    pub fn here() -> Self {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        Self::parse(&status, &map)
    }

    fn parse(status: &str, uid_map: &str) -> Self {
        let effective = status
            .lines()
            .find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok())
            .unwrap_or_default();
        let all = u32::MAX.to_string();
        let in_first_namespace = uid_map.split_whitespace().eq(["0", "0", all.as_str()]);
        Self { effective, in_first_namespace }
    }

    /// Those of `wanted` that lack, by name; with `anywhere`, rights in a user namespace count.
    #[must_use]
    pub fn lacking(&self, wanted: &[Capability], anywhere: bool) -> Vec<&'static str> {
        let held = |bit: u32| (anywhere || self.in_first_namespace) && self.effective & (1 << bit) != 0;
        let has = |want: Capability| held(want.bit()) || (want == Capability::Bpf && held(SYS_ADMIN));
        wanted.iter().filter(|want| !has(**want)).map(|want| want.name()).collect()
    }
}

/// Explains a refused socket, which counts rights of the network namespace's own user namespace.
#[must_use]
pub fn no_socket() -> XdpError {
    let lacking = Rights::here().lacking(&[Capability::NetRaw], true);
    XdpError::Forbidden {
        what: "open an AF_XDP socket",
        missing: named(&lacking),
        place: "this network namespace",
        next: "Run as root, inside `unshare -Urn`, or give it by `setcap cap_net_raw+ep`",
    }
}

/// Explains a refused map, program or attachment; other errors come back as they are.
///
/// # Errors
/// `source` is no refusal for want of rights.
pub fn no_program(what: &'static str, source: io::Error) -> Result<XdpError, io::Error> {
    if !matches!(source.raw_os_error(), Some(libc::EPERM | libc::EACCES)) {
        return Err(source);
    }
    let lacking = Rights::here().lacking(&[Capability::Bpf, Capability::NetAdmin], false);
    Ok(XdpError::Forbidden {
        what,
        missing: named(&lacking),
        place: "the first user namespace",
        next: "Receiving by AF_XDP needs a program in the kernel: run as root and not inside `unshare -U`, \
               or give the rights by `setcap cap_bpf,cap_net_admin,cap_net_raw+ep`",
    })
}

fn named(lacking: &[&str]) -> String {
    match lacking {
        [] => "the kernel forbids it (a security module or a seccomp filter?)".to_owned(),
        [one] => format!("the capability {one} lacks"),
        more => format!("the capabilities {} lack", more.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "         0          0 4294967295\n";

    #[test]
    fn lacking_rights_are_named_and_rights_in_a_user_namespace_do_not_count_for_programs() {
        use Capability::{Bpf, NetAdmin, NetRaw};
        let status = |bits: u64| format!("Name:\tx\nCapEff:\t{bits:016x}\n");
        let raw = Rights::parse(&status(1 << 13), FIRST);
        assert_eq!(raw.lacking(&[NetRaw, NetAdmin, Bpf], false), ["CAP_NET_ADMIN", "CAP_BPF"]);
        let admin = Rights::parse(&status(1 << 21 | 1 << 12), FIRST);
        assert_eq!(
            admin.lacking(&[NetAdmin, Bpf], false),
            Vec::<&str>::new(),
            "CAP_SYS_ADMIN includes CAP_BPF"
        );
        let inside = Rights::parse(&status(u64::MAX), "0 1000 1\n");
        assert_eq!(inside.lacking(&[NetAdmin, Bpf], false), ["CAP_NET_ADMIN", "CAP_BPF"]);
        assert_eq!(inside.lacking(&[NetRaw], true), Vec::<&str>::new());
        assert_eq!(Rights::parse("", "").lacking(&[NetRaw], true), ["CAP_NET_RAW"]);
    }
}
