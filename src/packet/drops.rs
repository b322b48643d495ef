//! The kernel's count of what a packet socket was offered and had no room for.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::socket::PACKET_STATISTICS;

/// Kept as totals. `packets` includes `drops`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    pub packets: u64,
    /// Frames for which the ring or the receive buffer had no room.
    pub drops: u64,
}

impl Statistics {
    /// Adds what the kernel counted since the last read, which sets its counts back to zero. To be
    /// called at least once in 2^32 frames.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn read(&mut self, socket: &impl AsFd) -> io::Result<()> {
        // struct tpacket_stats, or tpacket_stats_v3 with a count of freezes.
        let mut counts = [0u32; 3];
        let mut length = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the descriptor is open, and pointer and length describe `counts`.
        let code = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_PACKET,
                PACKET_STATISTICS,
                counts.as_mut_ptr().cast(),
                &mut length,
            )
        };
        if code != 0 {
            return Err(io::Error::last_os_error());
        }
        self.add(counts[0], counts[1]);
        Ok(())
    }

    fn add(&mut self, packets: u32, drops: u32) {
        self.packets += u64::from(packets);
        self.drops += u64::from(drops);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p01_every_read_of_the_statistics_is_added() {
        let mut total = Statistics::default();
        for (packets, drops) in [(1000, 980), (0, 0), (5, 0)] {
            total.add(packets, drops);
        }
        assert_eq!(total, Statistics { packets: 1005, drops: 980 });
    }

    #[test]
    fn p02_the_kernels_packets_include_its_drops() {
        let mut total = Statistics::default();
        total.add(1000, 980);
        assert_eq!(total.packets - total.drops, 20, "the frames that were read");
    }
}
