//! The kernel's 64-bit counters of one interface, each reading with its own instant.

use std::io;

use super::clock::monotonic_ns;
use super::interface::{Interface, InterfaceError};
use super::route::Route;

/// Counters since the interface was made or its driver reset them; they may go backward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    pub rx_packets: u64,
    pub tx_packets: u64,
    /// Layer-2 bytes without FCS on most drivers.
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_errors: u64,
    pub tx_errors: u64,
    /// Also counts frames that no socket listens for; never call it cable loss.
    pub rx_dropped: u64,
    pub tx_dropped: u64,
    /// The rest of what the kernel keeps for every interface, as `NAMES` from the ninth on has it.
    pub others: [u64; OTHERS],
}

/// Counters of struct rtnl_link_stats64 after the eight that have fields of their own.
pub const OTHERS: usize = 17;
/// All counters in the kernel's order (struct rtnl_link_stats64 of linux/if_link.h).
pub const NAMES: [&str; WANTED + OTHERS] = [
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "multicast",
    "collisions",
    "rx_length_errors",
    "rx_over_errors",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_fifo_errors",
    "rx_missed_errors",
    "tx_aborted_errors",
    "tx_carrier_errors",
    "tx_fifo_errors",
    "tx_heartbeat_errors",
    "tx_window_errors",
    "rx_compressed",
    "tx_compressed",
    "rx_nohandler",
    "rx_otherhost_dropped",
];

impl Counters {
    /// From values in the order of `NAMES`.
    #[must_use]
    pub fn of(values: [u64; WANTED + OTHERS]) -> Self {
        let [
            rx_packets,
            tx_packets,
            rx_bytes,
            tx_bytes,
            rx_errors,
            tx_errors,
            rx_dropped,
            tx_dropped,
            others @ ..,
        ] = values;
        Self {
            rx_packets,
            tx_packets,
            rx_bytes,
            tx_bytes,
            rx_errors,
            tx_errors,
            rx_dropped,
            tx_dropped,
            others,
        }
    }

    /// Values in the order of `NAMES`.
    #[must_use]
    pub fn values(&self) -> [u64; WANTED + OTHERS] {
        let first = [
            self.rx_packets,
            self.tx_packets,
            self.rx_bytes,
            self.tx_bytes,
            self.rx_errors,
            self.tx_errors,
            self.rx_dropped,
            self.tx_dropped,
        ];
        let mut values = [0; WANTED + OTHERS];
        values[..WANTED].copy_from_slice(&first);
        values[WANTED..].copy_from_slice(&self.others);
        values
    }
}

/// Counters with the one instant they belong to. There is no way to make one without an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    counters: Counters,
    at_ns: u64,
}

impl Reading {
    /// `at_ns` is CLOCK_MONOTONIC read right *after* the counters; an instant from before them, or
    /// one shared with another reading, makes rates wrong, and upward on average.
    #[must_use]
    pub fn new(counters: Counters, at_ns: u64) -> Self {
        Self { counters, at_ns }
    }

    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Reads counters, and the clock right after them: the one way in which readings come about.
    ///
    /// # Errors
    /// What reading the counters yields.
    pub fn take(
        read: impl FnOnce() -> io::Result<Counters>,
        now_ns: impl FnOnce() -> u64,
    ) -> io::Result<Self> {
        let counters = read()?;
        Ok(Self { counters, at_ns: now_ns() })
    }

    /// Nanoseconds of CLOCK_MONOTONIC.
    #[must_use]
    pub fn at_ns(&self) -> u64 {
        self.at_ns
    }
}

// RTM_GETSTATS gives the 64-bit counters alone (232 bytes; RTM_GETLINK answers with 1.5 KB and
// /proc/net/dev with every interface of the host). Layout: linux/if_link.h, struct if_stats_msg.
const RTM_NEWSTATS: u16 = 92;
const RTM_GETSTATS: u16 = 94;
const IFLA_STATS_LINK_64: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const HEADER: usize = 16;
const STATS_HEADER: usize = 12;
const ATTRIBUTE_HEADER: usize = 4;
/// Counters that every kernel has and that have fields of their own.
const WANTED: usize = 8;
const ANSWER: usize = 1024;
/// Answers to requests that had timed out, still in the socket's queue.
const MOST_STALE: usize = 16;

/// An open door to the counters of one interface of the network namespace it was opened in.
#[derive(Debug)]
pub struct CounterSource {
    route: Route,
    index: u32,
    sequence: u32,
}

impl CounterSource {
    /// # Errors
    /// No such interface here, or no netlink socket.
    pub fn open(interface: &str) -> Result<Self, InterfaceError> {
        let index = Interface::find(interface)?.index;
        Ok(Self { route: Route::open()?, index, sequence: 0 })
    }

    /// Reads all counters in one request and stamps them right after.
    ///
    /// # Errors
    /// The interface is gone (ENODEV), or the kernel did not answer.
    pub fn read(&mut self) -> io::Result<Reading> {
        Reading::take(|| self.counters(), monotonic_ns)
    }

    fn counters(&mut self) -> io::Result<Counters> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut answer = [0; ANSWER];
        self.route.send(&request(self.index, self.sequence))?;
        for _ in 0..MOST_STALE {
            let length = self.route.receive(&mut answer)?;
            if let Some(counters) = parse(&answer[..length], self.sequence)? {
                return Ok(counters);
            }
        }
        Err(io::Error::other("the kernel answers only earlier requests for counters"))
    }
}

