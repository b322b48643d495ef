//! A trial from decided cells over proofs to timed blocks, one event at a time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use super::baseline;
use super::decide::{Candidate, decide, note};
use super::lab::Lab;
use super::prepare::{Preparation, Unready};
use super::run::{ProofFault, measure, prove};
use super::steering;
use super::watch::{Stop, Watch};
use super::workshop::Unequipped;
use crate::design::plan::Plan;
use crate::evidence::event::{BlockNote, Event, ProofNote, RunNote};
use crate::evidence::fold::Evidence;
use crate::model::cell::{CellId, RunKey};
use crate::model::facts::Facts;
use crate::model::outcome::{Fate, RunOutcome};
use crate::model::proof::Proof;
use crate::model::workload::Work;
use crate::verify::{Difference, Known, Verified, prove as accept_proof, unchanged};

/// What a session was asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Every planned run that the record does not have yet.
    Rest,
    /// One cell with its control, as a new block.
    Again(u64),
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Complete,
    Stopped,
    Lost(String),
    /// The work is no longer what the record holds, so nothing was added to it.
    Changed(String),
}

/// One session of work on a record. `note` must have stored an event when it returns.
pub struct Trial<'a> {
    pub plan: &'a Plan,
    pub facts: &'a BTreeMap<String, Facts>,
    pub lab: &'a mut dyn Lab,
    pub watch: &'a mut dyn Watch,
    pub note: &'a mut dyn FnMut(Event) -> io::Result<()>,
    /// What the record held before this session.
    pub before: &'a Evidence,
    /// Whether the answer is precise enough for the trial to end, by all that was noted so far; asked
    /// only where the campaign has `until`.
    pub enough: &'a dyn Fn() -> bool,
    /// Nothing is prepared yet: `Preparation::default()`.
    pub preparation: Preparation,
}

/// A cell on its way: proven now, or live before and no longer provable.
enum Standing {
    Proven(Verified),
    Lapsed(String),
}

