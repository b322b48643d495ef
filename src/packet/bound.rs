//! What set the rate of a run: its pace, the interface, or the sending host.

use serde::Serialize;

/// A stream that was behind its pace by more than this part of its time did not keep it…
const LATE_PARTS: u64 = 100;
/// …unless it was behind by no more than a scheduler's hiccup.
const HICCUP_NS: u64 = 5_000_000;
/// The interface is the limit from this part of the sending time spent waiting for room.
const WAITING_PARTS: u64 = 20;

/// The limit of a run's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundBy {
    /// The declared pace: every stream kept it, within a hundredth of its time or 5 ms.
    Pace,
    /// The interface: for at least a twentieth of the sending time it had no room for a frame.
    Interface,
    /// The sending host: the interface had room, and no more frames came. The rate is the sender's own
    /// ceiling and says nothing of the link.
    Host,
}

/// How one stream spent its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// From the start of the run to the stream's end.
    pub sending_ns: u64,
    /// Of that, from a refusal for want of room to the next frame accepted.
    pub waiting_ns: u64,
    /// Behind its pace at its end; None without a pace.
    pub late_ns: Option<u64>,
}

impl BoundBy {
    /// The limit of a run with these streams.
    #[must_use]
    pub fn of(streams: &[Spent]) -> Self {
        let kept =
            |s: &Spent| s.late_ns.is_some_and(|late| late <= (s.sending_ns / LATE_PARTS).max(HICCUP_NS));
        if streams.iter().all(kept) {
            return Self::Pace;
        }
        let (waiting, sending) =
            streams.iter().fold((0, 0), |(w, s), spent| (w + spent.waiting_ns, s + spent.sending_ns));
        if waiting > 0 && waiting >= sending / WAITING_PARTS { Self::Interface } else { Self::Host }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn spent(waiting_ns: u64, late_ns: Option<u64>) -> Spent {
        Spent { sending_ns: SECOND, waiting_ns, late_ns }
    }

    #[test]
    fn a_pace_that_every_stream_kept_is_the_limit_even_if_room_was_short_at_times() {
        assert_eq!(BoundBy::of(&[spent(SECOND / 2, Some(0)), spent(0, Some(SECOND / 100))]), BoundBy::Pace);
        let short = Spent { sending_ns: 1000, waiting_ns: 0, late_ns: Some(HICCUP_NS) };
        assert_eq!(BoundBy::of(&[short]), BoundBy::Pace, "a hiccup in a short burst");
    }

    #[test]
    fn without_a_pace_kept_waiting_for_room_accuses_the_interface_and_nothing_else_does() {
        for late in [None, Some(SECOND / 50)] {
            assert_eq!(BoundBy::of(&[spent(0, late)]), BoundBy::Host);
            assert_eq!(BoundBy::of(&[spent(SECOND / 21, late)]), BoundBy::Host, "a full ring now and then");
            assert_eq!(BoundBy::of(&[spent(SECOND / 20, late)]), BoundBy::Interface);
        }
        assert_eq!(BoundBy::of(&[spent(0, Some(0)), spent(0, Some(SECOND / 2))]), BoundBy::Host);
    }
}
