//! What is asked of an AF_XDP socket, and what the kernel gave.

use clap::ValueEnum;

/// Slots of each ring of a sender where nothing else is asked for: 4 MiB of frames, which fits the
/// memory that an ordinary user may lock.
pub const SENDER_RING: u32 = 2048;
/// Slots of each ring of a receiver: a process that loses its CPU for 60 ms loses no frame at 500,000
/// frames/s.
pub const RECEIVER_RING: u32 = 32_768;
/// Sizes that a ring may have; the kernel wants powers of two.
pub const SMALLEST_RING: u32 = 64;
pub const LARGEST_RING: u32 = 1 << 18;

/// How frames cross between the driver and our memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Copying {
    /// Zero-copy where the driver can, else copy
    #[default]
    Auto,
    /// Each frame is copied once, with any driver
    Copy,
    /// The card reads and writes our memory itself; refused where its driver cannot
    ZeroCopy,
}

/// Where the program that steers frames into a receiver runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Attach {
    /// In the driver where it can, else in the stack
    #[default]
    Auto,
    /// In the driver, before the kernel has made a packet of the frame; refused where it cannot
    Native,
    /// In the stack, with any driver, slower
    Generic,
}

/// What is asked for. `ring` None is `SENDER_RING` or `RECEIVER_RING`, or less where the memory that
/// may be locked is less; a size that was asked for is kept or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct XdpOptions {
    pub copying: Copying,
    /// Receivers only.
    pub attach: Attach,
    /// Slots of each ring, rounded up to a power of two; one frame each.
    pub ring: Option<u32>,
    /// Receivers only: frames carry the card's stamps, or opening is refused.
    pub stamps: bool,
}

/// What the kernel gave, for the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XdpGot {
    pub zero_copy: bool,
    /// The program runs in the driver; None for a sender, which needs no program.
    pub native: Option<bool>,
    /// Slots of each ring.
    pub ring: u32,
}

impl XdpGot {
    /// `copy` or `zero-copy`.
    #[must_use]
    pub fn copying(&self) -> &'static str {
        if self.zero_copy { "zero-copy" } else { "copy" }
    }

    /// `native` or `generic`; None for a sender.
    #[must_use]
    pub fn attach(&self) -> Option<&'static str> {
        self.native.map(|native| if native { "native" } else { "generic" })
    }
}

/// Totals of one socket since it was opened (XDP_STATISTICS). Reading sets nothing back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct XdpStatistics {
    /// Frames dropped because we had given the kernel no memory for them, or they were too long.
    pub rx_dropped: u64,
    pub rx_invalid_descs: u64,
    pub tx_invalid_descs: u64,
    /// Frames dropped because we had not taken the earlier ones.
    pub rx_ring_full: u64,
    /// How often the kernel looked for memory and found none; no number of frames.
    pub rx_fill_ring_empty: u64,
    pub tx_ring_empty: u64,
}

impl XdpStatistics {
    /// Frames that reached the socket and were dropped there. With zero-copy a card that finds no
    /// memory drops before that, and only its own counters tell.
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.rx_dropped + self.rx_ring_full
    }
}
