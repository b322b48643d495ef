//! What a job's init hands to its agent, as one block of plain bytes.

/// Why the job came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Ending {
    /// The main process ended by itself; `status` has how.
    Own = 1,
    TimedOut = 2,
    Stopped = 3,
    /// The kernel refused another process; `code` is the errno.
    ForkFailed = 4,
}

/// Step of the start that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Stage {
    None = 0,
    Streams = 1,
    Folder = 2,
    Exec = 3,
    Processors = 4,
}

/// Only plain integers: it crosses a pipe between two processes of the same binary.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Verdict {
    pub ending: u32,
    /// `Stage` at which the start failed, 0 when the program ran.
    pub stage: u32,
    /// errno of that failure.
    pub code: i32,
    /// As wait4 gives it.
    pub status: i32,
    pub wall_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    pub peak_kib: u64,
    /// Largest resident set that the launcher itself had: the kernel counts it as the program's.
    pub floor_kib: u64,
    pub rchar: u64,
    pub wchar: u64,
    pub io_known: u32,
    pub left_behind: u32,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub instructions: u64,
    pub system_calls: u64,
    pub instructions_known: u32,
    pub system_calls_known: u32,
}

impl Verdict {
    /// None when the bytes are not exactly one verdict.
    pub fn from_bytes(bytes: &[u8]) -> Option<Verdict> {
        if bytes.len() != size_of::<Verdict>() {
            return None;
        }
        // SAFETY: the length was checked, every bit pattern is a valid integer, and no alignment is assumed.
        Some(unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })
    }

    /// Peak memory in bytes, or None where the launcher's own memory may be what was seen. The kernel
    /// counts resident pages per CPU and sums them lazily, hence the slack.
    pub fn peak_rss_bytes(&self) -> Option<u64> {
        const SLACK_KIB: u64 = 256;
        (self.peak_kib > self.floor_kib + SLACK_KIB).then(|| self.peak_kib * 1024)
    }
}

/// `rchar` and `wchar` out of the text of `/proc/PID/io`, without allocating.
pub fn parse_io(text: &[u8]) -> Option<(u64, u64)> {
    let mut values = text.split(|b| *b == b'\n').map(|line| {
        let digits = line.split(|b| *b == b' ').nth(1)?;
        digits.iter().try_fold(0u64, |n, d| {
            let digit = d.is_ascii_digit().then(|| u64::from(d - b'0'))?;
            n.checked_mul(10)?.checked_add(digit)
        })
    });
    Some((values.next()??, values.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_text_gives_the_characters_passed_not_the_blocks() {
        let text = b"rchar: 4292\nwchar: 17\nsyscr: 13\nsyscw: 1\nread_bytes: 0\n";
        assert_eq!(parse_io(text), Some((4292, 17)));
        assert_eq!(parse_io(b"rchar: x\nwchar: 1\n"), None);
        assert_eq!(parse_io(b""), None);
    }

    #[test]
    fn memory_of_the_launcher_is_never_passed_off_as_the_programs() {
        let verdict = |peak_kib, floor_kib| Verdict { peak_kib, floor_kib, ..Verdict::default() };
        assert_eq!(verdict(3000, 3000).peak_rss_bytes(), None);
        assert_eq!(verdict(3100, 3000).peak_rss_bytes(), None);
        assert_eq!(verdict(9000, 3000).peak_rss_bytes(), Some(9000 * 1024));
    }
}
