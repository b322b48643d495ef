//! What a campaign holds on its hosts: settings brought about before a cell runs, and looked at in between.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use indexmap::IndexMap;
use serde_json::Value;

use super::direction::Direction;
use super::lab::{Lab, LabError};
use super::quieting::quieten;
use super::workshop::Workshop;
use crate::design::plan::Plan;
use crate::evidence::event::{ChangeNote, Event, PutBackNote, SettingNote};
use crate::model::change::Wanted;
use crate::model::facts::Facts;
use crate::model::quiet::QUIET;
use crate::model::setting::{STREAM_QUEUES, Scope, known};
use crate::model::workload::Work;
use crate::verify::Difference;

/// Why a cell's hosts are not as it needs them.
pub enum Unready {
    Refused(Difference),
    Lost(String),
}

/// The hosts of a session: what was set on each, and the moving facts last seen.
#[derive(Default)]
pub struct Preparation {
    /// Hosts that something was set on.
    set: Vec<String>,
    seen: BTreeMap<String, BTreeMap<String, String>>,
    /// Hosts that were made quiet.
    quieted: Vec<String>,
    pub(super) workshop: Workshop,
}

pub type Noting<'a> = dyn FnMut(Event) -> io::Result<()> + 'a;

impl Preparation {
    /// Of a campaign in this folder, whose record lies in that one.
    pub fn new(campaign: &Path, record: &Path) -> Preparation {
        let workshop = Workshop::new(campaign, record);
        Preparation { workshop, ..Preparation::default() }
    }

    /// Brings about what the cell holds on its hosts, and notes every setting that changed.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn bring_about(
        &mut self,
        lab: &mut dyn Lab,
        plan: &Plan,
        cell: u64,
        work: &Work,
        note: &mut Noting<'_>,
    ) -> io::Result<Result<(), Unready>> {
        let refuse = |reason: String| Ok(Err(Unready::Refused(Difference { reason, evidence: vec![] })));
        let wanted = match wanted(plan, cell, work) {
            Ok(wanted) => wanted,
            Err(why) => return refuse(format!("a host cannot be prepared: {why}")),
        };
        if let Some(quiet) = plan.campaign.quiet.as_ref().filter(|_| plan.condition == QUIET) {
            for host in work.hosts() {
                if self.quieted.iter().any(|quieted| quieted == host) {
                    continue;
                }
                if !self.set.iter().any(|set| set == host) {
                    self.set.push(host.to_owned());
                }
                if let Err(unready) = quieten(lab, host, quiet, note)? {
                    return Ok(Err(unready));
                }
                self.quieted.push(host.to_owned());
            }
        }
        for (host, settings) in wanted {
            if !self.set.contains(&host) {
                self.set.push(host.clone());
            }
            let done = match lab.apply(&host, &settings) {
                Ok(done) => done,
                Err(LabError::Lost { host, why }) => {
                    return Ok(Err(Unready::Lost(format!("host {host} is lost: {why}"))));
                }
                Err(LabError::Refused { host, why }) => return refuse(format!("host {host} refused: {why}")),
            };
            let changed: Vec<_> = done.applied.into_iter().filter(|a| a.was != a.now).collect();
            let any = !changed.is_empty();
            for applied in changed {
                note(Event::Setting(SettingNote { host: host.clone(), applied }))?;
            }
            if any && self.seen.contains_key(&host) {
                // A link that our own change took down is no event.
                self.seen.insert(host.clone(), look(lab, plan, &host));
            }
            if let Some(unfit) = done.refused {
                return refuse(format!("a host cannot be prepared: {host}: {unfit}"));
            }
        }
        Ok(Ok(()))
    }

    /// Looks at the moving facts of these hosts; `after` is the block that has just ended, 0 for none.
    /// Every difference from the last look is noted.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn look_around(
        &mut self,
        lab: &mut dyn Lab,
        plan: &Plan,
        hosts: &[String],
        after: u32,
        note: &mut Noting<'_>,
    ) -> io::Result<()> {
        for host in hosts {
            let now = look(lab, plan, host);
            // A host that does not answer is noticed by the next run.
            let Some(before) = self.seen.insert(host.clone(), now.clone()).filter(|_| !now.is_empty()) else {
                continue;
            };
            let mut facts: Vec<&String> = before.keys().chain(now.keys()).collect();
            facts.sort();
            facts.dedup();
            for fact in facts.into_iter().filter(|fact| before.get(*fact) != now.get(*fact)) {
                let text = |seen: &BTreeMap<String, String>| {
                    seen.get(fact).map_or("absent", String::as_str).to_owned()
                };
                let (was, now) = (text(&before), text(&now));
                note(Event::Changed(ChangeNote { host: host.clone(), fact: fact.clone(), was, now, after }))?;
            }
        }
        Ok(())
    }

    /// Puts everything back and forgets what was seen, so that the next cell's settings are really made again.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn start_over(&mut self, lab: &mut dyn Lab, plan: &Plan, note: &mut Noting<'_>) -> io::Result<()> {
        self.put_back(lab, note)?;
        // What our own putting back moved is no event.
        for (host, seen) in &mut self.seen {
            *seen = look(lab, plan, host);
        }
        Ok(())
    }

    /// Puts back all that was set, on every host that still answers.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn put_back(&mut self, lab: &mut dyn Lab, note: &mut Noting<'_>) -> io::Result<()> {
        // One that is lost does it by itself, and its next agent tells.
        self.quieted.clear();
        let done = self.set.drain(..).filter_map(|host| lab.put_back(&host).ok().map(|done| (host, done)));
        // All of them first: a record that cannot be written shall leave no host changed.
        let done: Vec<_> = done.filter(|(_, done)| !done.is_empty()).collect();
        for (host, done) in done {
            note(Event::PutBack(PutBackNote { host, at_start: false, done }))?;
        }
        Ok(())
    }
}

