//! The offloads of a port, by the names of the kernel's features.

use super::{Setting, SettingError, State, refusal, shared};
use crate::nic::card::Card;
use crate::nic::card::request::{GFEATURES, SFEATURES};

/// String set of the features' names.
const ETH_SS_FEATURES: u32 = 4;

/// Setting and the features it stands for; a star takes all with that beginning.
pub(super) const GROUPS: [(&str, &str); 9] = [
    ("rx_checksum", "rx-checksum"),
    ("tx_checksum", "tx-checksum-*"),
    ("scatter_gather", "tx-scatter-gather*"),
    ("tso", "tx-tcp*"),
    ("gso", "tx-generic-segmentation"),
    ("gro", "rx-gro"),
    ("lro", "rx-lro"),
    ("rx_hash", "rx-hashing"),
    ("ntuple", "rx-ntuple-filter"),
];

/// Off, though asked for: another feature that it needs is off. It comes back with that one.
const WAITING: &str = "off (waiting)";
const FIXED: &str = " (fixed)";

pub(super) struct Features {
    pub name: &'static str,
    pub pattern: &'static str,
    pub interface: String,
}

impl Features {
    fn failed(&self, error: &std::io::Error) -> SettingError {
        refusal(&format!("{} of {}", self.name, self.interface), error)
    }

    fn is_ours(&self, feature: &str) -> bool {
        match self.pattern.strip_suffix('*') {
            Some(beginning) => feature.starts_with(beginning),
            None => feature == self.pattern,
        }
    }

    /// Numbers and names of our features.
    fn ours(&self, card: &Card) -> Result<(Vec<(usize, String)>, usize), SettingError> {
        let names = card.names(ETH_SS_FEATURES).map_err(|e| self.failed(&e))?;
        let blocks = names.len().div_ceil(32);
        Ok((names.into_iter().enumerate().filter(|(_, name)| self.is_ours(name)).collect(), blocks))
    }
}

impl Setting for Features {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read(&self) -> Result<State, SettingError> {
        let card = Card::open(&self.interface).map_err(|e| self.failed(&e))?;
        let (ours, blocks) = self.ours(&card)?;
        let mut words = vec![0; 2 + 4 * blocks];
        words[..2].copy_from_slice(&[GFEATURES, blocks as u32]);
        card.ethtool(&mut words).map_err(|e| self.failed(&e))?;
        let state: State = ours
            .into_iter()
            .map(|(bit, name)| {
                // A block is: available, requested, active, never changed.
                let is = |member: usize| words[2 + 4 * (bit / 32) + member] >> (bit % 32) & 1 == 1;
                let text = match (is(2), is(1), is(0) && !is(3)) {
                    (true, _, true) => "on".to_owned(),
                    (false, true, true) => WAITING.to_owned(),
                    (false, false, true) => "off".to_owned(),
                    (active, _, false) => format!("{}{FIXED}", super::switch(active)),
                };
                (name, text)
            })
            .collect();
        if state.is_empty() {
            Err(SettingError::Absent(format!("this kernel knows no {}", self.name)))
        } else {
            Ok(state)
        }
    }

    fn wanted(&self, value: &str, now: &State) -> Result<State, SettingError> {
        let free = now.iter().filter(|(_, text)| !text.ends_with(FIXED));
        let wanted: State = free.map(|(name, _)| (name.clone(), value.to_owned())).collect();
        let fixed_so = now.values().all(|text| text.starts_with(value));
        if wanted.is_empty() && !fixed_so {
            return Err(SettingError::Refused(format!(
                "{} of {} is fixed: its driver lets nobody turn it {value}",
                self.name, self.interface
            )));
        }
        Ok(wanted)
    }

    fn write(&self, parts: &State) -> Result<(), SettingError> {
        let card = Card::open(&self.interface).map_err(|e| self.failed(&e))?;
        let (ours, blocks) = self.ours(&card)?;
        let mut words = vec![0; 2 + 2 * blocks];
        words[..2].copy_from_slice(&[SFEATURES, blocks as u32]);
        for (bit, name) in ours {
            let Some(text) = parts.get(&name).filter(|text| !text.ends_with(FIXED)) else { continue };
            // A block is: valid, requested.
            words[2 + 2 * (bit / 32)] |= 1 << (bit % 32);
            words[3 + 2 * (bit / 32)] |= u32::from(text != "off") << (bit % 32);
        }
        card.ethtool(&mut words).map_err(|e| self.failed(&e))
    }

    fn disturbs(&self) -> &'static [&'static str] {
        // Switched off, a card forgets its rules.
        if self.name == "ntuple" { &["stream_queues"] } else { &[] }
    }

    fn shown(&self, state: &State) -> String {
        let free: State = state
            .iter()
            .filter(|(_, text)| !text.ends_with(FIXED))
            .map(|(n, t)| (n.clone(), t.clone()))
            .collect();
        shared(if free.is_empty() { state } else { &free })
    }
}
