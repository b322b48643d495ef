//! The processors of a port's queues: those that share received packets, and those that send.

use std::path::PathBuf;

use super::irq_affinity::one_each;
use super::texts::{Texts, numbered};
use super::{Roots, SettingError};
use crate::model::cpus;

/// Every receive queue hands its packets to all processors of the list.
pub(super) fn rps(roots: &Roots, interface: &str) -> Texts {
    let mut setting = masks("rps", queues(roots, interface, "rx-", "rps_cpus"));
    setting.value = Box::new(|value, _| match value {
        "off" => Ok("off".into()),
        list => cpus::parse(list).map(|cpus| cpus::list(&cpus)).map_err(SettingError::Refused),
    });
    setting
}

/// The first transmit queue is used by the first processor of the list, and so on in turn.
pub(super) fn xps(roots: &Roots, interface: &str) -> Texts {
    let mut setting = masks("xps", queues(roots, interface, "tx-", "xps_cpus"));
    setting.value =
        Box::new(|value, number| if value == "off" { Ok("off".into()) } else { one_each(value, number) });
    setting
}

fn queues(roots: &Roots, interface: &str, prefix: &str, file: &str) -> Vec<(String, PathBuf)> {
    let folder = roots.net(interface).map(|folder| folder.join("queues"));
    folder.map(|folder| numbered(&folder, prefix, file)).unwrap_or_default()
}

fn masks(name: &'static str, files: Vec<(String, PathBuf)>) -> Texts {
    let mut setting = Texts::plain(
        name,
        files,
        "it has no queues to choose processors for (a port with one queue has no xps)",
    );
    setting.from_file = |text| cpus::of_mask(text).map_or(text.to_owned(), |cpus| cpus::list(&cpus));
    setting.to_file = |text| match text {
        "off" => "0".into(),
        list => cpus::parse(list).map_or(list.to_owned(), |cpus| cpus::mask(&cpus)),
    };
    setting
}
