//! Input files that the page cache holds wholly or not at all when a program starts.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::model::job::PageCache;
use crate::model::observed::Residency;

/// `cachestat(2)`, of Linux 6.5; the C library has no name for it yet, and the number is the same everywhere.
const SYS_CACHESTAT: libc::c_long = 451;
/// A page may be pinned for a moment by whoever reads beside us.
const TRIES: u32 = 3;
const TMPFS_MAGIC: i64 = 0x0102_1994;
const RAMFS_MAGIC: i64 = 0x8584_58f6;

/// Brings the cached state about, and proves it by asking the kernel.
///
/// # Errors
/// A sentence with the file, and what the kernel told of it.
pub fn prepare(paths: &[&Path], asked: PageCache) -> Result<Residency, String> {
    let mut all = Residency { asked, pages: 0, resident: 0 };
    for path in paths {
        let failed = |e: io::Error| format!("page cache: {}: {e}", path.display());
        let mut file = File::open(path).map_err(failed)?;
        let pages = file.metadata().map_err(failed)?.len().div_ceil(page_bytes());
        if asked == PageCache::Cold && lives_in_memory(&file).map_err(failed)? {
            return Err(format!(
                "cache: cold is impossible for {}: its file system keeps files in memory only; \
                 put it on a disk, or ask for `warm`",
                path.display()
            ));
        }
        let mut resident = 0;
        for _ in 0..TRIES {
            match asked {
                PageCache::Cold => drop_pages(&file).map_err(failed)?,
                PageCache::Warm => read_through(&mut file).map_err(failed)?,
            }
            resident = resident_pages(&file, pages).map_err(failed)?;
            if reached(asked, pages, resident) {
                break;
            }
        }
        if !reached(asked, pages, resident) {
            let word = if asked == PageCache::Cold { "cold" } else { "warm" };
            return Err(format!(
                "cache: {} could not be made {word}: {resident} of its {pages} pages are in the page cache",
                path.display()
            ));
        }
        all.pages += pages;
        all.resident += resident;
    }
    Ok(all)
}

fn reached(asked: PageCache, pages: u64, resident: u64) -> bool {
    match asked {
        PageCache::Cold => resident == 0,
        PageCache::Warm => resident >= pages,
    }
}

fn drop_pages(file: &File) -> io::Result<()> {
    // Pages that are not on the disk yet cannot be dropped.
    file.sync_all()?;
    // SAFETY: plain system call on a descriptor that we own; length 0 is the whole file.
    match unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

fn read_through(file: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    io::Seek::rewind(file)?;
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}

/// By `cachestat`, or by `mincore` where the kernel is older.
fn resident_pages(file: &File, pages: u64) -> io::Result<u64> {
    if pages == 0 {
        return Ok(0);
    }
    let range = [0u64, u64::MAX];
    let mut found = [0u64; 5];
    // SAFETY: both buffers are local and of the sizes that the kernel reads and writes.
    let status =
        unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range.as_ptr(), found.as_mut_ptr(), 0) };
    if status == 0 {
        return Ok(found[0]);
    }
    match io::Error::last_os_error() {
        e if e.raw_os_error() == Some(libc::ENOSYS) => mapped_pages(file, pages),
        e => Err(e),
    }
}

fn mapped_pages(file: &File, pages: u64) -> io::Result<u64> {
    let length = (pages * page_bytes()) as usize;
    let mut states = vec![0u8; pages as usize];
    // SAFETY: a mapping of our own that nothing reads, asked about over its whole length and then removed.
    unsafe {
        let memory =
            libc::mmap(std::ptr::null_mut(), length, libc::PROT_NONE, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let status = libc::mincore(memory, length, states.as_mut_ptr());
        let error = io::Error::last_os_error();
        libc::munmap(memory, length);
        if status != 0 {
            return Err(error);
        }
    }
    Ok(states.iter().filter(|state| **state & 1 == 1).count() as u64)
}

fn lives_in_memory(file: &File) -> io::Result<bool> {
    // SAFETY: a zeroed `statfs` is plain memory that the kernel fills.
    unsafe {
        let mut found: libc::statfs = std::mem::zeroed();
        if libc::fstatfs(file.as_raw_fd(), &mut found) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok([TMPFS_MAGIC, RAMFS_MAGIC].contains(&(found.f_type as i64)))
    }
}

fn page_bytes() -> u64 {
    // SAFETY: always succeeds.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_asking_see_a_file_become_cold_and_warm() {
        // Beside the sources, for a temporary folder may be in memory.
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = place.path().join("input");
        std::fs::write(&path, vec![7; 40 * 4096 + 1]).unwrap();
        let file = File::open(&path).unwrap();
        if lives_in_memory(&file).unwrap() {
            return;
        }
        let cold = prepare(&[&path], PageCache::Cold).unwrap();
        assert_eq!((cold.pages, cold.resident), (41, 0));
        assert_eq!(mapped_pages(&file, 41).unwrap(), 0);
        let warm = prepare(&[&path], PageCache::Warm).unwrap();
        assert_eq!((warm.pages, warm.resident), (41, 41));
        assert_eq!(mapped_pages(&file, 41).unwrap(), 41);
    }

    #[test]
    fn files_in_memory_cannot_be_cold() {
        let Ok(place) = tempfile::tempdir_in("/dev/shm") else { return };
        let path = place.path().join("input");
        std::fs::write(&path, "x").unwrap();
        let error = prepare(&[&path], PageCache::Cold).unwrap_err();
        assert!(error.contains("keeps files in memory only"), "{error}");
        assert!(prepare(&[&path], PageCache::Warm).is_ok());
    }
}
