//! Frequencies above the nominal one: Intel's switch says no, the general one says yes.

use super::texts::{Texts, single};
use super::{Roots, State, switch};

pub(super) fn setting(roots: &Roots) -> Texts {
    let cpu = roots.sys.join("devices/system/cpu");
    let mut files = single("no_turbo", cpu.join("intel_pstate/no_turbo"));
    let inverse = !files.is_empty();
    if !inverse {
        files = single("boost", cpu.join("cpufreq/boost"));
    }
    let mut setting = Texts::plain(
        "turbo",
        files,
        "it has no switch for turbo frequencies (intel_pstate/no_turbo or cpufreq/boost)",
    );
    setting.value =
        Box::new(move |value, _| Ok(if (value == "on") == inverse { "0" } else { "1" }.to_owned()));
    setting.shown = shown;
    setting
}

fn shown(state: &State) -> String {
    let on = state.get("no_turbo").map(|text| text == "0").or(state.get("boost").map(|text| text == "1"));
    switch(on.unwrap_or(false)).to_owned()
}
