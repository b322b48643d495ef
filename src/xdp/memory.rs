//! Memory shared with the kernel: mapped, reached within its bounds, and unmapped.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// One mapping, owned.
#[derive(Debug)]
pub struct Memory {
    address: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and to no thread.
unsafe impl Send for Memory {}

impl Memory {
    /// Fresh zeroed memory, page-aligned.
    ///
    /// # Errors
    /// There is not so much.
    pub fn anonymous(bytes: usize) -> io::Result<Self> {
        Self::map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    /// A ring of a socket, at the offset that stands for it.
    ///
    /// # Errors
    /// The socket has no such ring, or one of another length.
    pub fn of_socket(socket: BorrowedFd<'_>, bytes: usize, offset: libc::off_t) -> io::Result<Self> {
        Self::map(bytes, libc::MAP_SHARED, socket.as_raw_fd(), offset)
    }

    fn map(bytes: usize, flags: libc::c_int, fd: libc::c_int, offset: libc::off_t) -> io::Result<Self> {
        // All pages at once: a page fault in the first round of a ring would cost a burst its frames.
        let flags = flags | libc::MAP_POPULATE;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice, kept alive until it is unmapped.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, flags, fd, offset) };
        match NonNull::new(address.cast()) {
            Some(address_of) if address != libc::MAP_FAILED => Ok(Self { address: address_of, bytes }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The address that the kernel is told.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address.as_ptr() as u64
    }

    /// A word that the kernel changes, too. `at` is a multiple of 4 within the mapping.
    #[must_use]
    pub fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.bytes, "no word at {at} of {}", self.bytes);
        // SAFETY: within the mapping and aligned, as just checked; atomic because the kernel shares it.
        unsafe { AtomicU32::from_ptr(self.address.as_ptr().add(at).cast()) }
    }

    /// A value that is now ours to read.
    #[must_use]
    pub fn get<T: Plain>(&self, at: usize) -> T {
        assert!(at + size_of::<T>() <= self.bytes, "nothing at {at} of {}", self.bytes);
        // SAFETY: within the mapping, and any bytes are a value of a plain type.
        unsafe { self.address.as_ptr().add(at).cast::<T>().read_unaligned() }
    }

    /// Writes a value where it is now ours to write.
    pub fn put<T: Plain>(&mut self, at: usize, value: T) {
        assert!(at + size_of::<T>() <= self.bytes, "nothing at {at} of {}", self.bytes);
        // SAFETY: within the mapping.
        unsafe { self.address.as_ptr().add(at).cast::<T>().write_unaligned(value) }
    }

    /// Bytes that the kernel has handed to us; None where that is not within the mapping.
    #[must_use]
    pub fn bytes(&self, at: usize, length: usize) -> Option<&[u8]> {
        let fits = at.checked_add(length).is_some_and(|end| end <= self.bytes);
        // SAFETY: within the mapping; the kernel leaves memory alone that it has handed over.
        fits.then(|| unsafe { std::slice::from_raw_parts(self.address.as_ptr().add(at), length) })
    }

    /// Bytes that the kernel has given back, to be written; None where that is not within the mapping.
    #[must_use]
    pub fn bytes_mut(&mut self, at: usize, length: usize) -> Option<&mut [u8]> {
        let fits = at.checked_add(length).is_some_and(|end| end <= self.bytes);
        // SAFETY: within the mapping; the kernel leaves memory alone that it has given back.
        fits.then(|| unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr().add(at), length) })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`, which nothing borrows any more.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.bytes) };
    }
}

/// Types of which any bytes are a value.
///
/// # Safety
/// No padding and no invalid value.
pub unsafe trait Plain: Copy {}

// SAFETY: integers.
unsafe impl Plain for u64 {}
// SAFETY: three integers without padding: 8, 4 and 4 bytes.
unsafe impl Plain for super::ring::Descriptor {}
