//! How a port's receive work is polled: threads, the flush timeout, and deferred interrupts.

use super::Roots;
use super::texts::{Texts, single};

const ABSENT: &str = "its kernel has no such file below /sys/class/net (older than Linux 5.12)";

pub(super) fn threaded(roots: &Roots, interface: &str) -> Texts {
    let mut setting = file(roots, interface, "threaded_napi", "threaded");
    setting.value = Box::new(|value, _| Ok(if value == "on" { "1" } else { "0" }.to_owned()));
    setting.shown = |state| super::switch(state.values().all(|text| text != "0")).to_owned();
    setting
}

pub(super) fn flush_timeout(roots: &Roots, interface: &str) -> Texts {
    file(roots, interface, "gro_flush_timeout", "gro_flush_timeout")
}

pub(super) fn defer_hard_irqs(roots: &Roots, interface: &str) -> Texts {
    file(roots, interface, "napi_defer_hard_irqs", "napi_defer_hard_irqs")
}

fn file(roots: &Roots, interface: &str, name: &'static str, file: &str) -> Texts {
    let path = roots.net(interface).map(|folder| folder.join(file));
    Texts::plain(name, path.map(|path| single(file, path)).unwrap_or_default(), ABSENT)
}
