//! The documented exit codes and which of several wins.

/// What the program says when it ends; the README has the same table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done,
    Fault,
    BadInput,
    Regression,
    /// Cells refused though the rest was measured.
    Refused,
    /// Rejected, timed out, failed or interrupted runs.
    Incomplete,
    /// A host is not as it was.
    NotPutBack,
    StaleBaseline,
    NothingMeasured,
    NotComparable,
    Inconclusive,
    NoBaseline,
    HostUnavailable,
    /// This machine: disk full, folder not writable.
    Workstation,
}

/// The first that holds is the exit code.
const PRECEDENCE: [Exit; 13] = [
    Exit::Fault,
    Exit::BadInput,
    Exit::Workstation,
    Exit::NotPutBack,
    Exit::HostUnavailable,
    Exit::NothingMeasured,
    Exit::Regression,
    Exit::NotComparable,
    Exit::NoBaseline,
    Exit::StaleBaseline,
    Exit::Incomplete,
    Exit::Refused,
    Exit::Inconclusive,
];

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Fault => 1,
            Exit::BadInput => 2,
            Exit::Regression => 3,
            Exit::Refused => 4,
            Exit::Incomplete => 5,
            Exit::NotPutBack => 6,
            Exit::StaleBaseline => 7,
            Exit::NothingMeasured => 8,
            Exit::NotComparable => 9,
            Exit::Inconclusive => 10,
            Exit::NoBaseline => 11,
            Exit::HostUnavailable => 12,
            Exit::Workstation => 13,
        }
    }
}

/// The one that wins; `Done` when there is none.
pub fn worst(exits: &[Exit]) -> Exit {
    PRECEDENCE.into_iter().find(|e| exits.contains(e)).unwrap_or(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_urgent_wins_and_nothing_is_done() {
        assert_eq!(worst(&[]), Exit::Done);
        assert_eq!(worst(&[Exit::Refused, Exit::Incomplete]), Exit::Incomplete);
        assert_eq!(worst(&[Exit::Incomplete, Exit::NothingMeasured]), Exit::NothingMeasured);
        assert_eq!(worst(&[Exit::NothingMeasured, Exit::HostUnavailable]), Exit::HostUnavailable);
        assert_eq!(worst(&[Exit::HostUnavailable, Exit::NotPutBack]), Exit::NotPutBack);
        assert_eq!(worst(&[Exit::NotPutBack, Exit::Workstation]), Exit::Workstation);
    }
}