/// Settings of each host that the cell holds. A packet workload holds its two ports, any other all ports
/// of its hosts.
///
/// # Errors
/// A sentence: a template that cannot be filled in, or a setting of ports where there is no port.
pub fn wanted(plan: &Plan, cell: u64, work: &Work) -> Result<IndexMap<String, Vec<Wanted>>, String> {
    let mut interfaces: IndexMap<String, Vec<String>> = IndexMap::new();
    match work {
        Work::Packets(w) => {
            interfaces.entry(w.tx.host.clone()).or_default().push(w.tx_interface.clone());
            interfaces.entry(w.rx.host.clone()).or_default().push(w.rx_interface.clone());
        }
        Work::Command(w) => {
            for role in &w.roles {
                let ports = plan.hosts.hosts.get(&role.host).into_iter().flat_map(|host| host.ports.values());
                interfaces.insert(role.host.clone(), ports.map(|port| port.interface.clone()).collect());
            }
        }
    }
    let mut wanted: IndexMap<String, Vec<Wanted>> = IndexMap::new();
    for (name, value) in plan.hold(cell)? {
        let Some(setting) = known(&name) else { continue };
        for (host, ports) in &interfaces {
            let one =
                |interface: Option<String>| Wanted { setting: name.clone(), interface, value: value.clone() };
            let list = wanted.entry(host.clone()).or_default();
            match setting.scope {
                Scope::Host => list.push(one(None)),
                Scope::Port if ports.is_empty() => {
                    return Err(format!(
                        "{host} has no ports in the hosts file, and `hold: {name}` is about ports"
                    ));
                }
                Scope::Port => list.extend(ports.iter().map(|interface| one(Some(interface.clone())))),
            }
        }
    }
    if let Work::Packets(w) = work
        && let Some(value) = plan.steer(cell, w.streams)?
    {
        for (port, interface) in Direction::of(w).iter().map(|direction| direction.to(w)) {
            let (setting, interface) = (STREAM_QUEUES.to_owned(), Some(interface.to_owned()));
            let one = Wanted { setting, interface, value: value.clone() };
            wanted.entry(port.host.clone()).or_default().push(one);
        }
    }
    Ok(wanted)
}

fn look(lab: &mut dyn Lab, plan: &Plan, host: &str) -> BTreeMap<String, String> {
    let declared = plan.hosts.hosts.get(host).into_iter().flat_map(|host| &host.ports);
    let ports = declared.map(|(name, port)| (name.clone(), port.interface.clone())).collect();
    lab.look(host, &ports).map(|facts| flat(&facts)).unwrap_or_default()
}

fn flat(facts: &Facts) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for (name, value) in facts {
        match value {
            Value::Object(ports) if name == "ports" => {
                for (port, facts) in ports {
                    let facts = facts.as_object().into_iter().flatten();
                    found.extend(facts.map(|(fact, value)| (format!("{port}.{fact}"), text(value))));
                }
            }
            value => drop(found.insert(name.clone(), text(value))),
        }
    }
    found
}
