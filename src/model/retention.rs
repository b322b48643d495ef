//! How long the raw evidence of a campaign's records is kept.

/// What `prune` keeps; a record goes only where every bound that is there lets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Younger records stay.
    pub days: Option<u64>,
    /// So many of the newest stay, whatever their age.
    pub last: Option<u64>,
}

impl Retention {
    /// Says nothing, so everything stays.
    pub fn is_empty(&self) -> bool {
        self.days.is_none() && self.last.is_none()
    }
}