fn request(index: u32, sequence: u32) -> [u8; HEADER + STATS_HEADER] {
    let mut bytes = [0; HEADER + STATS_HEADER];
    bytes[0..4].copy_from_slice(&((HEADER + STATS_HEADER) as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&RTM_GETSTATS.to_ne_bytes());
    bytes[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
    bytes[20..24].copy_from_slice(&index.to_ne_bytes());
    let filter = 1u32 << (IFLA_STATS_LINK_64 - 1);
    bytes[24..28].copy_from_slice(&filter.to_ne_bytes());
    bytes
}

/// None for the answer to an earlier request.
fn parse(answer: &[u8], sequence: u32) -> io::Result<Option<Counters>> {
    let short = || io::Error::new(io::ErrorKind::InvalidData, "the kernel's counters answer is too short");
    let u16_at =
        |at: usize| answer.get(at..at + 2).map(|b| u16::from_ne_bytes([b[0], b[1]])).ok_or_else(short);
    let u32_at = |at: usize| {
        answer.get(at..at + 4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]])).ok_or_else(short)
    };
    if u32_at(8)? != sequence {
        return Ok(None);
    }
    match u16_at(4)? {
        RTM_NEWSTATS => {}
        NLMSG_ERROR => return Err(io::Error::from_raw_os_error((u32_at(HEADER)? as i32).wrapping_neg())),
        other => {
            return Err(io::Error::other(format!("expected netlink message {RTM_NEWSTATS}, found {other}")));
        }
    }
    let mut at = HEADER + STATS_HEADER;
    while at + ATTRIBUTE_HEADER <= answer.len() {
        let length = usize::from(u16_at(at)?);
        if u16_at(at + 2)? == IFLA_STATS_LINK_64 {
            let body = answer.get(at + ATTRIBUTE_HEADER..at + length).ok_or_else(short)?;
            return counters(body).map(Some).ok_or_else(short);
        }
        at += length.max(ATTRIBUTE_HEADER).next_multiple_of(4);
    }
    Err(short())
}

/// Older kernels have fewer; what they lack stays zero.
fn counters(body: &[u8]) -> Option<Counters> {
    let mut values = [0; WANTED + OTHERS];
    if body.len() < WANTED * 8 {
        return None;
    }
    for (value, bytes) in values.iter_mut().zip(body.as_chunks::<8>().0) {
        *value = u64::from_ne_bytes(*bytes);
    }
    Some(Counters::of(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shape of a kernel's answer, with counters 1..=25.
    fn answer(sequence: u32) -> Vec<u8> {
        let mut bytes = vec![0; HEADER + STATS_HEADER];
        bytes[4..6].copy_from_slice(&RTM_NEWSTATS.to_ne_bytes());
        bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        bytes.extend((4 + 25 * 8u16).to_ne_bytes());
        bytes.extend(IFLA_STATS_LINK_64.to_ne_bytes());
        (1..=25u64).for_each(|n| bytes.extend(n.to_ne_bytes()));
        let length = bytes.len() as u32;
        bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        bytes
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn the_request_has_the_bytes_of_the_kernel_header() {
        #[rustfmt::skip]
        let expected = [
            28, 0, 0, 0, 94, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0,
        ];
        assert_eq!(request(3, 7), expected);
    }

    #[test]
    fn every_counter_is_taken_in_the_kernels_order() {
        let got = parse(&answer(7), 7).expect("whole answer").expect("this request's");
        assert_eq!((got.rx_packets, got.tx_packets, got.rx_bytes, got.tx_bytes), (1, 2, 3, 4));
        assert_eq!((got.rx_errors, got.tx_errors, got.rx_dropped, got.tx_dropped), (5, 6, 7, 8));
        let named: Vec<(&str, u64)> = NAMES.into_iter().zip(got.values()).collect();
        assert_eq!(named[12], ("rx_crc_errors", 13));
        assert_eq!(named[24], ("rx_otherhost_dropped", 25));
        assert_eq!(Counters::of(got.values()), got);
    }

    #[test]
    fn an_older_kernel_that_has_fewer_counters_is_read_too() {
        let body: Vec<u8> = (1..=23u64).flat_map(u64::to_ne_bytes).collect();
        let got = counters(&body).expect("enough");
        assert_eq!((got.values()[22], got.values()[23]), (23, 0));
        assert_eq!(counters(&body[..63]), None);
    }

    #[test]
    fn short_and_refusing_answers_are_errors_and_stale_ones_are_passed_over() {
        let whole = answer(7);
        for length in 0..whole.len() {
            assert!(parse(&whole[..length], 7).is_err(), "{length} bytes");
        }
        assert_eq!(parse(&whole, 8).expect("whole"), None);
        let mut refusal = vec![0; 36];
        refusal[8] = 7;
        refusal[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        refusal[16..20].copy_from_slice(&(-libc::ENODEV).to_ne_bytes());
        assert_eq!(parse(&refusal, 7).expect_err("refusal").raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn loopback_counters_are_read_with_an_instant_from_after_the_request() {
        let mut source = CounterSource::open("lo").expect("lo");
        let before = monotonic_ns();
        let first = source.read().expect("first");
        let second = source.read().expect("second");
        assert!(before <= first.at_ns() && first.at_ns() < second.at_ns());
        assert!(second.counters().rx_packets >= first.counters().rx_packets);
    }
}
