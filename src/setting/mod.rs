//! Host settings, one file each: read the original, apply, read back, put back.
//!
//! A setting is made of parts (one text each) so that its original can be kept and compared without
//! loss. The agent keeps the journal; nothing here remembers anything.

mod autoneg;
mod channels;
mod coalesce;
mod cstates;
mod energy_preference;
mod features;
mod fec;
mod governor;
mod ipv6;
mod irq_affinity;
mod lldp;
mod mtu;
mod napi;
mod numbers;
mod pause;
mod power_mode;
mod promiscuous;
mod rings;
mod rps_xps;
mod rx_filter;
mod stopped_services;
mod stream_queues;
mod table;
mod texts;
mod turbo;

pub use rx_filter::possible as possible_rx_filters;
pub use table::{Roots, find, names};

use std::collections::BTreeMap;
use std::io;

/// Part of a setting to its text: `policy0` to `powersave`, `rx` to `512`.
pub type State = BTreeMap<String, String>;

/// Why a setting cannot be had. Both texts are sentences for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// This host or port has no such thing.
    #[error("{0}")]
    Absent(String),
    /// It is there, and the kernel would not have it so.
    #[error("{0}")]
    Refused(String),
}

/// Something of a host or port that can be read, changed and put back.
pub trait Setting {
    /// The word that campaigns use, a row of [`crate::model::setting::KNOWN`].
    fn name(&self) -> &'static str;

    /// Every part that putting back needs.
    ///
    /// # Errors
    /// `Absent`, or it cannot be read.
    fn read(&self) -> Result<State, SettingError>;

    /// The parts that this value asks for, out of those that there are now.
    ///
    /// # Errors
    /// The value does not fit this host or port.
    fn wanted(&self, value: &str, now: &State) -> Result<State, SettingError>;

    /// Brings these parts to these texts and leaves the others.
    ///
    /// # Errors
    /// What the kernel refused; earlier parts may be written.
    fn write(&self, parts: &State) -> Result<(), SettingError>;

    /// One text for people and facts.
    fn shown(&self, state: &State) -> String;

    /// Settings whose originals a write may lose.
    fn disturbs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Brings all parts back to their original texts.
    ///
    /// # Errors
    /// A part that is not as it was, by reading it back.
    fn restore(&self, original: &State) -> Result<(), SettingError> {
        let changed = differing(original, &self.read()?);
        if !changed.is_empty() {
            self.write(&changed)?;
        }
        kept(original, &self.read()?)
    }
}

/// Brings a setting to a value and proves it by reading back; the text that was, and the one that is.
/// `before` is called once before the first write.
///
/// # Errors
/// The value does not fit, a write was refused, it reads back as something else, or `before` failed.
pub fn change(
    setting: &dyn Setting,
    value: &str,
    before: impl FnOnce(&State) -> Result<(), SettingError>,
) -> Result<(String, String), SettingError> {
    let now = setting.read()?;
    let wanted = setting.wanted(value, &now)?;
    let changed = differing(&wanted, &now);
    let was = setting.shown(&now);
    if changed.is_empty() {
        return Ok((was.clone(), was));
    }
    before(&now)?;
    setting.write(&changed)?;
    let back = setting.read()?;
    kept(&wanted, &back)?;
    Ok((was, setting.shown(&back)))
}

/// The parts of `target` whose text is another one now.
fn differing(target: &State, now: &State) -> State {
    let other = target.iter().filter(|(part, text)| now.get(*part) != Some(text));
    other.map(|(part, text)| (part.clone(), text.clone())).collect()
}

fn kept(target: &State, back: &State) -> Result<(), SettingError> {
    let wrong: Vec<String> = differing(target, back)
        .iter()
        .map(|(part, text)| {
            let found = back
                .get(part)
                .map_or("is not there any more".to_owned(), |now| format!("reads back {now:?}"));
            format!("{part} was set to {text:?} and {found}")
        })
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(SettingError::Refused(wrong.join("; "))) }
}

/// What a refusal by the kernel means; `whose` names the thing, like `the rings of eth0`.
fn refusal(whose: &str, error: &io::Error) -> SettingError {
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOTTY) => {
            SettingError::Absent(format!("its driver does not offer {whose}"))
        }
        Some(libc::ENODEV) => SettingError::Absent(format!("no such interface, so there are no {whose}")),
        Some(libc::EPERM | libc::EACCES) => SettingError::Refused(format!(
            "the kernel does not permit it ({whose}): the agent must be root, or have CAP_NET_ADMIN for ports; `become: sudo` makes it root"
        )),
        Some(libc::EROFS) => {
            SettingError::Refused(format!("{whose}: the kernel's files are mounted read-only here"))
        }
        _ => SettingError::Refused(format!("the kernel refuses {whose}: {error}")),
    }
}

/// The text that all parts share, or every part with its own.
fn shared(state: &State) -> String {
    let mut texts = state.values();
    match texts.next() {
        Some(first) if texts.all(|text| text == first) => first.clone(),
        _ => state.iter().map(|(part, text)| format!("{part}={text}")).collect::<Vec<_>>().join(" "),
    }
}

/// `on` or `off`.
fn switch(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

#[cfg(test)]
mod tests;
