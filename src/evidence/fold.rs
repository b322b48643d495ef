//! A journal folded into the state that judging and resuming read.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::event::{
    Annotation, ArtifactNote, BlockNote, BuildNote, CellNote, ChangeNote, Event, HostNote, LinkNote, Opening,
    ProofNote, PutBackNote, RunNote, ScheduleNote, Session, SessionKind, SettingNote, WaitNote,
};
use crate::model::cell::{CellId, RunKey};
use crate::model::outcome::{Fate, RunOutcome};

/// Everything a record says, in one place. `at` texts are RFC 3339 in UTC.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    pub opening: Option<Opening>,
    pub opened_at: String,
    pub sessions: Vec<(String, Session)>,
    /// Why sessions were begun that a schedule began, each with the index of its session.
    pub schedules: Vec<(usize, ScheduleNote)>,
    /// Waits for hosts, each with the index of its session.
    pub waits: Vec<(usize, WaitNote)>,
    /// Host notes in the order they came, with the index of their session.
    pub hosts: Vec<(usize, HostNote)>,
    /// Baselines of links in the order they were taken, with the index of their session.
    pub links: Vec<(usize, LinkNote)>,
    /// Settings that were changed, each with the index of its session; likewise the four after it.
    pub settings: Vec<(usize, SettingNote)>,
    pub put_back: Vec<(usize, PutBackNote)>,
    pub changes: Vec<(usize, ChangeNote)>,
    pub builds: Vec<(usize, BuildNote)>,
    pub artifacts: Vec<(usize, ArtifactNote)>,
    /// Last note of each cell, in the order cells were first decided.
    pub cells: IndexMap<CellId, CellNote>,
    pub proofs: Vec<ProofNote>,
    pub blocks: BTreeMap<u32, BlockNote>,
    /// Every attempt with its session and the time it ended, in the order they ended.
    pub runs: Vec<RunRow>,
    /// Begun and not ended, with their place in the block and when they began.
    pub open_runs: Vec<(RunKey, u32, String)>,
    /// What persons declared about runs and when, in order.
    pub annotations: Vec<(String, Annotation)>,
    pub complete: bool,
}

#[derive(Debug, Clone)]
pub struct RunRow {
    pub session: usize,
    /// When it began, by its journal line; None where there is none.
    pub began: Option<String>,
    /// When it ended.
    pub at: String,
    pub note: RunNote,
    /// A later attempt of the same cell in the same block counts in its place.
    pub superseded: bool,
    /// What came of the run by itself, where a person has annotated it as invalid: its outcome is then `rejected`.
    pub as_run: Option<AsRun>,
}

/// Outcome of a run before a person annotated it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsRun {
    pub outcome: RunOutcome,
    pub reason: Option<String>,
}

impl RunRow {
    fn annotate(&mut self, at: &str, annotation: &Annotation) {
        let as_run = self
            .as_run
            .take()
            .unwrap_or(AsRun { outcome: self.note.outcome, reason: self.note.reason.clone() });
        if annotation.invalid {
            let Annotation { reason, who, .. } = annotation;
            let second = at.get(..19).map_or(at.to_owned(), |second| format!("{second}Z"));
            self.note.outcome = RunOutcome::Rejected;
            self.note.reason = Some(format!("annotated as invalid by {who} at {second}: {reason}"));
            self.as_run = Some(as_run);
        } else {
            (self.note.outcome, self.note.reason) = (as_run.outcome, as_run.reason);
        }
    }
}

/// The two sums of the glossary.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Sums {
    pub planned_cells: u64,
    pub excluded: u64,
    pub refused: u64,
    pub live: u64,
    /// Runs of live cells over the blocks that were decided, one per cell and block.
    pub runs: u64,
    pub by_outcome: BTreeMap<String, u64>,
    /// Attempts that a resume or rerun added, counted beside.
    pub added_attempts: u64,
}

impl Evidence {
    /// Applies one event; `at` is the time its line carries.
    pub fn apply(&mut self, at: &str, event: Event) {
        let session = self.sessions.len().saturating_sub(1);
        match event {
            Event::Opened(opening) => {
                self.opened_at = at.to_owned();
                self.opening = Some(*opening);
            }
            Event::Session(s) => {
                self.close_open_runs(at, session);
                self.sessions.push((at.to_owned(), s));
            }
            Event::Scheduled(note) => self.schedules.push((session, note)),
            Event::Waited(note) => self.waits.push((session, note)),
            Event::Host(note) => self.hosts.push((session, note)),
            Event::Link(note) => self.links.push((session, note)),
            Event::Setting(note) => self.settings.push((session, note)),
            Event::PutBack(note) => self.put_back.push((session, note)),
            Event::Changed(note) => self.changes.push((session, note)),
            Event::Built(note) => self.builds.push((session, note)),
            Event::Artifact(note) => self.artifacts.push((session, note)),
            Event::Cell(note) => {
                self.cells.insert(note.cell.clone(), note);
            }
            Event::Proof(note) => self.proofs.push(note),
            Event::Block(note) => {
                self.blocks.entry(note.block).or_insert(note);
            }
            Event::RunBegan { run, position } => {
                self.open_runs.push((run, position, at.to_owned()));
            }
            Event::RunEnded(mut note) => {
                note.settle();
                let open = self.open_runs.iter().position(|(run, ..)| *run == note.run);
                let began = open.map(|open| self.open_runs.swap_remove(open).2);
                self.ended(session, began, at, *note);
            }
            Event::Annotated(annotation) => {
                if let Some(row) = self.runs.iter_mut().rev().find(|row| row.note.run == annotation.run) {
                    row.annotate(at, &annotation);
                }
                self.annotations.push((at.to_owned(), annotation));
            }
            Event::Closed { complete, .. } => {
                self.close_open_runs(at, session);
                // A rerun that came to its end does not complete the trial itself.
                if self.sessions.last().is_none_or(|(_, s)| s.kind != SessionKind::Rerun) {
                    self.complete = complete;
                }
            }
        }
    }

