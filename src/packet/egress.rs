//! What every way out of an interface queue has in common.

use std::io;

use super::frame::Frames;

/// One queue of one interface, as a sending thread sees it. Frames are filled in, then handed over
/// until the kernel has taken them; a frame that it did not take waits with its sequence number.
pub trait Egress: Send {
    /// Fills in frames of `stream` from the sequence number `first` on: at most `count`, and no more
    /// than there is room for. Returns how many, 0 when it has no room.
    fn fill(&mut self, frames: &Frames, stream: u16, first: u64, count: usize) -> usize;

    /// Frames filled in that the kernel has not taken yet.
    fn waiting(&self) -> usize;

    /// Asks the kernel to take what waits, and returns how many frames it has taken since the last
    /// call. Frames are taken in the order in which they were filled in.
    ///
    /// # Errors
    /// ENOBUFS, EAGAIN, EBUSY and EINTR mean that nothing was taken and the same frames go again;
    /// anything else is a refusal.
    fn hand_over(&mut self) -> io::Result<usize>;
}
