//! The processors that serve a port's interrupts.

use std::fs;
use std::path::PathBuf;

use super::texts::Texts;
use super::{Roots, SettingError};
use crate::model::cpus;

/// The first interrupt goes to the first processor of the list, and so on in turn.
pub(super) fn setting(roots: &Roots, interface: &str) -> Texts {
    let files = interrupts(roots, interface);
    let mut setting = Texts::plain(
        "irq_affinity",
        files,
        "it has no interrupts of its own (a virtual port, or a bus without message-signalled ones)",
    );
    setting.value = Box::new(one_each);
    setting.from_file = |text| cpus::parse(text).map_or(text.to_owned(), |cpus| cpus::list(&cpus));
    setting
}

/// The processor of a list for a queue or interrupt by its number, in turn.
pub(super) fn one_each(list: &str, number: usize) -> Result<String, SettingError> {
    let cpus: Vec<u32> = cpus::parse(list).map_err(SettingError::Refused)?.into_iter().collect();
    Ok(cpus[number % cpus.len()].to_string())
}

/// Interrupts of the card that are named after the interface; all of the card where none is.
fn interrupts(roots: &Roots, interface: &str) -> Vec<(String, PathBuf)> {
    let folder = roots.net(interface).map(|folder| folder.join("device/msi_irqs"));
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    let table = fs::read_to_string(roots.proc.join("interrupts")).unwrap_or_default();
    let is_named = |number: &u32| {
        table.lines().any(|line| {
            line.trim_start()
                .split_once(':')
                .is_some_and(|(id, rest)| id == number.to_string() && rest.contains(interface))
        })
    };
    if numbers.iter().any(is_named) {
        numbers.retain(is_named);
    }
    let file =
        |number: u32| (format!("irq {number}"), roots.proc.join(format!("irq/{number}/smp_affinity_list")));
    numbers.into_iter().map(file).filter(|(_, path)| path.exists()).collect()
}
