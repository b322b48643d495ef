//! The energy performance preference that processors are told, besides their governor.

use super::Roots;
use super::texts::{Texts, numbered};

pub(super) fn setting(roots: &Roots) -> Texts {
    let files = numbered(&roots.cpufreq(), "policy", "energy_performance_preference");
    let offered =
        files.first().map(|(_, file)| file.with_file_name("energy_performance_available_preferences"));
    Texts::plain(
        "energy_preference",
        files,
        "its processors take no energy preference (intel_pstate or amd_pstate in active mode has one)",
    )
    .listed_in(offered)
}
