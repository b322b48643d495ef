//! What is stopped and dropped on hosts before a campaign is measured as a quiet one.

/// What `run --as quiet` does on every host of the campaign, before anything is proven there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Quiet {
    /// Services that are stopped, and started again afterwards.
    pub stop: Vec<String>,
    /// Whether the page cache is dropped, once.
    pub drop_caches: bool,
}

/// The condition that cells of such a trial name in their ids.
pub const QUIET: &str = "quiet";
