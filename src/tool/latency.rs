//! Whether the time from a send stamp to a receive stamp means anything.

use crate::nic::clock_identity::ClockIdentity;

/// Why a one-way latency may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// Both stamps are of CLOCK_REALTIME of one machine.
    OneMachine,
    /// Somebody vouches that the two clocks differ by no more than this.
    OffsetBound { ns: u64 },
}

impl Ground {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OneMachine => "one machine",
            Self::OffsetBound { .. } => "offset bound",
        }
    }

    #[must_use]
    pub fn bound_ns(self) -> Option<u64> {
        match self {
            Self::OneMachine => None,
            Self::OffsetBound { ns } => Some(ns),
        }
    }
}

/// What is known of the two clocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clocks {
    /// The receive stamps are the card's, which has a clock of its own.
    pub card_stamps: bool,
    pub receiver: Option<ClockIdentity>,
    /// As the sender's word says.
    pub sender: Option<ClockIdentity>,
    pub offset_bound_ns: Option<u64>,
}

/// Decides whether a latency between the two may be told.
///
/// # Errors
/// The reason why not, for the reader of the result.
pub fn ground(clocks: &Clocks) -> Result<Ground, String> {
    let one_machine = match (&clocks.sender, &clocks.receiver) {
        _ if clocks.card_stamps => Err("the card stamps by its own clock, the sender by its machine's"),
        (Some(sender), Some(receiver)) if sender == receiver => Ok(Ground::OneMachine),
        (Some(_), Some(_)) => Err("sender and receiver read different clocks"),
        (None, _) => Err("the sender's word names no clock"),
        (_, None) => Err("this machine does not tell which clock it reads"),
    };
    one_machine.or_else(|why| {
        let bound = clocks.offset_bound_ns.map(|ns| Ground::OffsetBound { ns });
        bound.ok_or_else(|| {
            format!("{why}; where the offset is known to be bounded, say so by --clock-offset-bound")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(boot_id: &str, time_namespace: u64) -> Option<ClockIdentity> {
        Some(ClockIdentity { boot_id: boot_id.to_owned(), time_namespace })
    }

    fn clocks(sender: Option<ClockIdentity>, offset_bound_ns: Option<u64>) -> Clocks {
        Clocks { card_stamps: false, receiver: clock("a", 1), sender, offset_bound_ns }
    }

    #[test]
    fn one_clock_or_a_bound_is_needed_and_neither_is_assumed() {
        assert_eq!(ground(&clocks(clock("a", 1), None)), Ok(Ground::OneMachine));
        for other in [None, clock("b", 1), clock("a", 2)] {
            let why = ground(&clocks(other.clone(), None)).expect_err("no ground");
            assert!(why.contains("--clock-offset-bound"), "{why}");
            let bounded = ground(&clocks(other, Some(5_000)));
            assert_eq!(bounded, Ok(Ground::OffsetBound { ns: 5_000 }));
        }
    }

    #[test]
    fn a_cards_clock_is_never_the_machines() {
        let card = Clocks { card_stamps: true, ..clocks(clock("a", 1), None) };
        assert!(ground(&card).expect_err("two clocks").contains("card"));
        let bounded = Clocks { offset_bound_ns: Some(9), ..card };
        assert_eq!(ground(&bounded), Ok(Ground::OffsetBound { ns: 9 }));
    }
}
