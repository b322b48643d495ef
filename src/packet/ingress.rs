//! What every way in from an interface queue has in common.

use std::io;
use std::os::fd::BorrowedFd;

/// A received frame, valid during the call that shows it.
#[derive(Debug, Clone, Copy)]
pub struct Arrived<'a> {
    pub bytes: &'a [u8],
    /// Nanoseconds of the stamp's clock (CLOCK_REALTIME unless the card stamps); None where this frame
    /// carries no stamp.
    pub at_ns: Option<u64>,
}

/// What stamps of received frames are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamps {
    None,
    /// The kernel's or the program's, whichever the way in has.
    Software,
    /// The card's; a frame that it did not stamp has none.
    Hardware,
}

/// Who stamps received frames. Only `Hardware` may be called that in any output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampSource {
    /// The card, when the frame came off the wire.
    Hardware,
    /// The kernel, when its driver handed the frame on.
    Kernel,
    /// The receiving program, when it took a batch.
    Program,
}

/// One queue (or all queues) of one interface, as a receiving thread sees it.
pub trait Ingress: Send {
    /// Shows every frame of the next batch that has arrived, gives their memory back to the kernel, and
    /// returns how many there were; None when nothing was there.
    ///
    /// # Errors
    /// The kernel refuses to go on.
    fn take(&mut self, see: &mut dyn FnMut(Arrived<'_>)) -> io::Result<Option<usize>>;

    /// Becomes readable when something arrives.
    fn poll_fd(&self) -> BorrowedFd<'_>;

    /// Frames that the kernel had for us and dropped, as a total since the start. Reading some of the
    /// kernel's counts sets them back to zero: the total is kept here.
    ///
    /// # Errors
    /// The kernel refuses.
    fn drops(&mut self) -> io::Result<u64>;

    /// How long a program should look again before it sleeps in poll; zero where a wake-up costs the
    /// sender nothing. On AF_XDP every wake-up is paid by the sender's CPU.
    fn spin_ns(&self) -> u64 {
        0
    }

    fn stamps(&self) -> StampSource;
}
