//! The two kinds of ring that a socket shares with the kernel: one that we fill and one that we empty.
//!
//! Positions count up and wrap at 2^32; a slot is a position modulo the size, a power of two. Whoever
//! writes entries stores its position with release order, and whoever reads them loads it with acquire.

use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use super::memory::{Memory, Plain};

/// struct xdp_desc: a frame in our memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Descriptor {
    pub address: u64,
    pub length: u32,
    pub options: u32,
}

/// Where the parts of a ring lie in its mapping (struct xdp_ring_offset).
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub producer: usize,
    pub consumer: usize,
    pub entries: usize,
    pub flags: usize,
}

impl Layout {
    /// Bytes to map for a ring of `size` entries.
    #[must_use]
    pub fn bytes<T: Plain>(&self, size: u32) -> usize {
        self.entries + size as usize * size_of::<T>()
    }
}

/// A ring that we fill and the kernel empties.
#[derive(Debug)]
pub struct Filled<T> {
    memory: Memory,
    layout: Layout,
    size: u32,
    /// Our next position; what lies before it and behind the published one is not the kernel's yet.
    next: u32,
    entry: PhantomData<fn(T)>,
}

impl<T: Plain> Filled<T> {
    #[must_use]
    pub fn new(memory: Memory, layout: Layout, size: u32) -> Self {
        let next = memory.word(layout.producer).load(Ordering::Relaxed);
        Self { memory, layout, size, next, entry: PhantomData }
    }

    /// Entries for which there is room.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.size - self.next.wrapping_sub(self.taken())
    }

    /// Adds an entry; there has to be room. The kernel does not see it before `publish`.
    pub fn put(&mut self, entry: T) {
        let slot = (self.next & (self.size - 1)) as usize;
        self.memory.put(self.layout.entries + slot * size_of::<T>(), entry);
        self.next = self.next.wrapping_add(1);
    }

    /// Shows the kernel all entries so far.
    pub fn publish(&mut self) {
        self.memory.word(self.layout.producer).store(self.next, Ordering::Release);
    }

    /// The kernel's position: all entries before it are taken.
    #[must_use]
    pub fn taken(&self) -> u32 {
        self.memory.word(self.layout.consumer).load(Ordering::Acquire)
    }

    /// The kernel looks at this ring again only after a system call.
    #[must_use]
    pub fn needs_wakeup(&self) -> bool {
        self.memory.word(self.layout.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// A ring that the kernel fills and we empty.
#[derive(Debug)]
pub struct Emptied<T> {
    memory: Memory,
    layout: Layout,
    size: u32,
    next: u32,
    entry: PhantomData<fn() -> T>,
}

impl<T: Plain> Emptied<T> {
    #[must_use]
    pub fn new(memory: Memory, layout: Layout, size: u32) -> Self {
        let next = memory.word(layout.consumer).load(Ordering::Relaxed);
        Self { memory, layout, size, next, entry: PhantomData }
    }

    /// Entries that wait for us.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.memory.word(self.layout.producer).load(Ordering::Acquire).wrapping_sub(self.next)
    }

    /// The next entry; one has to wait. Its slot stays ours until `release`.
    pub fn take(&mut self) -> T {
        let slot = (self.next & (self.size - 1)) as usize;
        self.next = self.next.wrapping_add(1);
        self.memory.get(self.layout.entries + slot * size_of::<T>())
    }

    /// Gives the kernel the slots of all entries taken so far.
    pub fn release(&mut self) {
        self.memory.word(self.layout.consumer).store(self.next, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { producer: 0, consumer: 64, entries: 128, flags: 4 };
    const SIZE: u32 = 8;

    /// A ring whose positions are about to wrap.
    fn memory() -> Memory {
        let memory = Memory::anonymous(LAYOUT.bytes::<u64>(SIZE)).expect("a page");
        for at in [LAYOUT.producer, LAYOUT.consumer] {
            memory.word(at).store(u32::MAX - 2, Ordering::Relaxed);
        }
        memory
    }

    #[test]
    fn what_is_put_is_seen_in_order_across_the_wrap_of_positions_once_published() {
        let mut ring = Filled::<u64>::new(memory(), LAYOUT, SIZE);
        (0..u64::from(SIZE)).for_each(|entry| ring.put(entry));
        assert_eq!((ring.room(), ring.memory.word(0).load(Ordering::Relaxed)), (0, u32::MAX - 2));
        ring.publish();
        assert_eq!(ring.memory.word(0).load(Ordering::Relaxed), 5, "wrapped");
        let slot = |position: u32| 128 + (position as usize % 8) * 8;
        let seen = (0..8).map(|i| ring.memory.get::<u64>(slot((u32::MAX - 2).wrapping_add(i))));
        assert!(seen.eq(0..8));
        ring.memory.word(64).store(1, Ordering::Relaxed);
        assert_eq!((ring.room(), ring.taken()), (4, 1), "the kernel took four");
        assert!(!ring.needs_wakeup());
        ring.memory.word(4).store(1, Ordering::Relaxed);
        assert!(ring.needs_wakeup());
    }

    #[test]
    fn what_the_kernel_puts_is_taken_in_order_across_the_wrap_and_given_back_at_once() {
        let mut ring = Emptied::<u64>::new(memory(), LAYOUT, SIZE);
        assert_eq!(ring.waiting(), 0);
        for i in 0..4u32 {
            let position = (u32::MAX - 2).wrapping_add(i);
            ring.memory.put(128 + (position as usize % 8) * 8, u64::from(i) + 70);
        }
        ring.memory.word(0).store(1, Ordering::Release);
        assert_eq!(ring.waiting(), 4);
        assert_eq!([ring.take(), ring.take(), ring.take(), ring.take()], [70, 71, 72, 73]);
        assert_eq!((ring.waiting(), ring.memory.word(64).load(Ordering::Relaxed)), (0, u32::MAX - 2));
        ring.release();
        assert_eq!(ring.memory.word(64).load(Ordering::Relaxed), 1);
    }

    #[test]
    fn memory_is_reached_within_its_bounds_only() {
        let mut memory = Memory::anonymous(4096).expect("a page");
        assert!(memory.bytes(4000, 96).is_some() && memory.bytes(4000, 97).is_none());
        assert!(memory.bytes_mut(usize::MAX, 2).is_none());
        assert!(std::panic::catch_unwind(|| memory.get::<u64>(4092)).is_err());
    }
}
