//! Who changes settings of this host: refuses what must not be touched, journals originals, puts them back.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::journal::{Journal, Original};
use crate::model::change::{Applications, Applied, PutBack, Seen, Unfit, Wanted};
use crate::model::setting::{KNOWN, Scope, known};
use crate::nic::card::Card;
use crate::nic::management;
use crate::setting::{self, Roots, Setting, SettingError};

/// Longest wait for a link that a change took down: cards train their link anew for some seconds.
const LINK_LIMIT: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The settings of one host during one session.
pub struct Keeper {
    journal: Journal,
    roots: Roots,
    /// Value of SSH_CONNECTION, which tells the port that carries us.
    ssh_connection: String,
    /// The host is a namespace of the embedded lab: its processors are not its own.
    boxed: bool,
}

impl Keeper {
    /// Opens the journal in `state` and puts back what a killed agent left changed.
    ///
    /// # Errors
    /// The journal cannot be read or written.
    pub fn open(
        state: &Path,
        boot_id: &str,
        roots: Roots,
        ssh_connection: String,
        boxed: bool,
    ) -> io::Result<(Keeper, PutBack)> {
        let (journal, left) = Journal::open(state, boot_id)?;
        let mut keeper = Keeper { journal, roots, ssh_connection, boxed };
        let mut found = keeper.put_back();
        found.stuck.extend(left.damage);
        let told = |o: &Original| format!("{} was {} before it was changed", o.named(), o.shown);
        found.before_reboot.extend(left.before_reboot.iter().map(told));
        Ok((keeper, found))
    }

    /// Brings settings to their values, in the order of the table, each proven by reading back. Stops at
    /// the first that does not fit; that one is as it was, the ones before it keep their value.
    pub fn apply(&mut self, wanted: &[Wanted]) -> Applications {
        let place = |wanted: &Wanted| KNOWN.iter().position(|known| known.name == wanted.setting);
        let mut wanted: Vec<&Wanted> = wanted.iter().collect();
        wanted.sort_by_key(|wanted| place(wanted));
        let running = running(wanted.iter().filter_map(|wanted| wanted.interface.as_deref()));
        let mut done = Applications::default();
        for each in wanted {
            let unfit = |error: SettingError| Unfit {
                setting: each.setting.clone(),
                interface: each.interface.clone(),
                why: error.to_string(),
            };
            match self.one(each) {
                Ok((was, now)) => done.applied.push(Applied {
                    setting: each.setting.clone(),
                    interface: each.interface.clone(),
                    was,
                    now,
                }),
                Err(error) => {
                    done.refused = Some(unfit(error));
                    break;
                }
            }
        }
        if let Some(interface) = first_still_down(&running) {
            let why =
                format!("{interface} has no link {} s after its settings were changed", LINK_LIMIT.as_secs());
            done.refused.get_or_insert(Unfit { setting: "link".into(), interface: Some(interface), why });
        }
        done
    }

    /// Puts everything back in reverse order. What could not be stays in the journal.
    pub fn put_back(&mut self) -> PutBack {
        let mut done = PutBack::default();
        if self.journal.originals.is_empty() {
            return done;
        }
        let mut stuck = vec![];
        let originals = self.journal.originals.clone();
        let running = running(originals.iter().filter_map(|o| o.interface.as_deref()));
        for original in originals.into_iter().rev() {
            if let Some(why) = self.gone(&original) {
                done.gone.push(format!("{}: {why}", original.named()));
                continue;
            }
            match self.back(&original) {
                Ok(Some(applied)) => done.back.push(applied),
                Ok(None) => {}
                Err(why) => {
                    done.stuck.push(format!("{} was {}: {why}", original.named(), original.shown));
                    stuck.insert(0, original);
                }
            }
        }
        first_still_down(&running);
        if let Err(e) = self.journal.leave(stuck) {
            done.stuck.push(format!("the journal of settings cannot be written: {e}"));
        }
        done
    }

