//! The platform profile of the firmware, which weighs speed against heat and noise.

use super::Roots;
use super::texts::{Texts, single};

pub(super) fn setting(roots: &Roots) -> Texts {
    let folder = roots.sys.join("firmware/acpi");
    let files = single("profile", folder.join("platform_profile"));
    Texts::plain("power_mode", files, "its firmware offers no platform profile (a board with a mode tool of its own, such as nvpmodel, is set with that)")
        .listed_in(Some(folder.join("platform_profile_choices")))
}
