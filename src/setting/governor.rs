//! The frequency governor of every processor.

use super::Roots;
use super::texts::{Texts, numbered};

pub(super) fn setting(roots: &Roots) -> Texts {
    let files = numbered(&roots.cpufreq(), "policy", "scaling_governor");
    let offered = files.first().map(|(_, file)| file.with_file_name("scaling_available_governors"));
    Texts::plain(
        "governor",
        files,
        "this host has no frequency scaling (no cpufreq driver, as in most virtual machines)",
    )
    .listed_in(offered)
}
