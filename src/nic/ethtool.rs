//! The door to a port's driver: SIOCETHTOOL requests by name of the interface.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// ETHTOOL_GDRVINFO and the length of its structure (linux/ethtool.h); the driver's name stands at 4.
const GDRVINFO: (u32, usize) = (0x03, 196);
/// ETHTOOL_GFLAGS answers a `struct ethtool_value`: command and flags.
const GFLAGS: u32 = 0x25;
const FLAG_NTUPLE: u32 = 1 << 27;
/// ETHTOOL_GCHANNELS answers nine numbers; receive channels stand fifth, combined ones eighth.
const GCHANNELS: (u32, usize) = (0x3c, 36);

/// A socket for requests to the driver of one interface of this network namespace.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
    request: libc::ifreq,
}

impl Ethtool {
    /// # Errors
    /// No interface can have such a name (ENODEV), or the process may make no sockets.
    pub fn open(interface: &str) -> io::Result<Self> {
        let fits = !interface.is_empty() && interface.len() < libc::IFNAMSIZ;
        if !fits || interface.bytes().any(|byte| byte == 0 || byte == b'/') {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        // SAFETY: a plain system call.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and is nobody else's; an all-zero request is valid.
        let (socket, mut request) = unsafe { (OwnedFd::from_raw_fd(fd), std::mem::zeroed::<libc::ifreq>()) };
        for (slot, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
            *slot = byte as libc::c_char;
        }
        Ok(Self { socket, request })
    }

    /// Hands over one structure, which begins with its command, and takes the driver's answer in its
    /// place. `structure` is as long as that command's structure, with all that its own count asks for.
    ///
    /// # Errors
    /// What the driver or the kernel answered, as an OS error.
    pub fn call(&self, structure: &mut [u8]) -> io::Result<()> {
        let mut request = self.request;
        request.ifr_ifru.ifru_data = structure.as_mut_ptr().cast();
        // SAFETY: `structure` is whole, writable and outlives the call, as the caller is held to above.
        let code =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &mut request) };
        if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Name of the driver, such as `ice`.
    ///
    /// # Errors
    /// The interface is not there, or has no driver that says its name.
    pub fn driver(&self) -> io::Result<String> {
        let mut structure = asked(GDRVINFO.0, GDRVINFO.1);
        self.call(&mut structure)?;
        let name = structure[4..36].split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(name).into_owned())
    }

    /// Whether the feature `ntuple`, without which many drivers take no flow rules, is on.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn ntuple(&self) -> io::Result<bool> {
        let mut structure = asked(GFLAGS, 8);
        self.call(&mut structure)?;
        Ok(word(&structure, 4) & FLAG_NTUPLE != 0)
    }

    /// Receive queues in use, combined ones included; None where the driver does not tell.
    #[must_use]
    pub fn receive_queues(&self) -> Option<u32> {
        let mut structure = asked(GCHANNELS.0, GCHANNELS.1);
        self.call(&mut structure).ok()?;
        Some(word(&structure, 20) + word(&structure, 32)).filter(|queues| *queues > 0)
    }
}

fn asked(command: u32, length: usize) -> Vec<u8> {
    let mut structure = vec![0; length];
    structure[..4].copy_from_slice(&command.to_ne_bytes());
    structure
}

fn word(structure: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([structure[at], structure[at + 1], structure[at + 2], structure[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_interface_and_an_impossible_name_are_both_enodev() {
        for name in ["nosuch0", "", "a/b", "a-name-far-over-the-limit"] {
            let error = Ethtool::open(name).and_then(|door| door.driver()).expect_err(name);
            assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{name}");
        }
    }

    #[test]
    fn loopback_has_no_flow_rules_to_switch_on() {
        let door = Ethtool::open("lo").expect("lo");
        assert!(!door.ntuple().expect("every interface has flags"));
        assert_eq!(door.receive_queues(), None);
    }
}