impl Trial<'_> {
    /// Does what was asked and closes the session.
    ///
    /// # Errors
    /// The record cannot be written; what was written before stays valid.
    pub fn conduct(mut self, asked: Asked) -> io::Result<Ended> {
        let ended = self.work_through(asked);
        // Whatever came of it; where even that cannot be noted, the hosts are put back all the same.
        let put_back = self.preparation.put_back(self.lab, self.note);
        let ended = ended?;
        put_back?;
        let reason = match &ended {
            Ended::Complete => None,
            Ended::Stopped => Some("stopped on request".to_owned()),
            Ended::Lost(why) | Ended::Changed(why) => Some(why.clone()),
        };
        (self.note)(Event::Closed { complete: ended == Ended::Complete, reason })?;
        Ok(ended)
    }

    fn work_through(&mut self, asked: Asked) -> io::Result<Ended> {
        let candidates = match self.decide_cells(asked)? {
            Ok(candidates) => candidates,
            Err(changed) => return Ok(Ended::Changed(changed)),
        };
        let mut standing = HashMap::new();
        let candidates = match self.equip_cells(candidates, &mut standing)? {
            Ok(candidates) => candidates,
            Err(ended) => return Ok(ended),
        };
        if let Some(ended) = self.prove_cells(&candidates, &mut standing)? {
            return Ok(ended);
        }
        let works: HashMap<u64, Work> = candidates.into_iter().map(|c| (c.cell, c.work)).collect();
        match asked {
            Asked::Rest => self.measure_blocks(&works, &standing),
            Asked::Again(cell) => self.measure_again(cell, &works, &standing),
        }
    }

    /// Cells to go on with, or why one that was live cannot go on.
    fn decide_cells(&mut self, asked: Asked) -> io::Result<Result<Vec<Candidate>, String>> {
        let cells: Box<dyn Iterator<Item = u64>> = match asked {
            Asked::Rest => Box::new(0..self.plan.cells()),
            Asked::Again(cell) => {
                let control = self.plan.control_of(cell);
                Box::new([control].into_iter().chain((cell != control).then_some(cell)))
            }
        };
        let mut candidates = Vec::new();
        for cell in cells {
            let known = self.before.cells.get(&self.plan.id(cell)).map(|c| c.fate);
            if matches!(known, Some(Fate::Excluded | Fate::Refused)) {
                continue;
            }
            match decide(self.plan, self.facts, cell) {
                Ok(candidate) => candidates.push(candidate),
                Err(note) if known == Some(Fate::Live) => {
                    return Ok(Err(format!("{}: {}", note.cell, note.reason.unwrap_or_default())));
                }
                Err(note) => (self.note)(Event::Cell(*note))?,
            }
        }
        if asked == Asked::Rest {
            self.drop_finished(&mut candidates);
        }
        Ok(Ok(candidates))
    }

    /// Points of which every planned run is there need no proof any more.
    fn drop_finished(&self, candidates: &mut Vec<Candidate>) {
        let blocks = self.end_known();
        if self.before.runs.is_empty() || (blocks < self.plan.campaign.blocks.most() && !(self.enough)()) {
            return;
        }
        let done = self.done();
        let open: HashSet<u64> = candidates
            .iter()
            .filter(|c| (1..=blocks).any(|block| !done.contains(&(self.plan.id(c.cell), block))))
            .map(|c| self.plan.point_of(c.cell))
            .collect();
        candidates.retain(|c| open.contains(&self.plan.point_of(c.cell)));
    }

    /// Blocks after which the trial may end, as far as the record knows before this session.
    fn end_known(&self) -> u32 {
        let planned = self.before.blocks.values().filter(|b| b.rerun_of.is_none());
        self.plan.campaign.blocks.end_from(planned.map(|b| b.block).max().unwrap_or(0))
    }

    /// Cell and block of every planned run that has an outcome other than interrupted.
    fn done(&self) -> HashSet<(CellId, u32)> {
        self.before
            .planned_runs()
            .into_iter()
            .filter(|row| row.note.outcome != RunOutcome::Interrupted)
            .map(|row| (row.note.run.cell.clone(), row.note.run.block))
            .collect()
    }

    /// Builds and brings every program that the cells need; those that cannot have theirs are turned down.
    fn equip_cells(
        &mut self,
        candidates: Vec<Candidate>,
        standing: &mut HashMap<u64, Standing>,
    ) -> io::Result<Result<Vec<Candidate>, Ended>> {
        self.preparation.workshop.recall(self.before);
        let mut equipped = vec![];
        for Candidate { cell, work } in candidates {
            if self.watch.stop() != Stop::No {
                return Ok(Err(Ended::Stopped));
            }
            let watch = &*self.watch;
            let stop = || watch.stop();
            match self.preparation.workshop.equip(self.lab, work, self.note, &stop)? {
                Ok(work) => equipped.push(Candidate { cell, work }),
                Err(Unequipped::Refused(stage, difference)) => {
                    self.turn_down(cell, stage, difference, standing)?;
                }
                Err(Unequipped::Lost(why)) => return Ok(Err(Ended::Lost(why))),
                Err(Unequipped::Interrupted) => return Ok(Err(Ended::Stopped)),
            }
        }
        Ok(Ok(equipped))
    }

    fn prove_cells(
        &mut self,
        candidates: &[Candidate],
        standing: &mut HashMap<u64, Standing>,
    ) -> io::Result<Option<Ended>> {
        let mut known = Known::default();
        let earlier: HashMap<&CellId, &Proof> =
            self.before.proofs.iter().filter(|p| p.accepted).map(|p| (&p.cell, &p.proof)).collect();
        let faulty = match self.plan.campaign.baseline {
            false => BTreeMap::new(),
            true => match self.check_links(candidates)? {
                Ok(faulty) => faulty,
                Err(ended) => return Ok(Some(ended)),
            },
        };
        self.watch.proving(candidates.len() as u64);
        let mut past = None;
        for Candidate { cell, work } in candidates {
            if self.watch.stop() != Stop::No {
                return Ok(Some(Ended::Stopped));
            }
            if let Work::Packets(work) = work
                && let Some(difference) = faulty.get(&baseline::link(work))
            {
                self.turn_down(*cell, "link", difference.clone(), standing)?;
                continue;
            }
            let id = self.plan.id(*cell);
            let control = self.plan.control_of(*cell);
            let control_proof = match standing.get(&control) {
                Some(Standing::Proven(verified)) => Some(verified),
                _ => None,
            };
            if *cell != control && control_proof.is_none() {
                let reason = format!("its control {} could not be proven", self.plan.id(control));
                self.turn_down(*cell, "proof", Difference { reason, evidence: vec![] }, standing)?;
                continue;
            }
            match self.preparation.bring_about(self.lab, self.plan, *cell, work, self.note)? {
                Ok(()) => {}
                Err(Unready::Lost(why)) => return Ok(Some(Ended::Lost(why))),
                Err(Unready::Refused(difference)) => {
                    self.turn_down(*cell, "host", difference, standing)?;
                    continue;
                }
            }
            let watch = &*self.watch;
            let stop = || watch.stop();
            let proven = match steering::astray(self.lab, self.plan, *cell, work, &stop) {
                Some(astray) => astray,
                None => prove(self.lab, &self.plan.campaign, work, &stop),
            };
            let verdict = match proven.fault {
                Some(ProofFault::Lost(why)) => return Ok(Some(Ended::Lost(why))),
                Some(ProofFault::Interrupted) => return Ok(Some(Ended::Stopped)),
                Some(ProofFault::Refuse(stage, difference)) => Err((stage, difference)),
                None => accept_proof(&id, proven.proof.clone(), proven.texts, control_proof, &mut known)
                    .map_err(|difference| ("proof", difference)),
            };
            if let (Ok(_), Some(earlier)) = (&verdict, earlier.get(&id))
                && let Err(difference) = unchanged(earlier, &proven.proof)
            {
                let evidence = difference.evidence.join("\n  ");
                return Ok(Some(Ended::Changed(format!("{id}: {}\n  {evidence}", difference.reason))));
            }
            (self.note)(Event::Proof(ProofNote {
                cell: id.clone(),
                proof: proven.proof,
                accepted: verdict.is_ok(),
                roles: proven.roles,
            }))?;
            match verdict {
                Ok(mut verified) => {
                    self.watch.proven(&id, None);
                    (self.note)(Event::Cell(note(self.plan, *cell, Fate::Live, None)))?;
                    // Only the control of the point under way is still compared line by line.
                    match *cell == control {
                        true => {
                            if let Some(Standing::Proven(past)) =
                                past.and_then(|past| standing.get_mut(&past))
                            {
                                past.cut();
                            }
                            past = Some(control);
                        }
                        false => verified.cut(),
                    }
                    standing.insert(*cell, Standing::Proven(verified));
                }
                Err((stage, difference)) => self.turn_down(*cell, stage, difference, standing)?,
            }
        }
        Ok(None)
    }

    /// A cell that was never live is refused. One that was keeps its runs, and those still to come
    /// are rejected.
    fn turn_down(
        &mut self,
        cell: u64,
        stage: &'static str,
        difference: Difference,
        standing: &mut HashMap<u64, Standing>,
    ) -> io::Result<()> {
        let id = self.plan.id(cell);
        let told: Vec<&str> =
            [&difference.reason].into_iter().chain(&difference.evidence).map(String::as_str).collect();
        self.watch.proven(&id, Some(&told.join("\n")));
        if self.before.cells.get(&id).is_some_and(|c| c.fate == Fate::Live) {
            let reason = format!("live before, but now {}", difference.reason);
            standing.insert(cell, Standing::Lapsed(reason));
            return Ok(());
        }
        let why = Some((stage, difference.reason, difference.evidence));
        (self.note)(Event::Cell(note(self.plan, cell, Fate::Refused, why)))
    }

    fn measure_blocks(
        &mut self,
        works: &HashMap<u64, Work>,
        standing: &HashMap<u64, Standing>,
    ) -> io::Result<Ended> {
        let done = self.done();
        let rule = &self.plan.campaign.blocks;
        let mut end = self.end_known();
        self.watch.measuring((standing.len() as u64 * u64::from(end)).saturating_sub(done.len() as u64));
        let hosts = hosts_of(works);
        self.preparation.look_around(self.lab, self.plan, &hosts, 0, self.note)?;
        for block in 1..=rule.most() {
            if block > end {
                if (self.enough)() {
                    break;
                }
                let more = rule.end_from(block) - end;
                end += more;
                self.watch.measuring(standing.len() as u64 * u64::from(more));
            }
            let order: Vec<u64> = self.plan.order(block).filter(|cell| standing.contains_key(cell)).collect();
            if order.is_empty() {
                continue;
            }
            let places = match self.before.blocks.get(&block) {
                Some(begun) => begun.order.clone(),
                None => {
                    let order: Vec<CellId> = order.iter().map(|cell| self.plan.id(*cell)).collect();
                    let note = BlockNote { block, rerun_of: None, order: order.clone() };
                    (self.note)(Event::Block(note))?;
                    order
                }
            };
            if !self.plan.campaign.hard_to_change.is_empty() {
                self.preparation.start_over(self.lab, self.plan, self.note)?;
            }
            let places: HashMap<CellId, u32> = places.into_iter().zip(1..).collect();
            for cell in order {
                let id = self.plan.id(cell);
                if done.contains(&(id.clone(), block)) {
                    continue;
                }
                if self.watch.stop() != Stop::No {
                    return Ok(Ended::Stopped);
                }
                let position = places.get(&id).copied().unwrap_or(0);
                if let Some(ended) = self.one_run(cell, block, position, works, standing)? {
                    return Ok(ended);
                }
            }
            self.preparation.look_around(self.lab, self.plan, &hosts, block, self.note)?;
        }
        Ok(Ended::Complete)
    }

    fn measure_again(
        &mut self,
        cell: u64,
        works: &HashMap<u64, Work>,
        standing: &HashMap<u64, Standing>,
    ) -> io::Result<Ended> {
        if !standing.contains_key(&cell) {
            return Ok(Ended::Complete);
        }
        let last = self.before.blocks.keys().next_back().copied().unwrap_or(0);
        let block = last.max(self.plan.campaign.blocks.most()) + 1;
        let control = self.plan.control_of(cell);
        let mut order = vec![control];
        order.extend((cell != control).then_some(cell));
        if block.is_multiple_of(2) {
            order.reverse();
        }
        order.retain(|cell| standing.contains_key(cell));
        self.watch.measuring(order.len() as u64);
        let ids = order.iter().map(|cell| self.plan.id(*cell)).collect();
        (self.note)(Event::Block(BlockNote { block, rerun_of: Some(self.plan.id(cell)), order: ids }))?;
        for (place, cell) in order.into_iter().enumerate() {
            if self.watch.stop() != Stop::No {
                return Ok(Ended::Stopped);
            }
            if let Some(ended) = self.one_run(cell, block, place as u32 + 1, works, standing)? {
                return Ok(ended);
            }
        }
        Ok(Ended::Complete)
    }

    fn one_run(
        &mut self,
        cell: u64,
        block: u32,
        position: u32,
        works: &HashMap<u64, Work>,
        standing: &HashMap<u64, Standing>,
    ) -> io::Result<Option<Ended>> {
        let id = self.plan.id(cell);
        let earlier = match self.before.blocks.contains_key(&block) {
            false => 0,
            true => {
                let same = |run: &RunKey| run.cell == id && run.block == block;
                self.before.runs.iter().filter(|r| same(&r.note.run)).count()
            }
        };
        let key = RunKey { cell: id, block, attempt: earlier as u32 + 1 };
        self.watch.run_began(&key);
        (self.note)(Event::RunBegan { run: key.clone(), position })?;
        let (run, lost) = match (standing.get(&cell), works.get(&cell)) {
            (Some(Standing::Proven(verified)), Some(work)) => {
                match self.preparation.bring_about(self.lab, self.plan, cell, work, self.note)? {
                    Ok(()) => {
                        let watch = &*self.watch;
                        let stop = || watch.stop();
                        measure(self.lab, &self.plan.campaign, verified, work, key, position, &stop)
                    }
                    Err(unready) => never_ran(key, position, unready),
                }
            }
            (Some(Standing::Lapsed(reason)), _) => (lapsed(key, position, reason.clone()), None),
            _ => (lapsed(key, position, "it was never proven".into()), None),
        };
        self.watch.run_ended(&run);
        let interrupted = run.outcome == RunOutcome::Interrupted;
        (self.note)(Event::RunEnded(Box::new(run)))?;
        Ok(match lost {
            Some(why) => Some(Ended::Lost(why)),
            None if interrupted => Some(Ended::Stopped),
            None => None,
        })
    }
}

/// Hosts that these works run on.
fn hosts_of(works: &HashMap<u64, Work>) -> Vec<String> {
    let mut hosts: Vec<String> = works.values().flat_map(Work::hosts).map(str::to_owned).collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

fn never_ran(run: RunKey, position: u32, unready: Unready) -> (RunNote, Option<String>) {
    match unready {
        Unready::Refused(why) => (RunNote::unobserved(run, position, RunOutcome::Failed, why.reason), None),
        Unready::Lost(why) => {
            (RunNote::unobserved(run, position, RunOutcome::Interrupted, why.clone()), Some(why))
        }
    }
}

fn lapsed(run: RunKey, position: u32, reason: String) -> RunNote {
    RunNote::unobserved(run, position, RunOutcome::Rejected, reason)
}