    /// Every setting of the host and of these interfaces as it is, and whether it could be changed.
    pub fn seen<'a>(&self, interfaces: impl Iterator<Item = &'a str>) -> Vec<Seen> {
        let ports = interfaces
            .flat_map(|interface| setting::names(Scope::Port).map(move |name| (name, Some(interface))));
        let all = setting::names(Scope::Host).map(|name| (name, None)).chain(ports);
        all.map(|(name, interface)| {
            let found = self.find(name, interface);
            let read = found
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|setting| setting.read().map(|state| setting.shown(&state)));
            let refused = self.forbidden(name, interface).err();
            Seen {
                setting: name.into(),
                interface: interface.map(str::to_owned),
                why: read.as_ref().err().or(refused.as_ref()).map(ToString::to_string),
                now: read.ok(),
            }
        })
        .collect()
    }

    fn one(&mut self, wanted: &Wanted) -> Result<(String, String), SettingError> {
        let interface = wanted.interface.as_deref();
        let known = known(&wanted.setting);
        let known = known.ok_or_else(|| SettingError::Refused("this agent knows no such setting".into()))?;
        known.check(&wanted.value).map_err(|expected| {
            SettingError::Refused(format!("expected {expected}, found {}", wanted.value))
        })?;
        let setting = self.find(known.name, interface)?;
        self.forbidden(known.name, interface)?;
        let mut kept = None;
        let changed = setting::change(setting.as_ref(), &wanted.value, |now| {
            kept = Some(now.clone());
            for name in setting.disturbs() {
                let other = self.find(name, interface)?;
                if let Ok(state) = other.read() {
                    self.keep(other.as_ref(), interface, state)?;
                }
            }
            self.keep(setting.as_ref(), interface, now.clone())
        });
        if let (Err(_), Some(before)) = (&changed, kept) {
            // What stays half done is in the journal, and tried again at the end.
            let _ = setting.restore(&before);
        }
        changed
    }

    /// Writes an original down, unless an earlier change has done so.
    fn keep(
        &mut self,
        setting: &dyn Setting,
        interface: Option<&str>,
        parts: setting::State,
    ) -> Result<(), SettingError> {
        if self.journal.has(setting.name(), interface) {
            return Ok(());
        }
        let original = Original {
            setting: setting.name().to_owned(),
            interface: interface.map(str::to_owned),
            network: interface.and_then(|_| network()),
            shown: setting.shown(&parts),
            parts,
        };
        self.journal.keep(original).map_err(|e| {
            SettingError::Refused(format!("its original cannot be written down, so it is not changed: {e}"))
        })
    }

    fn find(&self, name: &str, interface: Option<&str>) -> Result<Box<dyn Setting>, SettingError> {
        let missing =
            || SettingError::Refused("it belongs to a port, or to the host, and the other was named".into());
        setting::find(name, interface, &self.roots).ok_or_else(missing)
    }

    /// What must not be touched, whatever a file says.
    fn forbidden(&self, name: &str, interface: Option<&str>) -> Result<(), SettingError> {
        let refuse = |why: String| Err(SettingError::Refused(why));
        let Some(interface) = interface else {
            return match self.boxed {
                true => refuse(format!(
                    "hosts of the embedded lab share this machine's processors, so their {name} is left alone; name this machine with `transport: local`"
                )),
                false => Ok(()),
            };
        };
        match management::interfaces(&self.ssh_connection) {
            _ if interface == "lo" => refuse("the loopback is no test port".into()),
            Some(carrying) if carrying.iter().any(|name| name == interface) => refuse(format!(
                "{interface} carries SSH or the default route of this host, so it is never touched"
            )),
            Some(_) => Ok(()),
            None => refuse(
                "it cannot be told which port carries SSH or the default route, so none is touched".into(),
            ),
        }
    }

    /// Why there is nothing to put back any more.
    fn gone(&self, original: &Original) -> Option<String> {
        let interface = original.interface.as_deref()?;
        if original.network.is_some() && original.network != network() {
            return Some("it is in another network namespace than this agent".into());
        }
        let found = Card::open(interface).and_then(|card| card.index());
        let is_gone = found.is_err_and(|e| e.raw_os_error() == Some(libc::ENODEV));
        is_gone.then(|| "there is no such interface any more".to_owned())
    }

    /// None where it was as it had been all the time.
    fn back(&self, original: &Original) -> Result<Option<Applied>, SettingError> {
        let interface = original.interface.as_deref();
        let setting = self.find(&original.setting, interface)?;
        let now = setting.read()?;
        setting.restore(&original.parts)?;
        Ok((now != original.parts).then(|| Applied {
            setting: original.setting.clone(),
            interface: original.interface.clone(),
            was: setting.shown(&now),
            now: original.shown.clone(),
        }))
    }
}

/// The network namespace of this process, as the kernel names it.
fn network() -> Option<String> {
    fs::read_link("/proc/self/ns/net").ok().map(|path| path.to_string_lossy().into_owned())
}

/// Those of the interfaces that have a link.
fn running<'a>(interfaces: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    interfaces.filter(|interface| has_link(interface)).map(str::to_owned).collect()
}

/// Waits for their links; one that does not come back in time.
fn first_still_down(interfaces: &BTreeSet<String>) -> Option<String> {
    let until = Instant::now() + LINK_LIMIT;
    loop {
        let down = interfaces.iter().find(|interface| !has_link(interface))?;
        if Instant::now() >= until {
            return Some(down.clone());
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn has_link(interface: &str) -> bool {
    Card::open(interface).and_then(|card| card.running()).unwrap_or(false)
}

/// What a session tells of it at its end.
pub fn complaint(done: &PutBack) -> Option<String> {
    (!done.stuck.is_empty()).then(|| {
        format!("could not be put back: {}; `fieldtrial restore` tries again", done.stuck.join("; "))
    })
}