    /// To be called after the last event: what was begun and never ended is `interrupted`.
    pub fn finish(&mut self, at: &str) {
        self.close_open_runs(at, self.sessions.len().saturating_sub(1));
    }

    fn close_open_runs(&mut self, at: &str, session: usize) {
        for (run, position, began) in std::mem::take(&mut self.open_runs) {
            let reason = "the session ended while this run was under way".to_owned();
            let note = RunNote::unobserved(run, position, RunOutcome::Interrupted, reason);
            self.ended(session, Some(began), at, note);
        }
    }

    fn ended(&mut self, session: usize, began: Option<String>, at: &str, note: RunNote) {
        let run = &note.run;
        // A first attempt follows none, so that a hundred thousand runs are not compared with each other.
        if run.attempt > 1 {
            let before = self.runs.iter_mut().filter(|row| {
                let other = &row.note.run;
                other.block == run.block && other.cell == run.cell
            });
            before.for_each(|row| row.superseded = true);
        }
        self.runs.push(RunRow { session, began, at: at.to_owned(), note, superseded: false, as_run: None });
    }

    /// The same record as if nobody had annotated any run; None where no annotation holds.
    pub fn as_run(&self) -> Option<Evidence> {
        self.runs.iter().any(|row| row.as_run.is_some()).then(|| {
            let mut evidence = self.clone();
            for row in &mut evidence.runs {
                if let Some(as_run) = row.as_run.take() {
                    (row.note.outcome, row.note.reason) = (as_run.outcome, as_run.reason);
                }
            }
            evidence.annotations.clear();
            evidence
        })
    }

    /// What the last session could not put back, host by host; empty where all is as it was.
    pub fn stuck(&self) -> BTreeMap<&str, &[String]> {
        let last = self.sessions.len().saturating_sub(1);
        let notes = self.put_back.iter().filter(|(session, _)| *session == last);
        // A later note of a host tells of all that is still changed there.
        let hosts: BTreeMap<&str, &[String]> =
            notes.map(|(_, note)| (note.host.as_str(), note.done.stuck.as_slice())).collect();
        hosts.into_iter().filter(|(_, stuck)| !stuck.is_empty()).collect()
    }

    /// Is this block one that the plan had, not one that a rerun added?
    pub fn is_planned_block(&self, block: u32) -> bool {
        self.blocks.get(&block).is_none_or(|b| b.rerun_of.is_none())
    }

    /// The last attempt of each cell in each planned block: what the run sum counts and what the
    /// analysis of the first measurement uses; block by block, in the order of their places.
    pub fn planned_runs(&self) -> Vec<&RunRow> {
        self.planned_places().into_iter().map(|place| &self.runs[place]).collect()
    }

    /// The same as places in `runs`.
    pub fn planned_places(&self) -> Vec<usize> {
        let counts = |row: &RunRow| !row.superseded && self.is_planned_block(row.note.run.block);
        let mut places: Vec<usize> =
            (0..self.runs.len()).filter(|place| counts(&self.runs[*place])).collect();
        places.sort_unstable_by_key(|place| {
            let note = &self.runs[*place].note;
            (note.run.block, note.position, *place)
        });
        places
    }

    pub fn sums(&self) -> Sums {
        let fate = |f: Fate| self.cells.values().filter(|c| c.fate == f).count() as u64;
        let planned = self.planned_runs();
        let mut by_outcome: BTreeMap<String, u64> =
            RunOutcome::ALL.iter().map(|o| (o.name().to_owned(), 0)).collect();
        for row in &planned {
            *by_outcome.entry(row.note.outcome.name().to_owned()).or_default() += 1;
        }
        Sums {
            planned_cells: self.opening.as_ref().map_or(0, |o| o.planned_cells),
            excluded: fate(Fate::Excluded),
            refused: fate(Fate::Refused),
            live: fate(Fate::Live),
            runs: planned.len() as u64,
            by_outcome,
            added_attempts: (self.runs.len() - planned.len()) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::example::Record;

    #[test]
    fn the_last_annotation_of_a_run_holds_and_takes_nothing_away() {
        let mut record = Record::pairs(&[1.0, 1.1], &[1.2, 1.3]);
        let before = record.evidence.runs.clone();
        let annotate = |record: &mut Record, invalid| {
            let run = record.evidence.runs[3].note.run.clone();
            let annotation =
                Annotation { run, invalid, reason: "the fan was off".into(), who: "a@desk".into() };
            record.push(Event::Annotated(annotation));
        };
        annotate(&mut record, true);
        let row = &record.evidence.runs[3];
        assert_eq!(row.note.outcome, RunOutcome::Rejected);
        assert!(
            row.note.reason.as_ref().is_some_and(|r| r.contains("a@desk") && r.ends_with("the fan was off"))
        );
        assert_eq!(row.note.values, before[3].note.values, "what was observed stays");
        assert_eq!(record.evidence.sums().by_outcome["rejected"], 1);
        let as_run = record.evidence.as_run().expect("an annotation holds");
        assert_eq!(as_run.runs[3].note, before[3].note);
        annotate(&mut record, false);
        assert_eq!(record.evidence.runs[3].note, before[3].note);
        assert!(record.evidence.as_run().is_none());
        assert_eq!(record.evidence.annotations.len(), 2, "both are told");
    }
}
