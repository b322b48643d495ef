//! Frames that are not ours, told apart by what they are.

use super::frame::{ETHERTYPE_BASE, MOST_STREAMS, SENDER_MAC};

/// Kinds of foreign frames, in fixed memory whatever comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ipv4,
    /// Neighbour discovery and router solicitations: IPv6 is not silenced on the port.
    Ipv6,
    Arp,
    /// Link layer discovery, e.g. of a switch or of the card's own firmware.
    Lldp,
    /// From a fieldtrial sender with another seed, or of a stream that this run does not have.
    OtherRun,
    Other,
}

impl Kind {
    pub const ALL: [Self; 6] = [Self::Ipv4, Self::Ipv6, Self::Arp, Self::Lldp, Self::OtherRun, Self::Other];

    /// By addresses and ethertype (IEEE 802.3 and its registry); a frame too short for one is `Other`.
    #[must_use]
    pub fn of(frame: &[u8]) -> Self {
        let Some([_, _, _, _, _, _, source @ .., high, low]) = frame.first_chunk::<14>() else {
            return Self::Other;
        };
        match u16::from_be_bytes([*high, *low]) {
            0x0800 => Self::Ipv4,
            0x86dd => Self::Ipv6,
            0x0806 => Self::Arp,
            0x88cc => Self::Lldp,
            ours if is_ours(ours) && *source == SENDER_MAC => Self::OtherRun,
            _ => Self::Other,
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Arp => "arp",
            Self::Lldp => "lldp",
            Self::OtherRun => "other_run",
            Self::Other => "other",
        }
    }
}

fn is_ours(ethertype: u16) -> bool {
    (ETHERTYPE_BASE..ETHERTYPE_BASE + MOST_STREAMS).contains(&ethertype)
}

/// How many of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Foreign {
    counts: [u64; Kind::ALL.len()],
}

impl Foreign {
    pub fn count(&mut self, frame: &[u8]) {
        self.counts[Kind::of(frame) as usize] += 1;
    }

    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, count)| *sum += count);
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Every kind with its count.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, u64)> {
        Kind::ALL.into_iter().zip(self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(source: [u8; 6], ethertype: u16) -> Vec<u8> {
        [&[0xff; 6][..], &source, &ethertype.to_be_bytes(), &[0; 46]].concat()
    }

    #[test]
    fn every_kind_is_told_by_its_ethertype_and_ours_by_the_sender_too() {
        let stranger = [2, 0, 0, 0, 0, 1];
        let kinds = [
            (stranger, 0x0800, Kind::Ipv4),
            (stranger, 0x86dd, Kind::Ipv6),
            (stranger, 0x0806, Kind::Arp),
            (stranger, 0x88cc, Kind::Lldp),
            (SENDER_MAC, 0x88b5, Kind::OtherRun),
            (SENDER_MAC, 0x88c4, Kind::OtherRun),
            (SENDER_MAC, 0x88c5, Kind::Other),
            (stranger, 0x88b5, Kind::Other),
            (stranger, 0x8100, Kind::Other),
        ];
        let mut foreign = Foreign::default();
        for (source, ethertype, kind) in kinds {
            assert_eq!(Kind::of(&frame(source, ethertype)), kind, "{ethertype:#x}");
            foreign.count(&frame(source, ethertype));
        }
        assert_eq!(Kind::of(&[0; 13]), Kind::Other);
        let counts: Vec<_> = foreign.kinds().map(|(kind, count)| (kind.name(), count)).collect();
        let expected = [("ipv4", 1), ("ipv6", 1), ("arp", 1), ("lldp", 1), ("other_run", 2), ("other", 3)];
        assert_eq!((counts, foreign.total()), (expected.to_vec(), 9));
    }
}
