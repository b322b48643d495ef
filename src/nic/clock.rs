//! The kernel's clocks in nanoseconds.

/// Nanoseconds of CLOCK_MONOTONIC, which no clock setting moves.
#[must_use]
pub fn monotonic_ns() -> u64 {
    now_ns(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds since 1970 by CLOCK_REALTIME, the clock of the kernel's software packet stamps.
#[must_use]
pub fn realtime_ns() -> u64 {
    now_ns(libc::CLOCK_REALTIME)
}

/// CLOCK_REALTIME minus CLOCK_MONOTONIC in nanoseconds. Two of these that differ by more than a
/// few microseconds per second mean that somebody set the clock in between.
#[must_use]
pub fn realtime_offset_ns() -> i128 {
    let before = monotonic_ns();
    let real = realtime_ns();
    let after = monotonic_ns();
    i128::from(real) - (i128::from(before) + i128::from(after)) / 2
}

/// Sleeps until `at_ns` of CLOCK_MONOTONIC; a signal only restarts the wait.
pub fn sleep_until_ns(at_ns: u64) {
    let at = libc::timespec {
        tv_sec: libc::time_t::try_from(at_ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: (at_ns % 1_000_000_000) as libc::c_long,
    };
    loop {
        // SAFETY: `at` outlives the call, and an absolute sleep writes no remaining time.
        let code = unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &at, std::ptr::null_mut())
        };
        if code != libc::EINTR {
            return;
        }
    }
}

fn now_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec; both clocks exist on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_after_its_instant_and_the_clock_never_goes_back() {
        let start = monotonic_ns();
        sleep_until_ns(start + 2_000_000);
        let end = monotonic_ns();
        assert!(end >= start + 2_000_000, "{start} {end}");
        sleep_until_ns(start);
        assert!(monotonic_ns() >= end);
    }
}
