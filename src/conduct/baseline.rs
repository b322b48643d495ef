//! The link first: where the untouched control loses a frame, nothing on that link counts.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::decide::Candidate;
use super::delivery;
use super::packets::{Offer, least, timed_roles};
use super::pass::{self, Trouble};
use super::run::last_words;
use super::trial::{Ended, Trial};
use super::watch::Stop;
use crate::evidence::event::{Event, LinkNote, RoleNote};
use crate::model::workload::{PacketWork, Work};
use crate::verify::Difference;

/// Whether one link is clean.
enum Verdict {
    Clean,
    Faulty(Vec<String>),
    Ended(Ended),
}

impl Trial<'_> {
    /// Takes the baseline of every link that the cells use, once a session, and returns what is wrong
    /// with the links that are not clean. On each link it is the control with the highest load: a link
    /// that carries the most that the control asks of it is clean for less.
    pub(super) fn check_links(
        &mut self,
        candidates: &[Candidate],
    ) -> io::Result<Result<BTreeMap<String, Difference>, Ended>> {
        let mut hardest: BTreeMap<String, (u64, &PacketWork)> = BTreeMap::new();
        let controls = candidates.iter().filter(|c| c.cell == self.plan.control_of(c.cell));
        for candidate in controls {
            let Work::Packets(work) = &candidate.work else { continue };
            let entry = hardest.entry(link(work)).or_insert((candidate.cell, work));
            if demand(work) > demand(entry.1) {
                *entry = (candidate.cell, work);
            }
        }
        let mut faulty = BTreeMap::new();
        for (name, (cell, work)) in hardest {
            if self.watch.stop() != Stop::No {
                return Ok(Err(Ended::Stopped));
            }
            let (verdict, roles) = self.check_link(work);
            let faults = match verdict {
                Verdict::Ended(ended) => return Ok(Err(ended)),
                Verdict::Clean => vec![],
                Verdict::Faulty(faults) => faults,
            };
            let (clean, cell) = (faults.is_empty(), self.plan.id(cell));
            let reason = format!("the link {name} does not deliver all of the untouched control {cell}");
            (self.note)(Event::Link(LinkNote {
                link: name.clone(),
                cell,
                clean,
                faults: faults.clone(),
                roles,
            }))?;
            if !clean {
                faulty.insert(name, Difference { reason, evidence: faults });
            }
        }
        Ok(Ok(faulty))
    }

    /// Both ways: at the same time where the cell does so, else one after the other.
    fn check_link(&mut self, work: &PacketWork) -> (Verdict, Vec<RoleNote>) {
        let mut ways = vec![work.clone()];
        if !work.both_ways {
            ways.push(turned(work));
        }
        let (mut faults, mut roles) = (vec![], vec![]);
        for way in ways {
            let deadline_ms = self.plan.campaign.timeout_ms;
            let offer = Offer { rate: least(&way), duration_ms: way.duration_ms, deadline_ms };
            let watch = &*self.watch;
            let end = pass::run(self.lab, &timed_roles(&way, offer), &|| watch.stop());
            match end.trouble {
                Some(Trouble::Lost(why)) => return (Verdict::Ended(Ended::Lost(why)), roles),
                Some(Trouble::Interrupted(_)) => return (Verdict::Ended(Ended::Stopped), roles),
                Some(Trouble::TimedOut(why) | Trouble::Failed(why) | Trouble::Refused(why)) => {
                    faults.push(why);
                    faults.extend(last_words(&end.roles));
                }
                None => {
                    let way = format!("from {} to {}", way.tx, way.rx);
                    faults.extend(
                        delivery::faults(work, &end.roles).into_iter().map(|f| format!("{way}: {f}")),
                    );
                }
            }
            roles.extend(end.roles);
        }
        (if faults.is_empty() { Verdict::Clean } else { Verdict::Faulty(faults) }, roles)
    }
}

/// A link by its ports, the same for both ways.
pub fn link(work: &PacketWork) -> String {
    let ends: BTreeSet<String> = [work.tx.to_string(), work.rx.to_string()].into();
    ends.into_iter().collect::<Vec<_>>().join(" - ")
}

fn turned(work: &PacketWork) -> PacketWork {
    PacketWork {
        tx: work.rx.clone(),
        tx_interface: work.rx_interface.clone(),
        rx: work.tx.clone(),
        rx_interface: work.tx_interface.clone(),
        ..work.clone()
    }
}

/// Frames per second and then bytes; as fast as possible is more than any number.
fn demand(work: &PacketWork) -> (f64, f64) {
    let rate = least(work).unwrap_or(f64::MAX) * f64::from(work.streams);
    // As fast as possible, small frames are the more numerous.
    let bytes = work.frame_size.mean_bytes();
    (rate, if least(work).is_none() { -bytes } else { bytes })
}
