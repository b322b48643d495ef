//! When a trial may begin: its turn among trials of its campaign, its date, and hosts that others have.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::args::{LabArgs, RunArgs};
use super::failure::Failure;
use super::lab::{Opened, open};
use super::signals::Signals;
use super::voice::aside;
use crate::conduct::Stop;
use crate::design::plan::Plan;
use crate::evidence::event::{Event, ScheduleNote, WaitNote};
use crate::record::{Running, Turn, worker};
use crate::schedule::calendar::Schedule;
use crate::schedule::dates::account;
use crate::schedule::parse;
use crate::yaml::Source;

/// A start this long after its date, and no later, is for that date and makes up for nothing. It has to
/// hold what `schedule` may put a start off by.
pub const LATE: Duration = Duration::from_secs(45 * 60);
/// Longest pause between two questions whether the hosts are free.
const PAUSE: Duration = Duration::from_secs(5);

/// What a trial was told about its beginning.
#[derive(Default)]
pub struct Start {
    patience: Duration,
    waited: Duration,
    holder: String,
    due: Option<(ScheduleNote, PathBuf, Timestamp)>,
    _turn: Option<Turn>,
}

impl Start {
    /// Takes the campaign's turn where one was asked for, and looks which date this start is for.
    pub fn of(args: &RunArgs, campaign: &str) -> Result<Start, Failure> {
        let mut start = Start { patience: args.wait.unwrap_or_default(), ..Start::default() };
        if args.due.is_none() && args.wait.is_none() {
            return Ok(start);
        }
        let folder = args.reports.join(campaign);
        let began = Instant::now();
        start._turn = Some(loop {
            if let Some(turn) = Turn::take(&folder)? {
                break turn;
            }
            let holder = format!("another trial of {campaign} on this machine{}", whose(&folder));
            if began.elapsed() >= start.patience {
                return Err(Failure::Taken(format!(
                    "{holder}, and a campaign never runs twice at once\n\
                     next: `fieldtrial status` shows it; --wait 2h waits for its end"
                )));
            }
            start.pause(&holder, began)?;
        });
        start.waited =
            began.elapsed().min(if start.holder.is_empty() { Duration::ZERO } else { Duration::MAX });
        if let Some(expression) = &args.due {
            let schedule = parse(expression).map_err(|why| Failure::Input(format!("--due: {why}")))?;
            start.due = Some(due(&schedule, &folder)?);
        }
        Ok(start)
    }

    /// Opens the hosts, and waits for those that somebody else has.
    pub fn open(
        &mut self,
        plan: &Plan,
        hosts: &Source,
        lab: &LabArgs,
        running: &mut Running,
    ) -> Result<Opened, Failure> {
        let began = Instant::now();
        let mut waited = false;
        loop {
            match open(plan, hosts, lab) {
                Err(Failure::Taken(why)) if !self.patience.is_zero() => {
                    if self.waited + began.elapsed() >= self.patience {
                        return Err(Failure::Taken(format!("{why}\nwaited for {}", told(self.patience))));
                    }
                    waited = true;
                    let holder = why.lines().next().unwrap_or_default().to_owned();
                    running.waits_for(&holder);
                    self.pause(&holder, began)?;
                }
                Err(other) => return Err(other),
                Ok(opened) => {
                    running.waits_for("");
                    if waited {
                        self.waited += began.elapsed();
                    }
                    self.keep_date()?;
                    return Ok(opened);
                }
            }
        }
    }

    /// What the record has to say about the beginning.
    pub fn events(&self) -> Vec<Event> {
        let due = self.due.iter().map(|(note, _, _)| Event::Scheduled(note.clone()));
        let waited = (!self.holder.is_empty()).then(|| {
            Event::Waited(WaitNote { waited_ms: self.waited.as_millis() as u64, holder: self.holder.clone() })
        });
        due.chain(waited).collect()
    }

    fn pause(&mut self, holder: &str, began: Instant) -> Result<(), Failure> {
        if self.holder != holder {
            aside(format_args!("waiting up to {}: {holder}", told(self.patience)));
            self.holder = holder.to_owned();
        }
        let signals = Signals::listen(None);
        let pause = PAUSE.min(began.elapsed() / 2 + Duration::from_millis(100));
        let until = Instant::now() + pause.min(self.patience);
        while Instant::now() < until {
            if signals.stop() != Stop::No {
                return Err(Failure::Unavailable(format!("stopped while waiting: {holder}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// From now on the dates up to this start are accounted for.
    fn keep_date(&self) -> Result<(), Failure> {
        let Some((_, file, now)) = &self.due else { return Ok(()) };
        let text = serde_json::json!({ "last_start": now.to_string() }).to_string() + "\n";
        std::fs::write(file, text).map_err(|error| {
            Failure::Workstation(format!(
                "{} cannot be written: {error}\nnext: make room there",
                file.display()
            ))
        })
    }
}

fn due(schedule: &Schedule, folder: &Path) -> Result<(ScheduleNote, PathBuf, Timestamp), Failure> {
    let file = folder.join("scheduled.json");
    let now = Timestamp::now();
    let last = std::fs::read_to_string(&file).ok().and_then(|text| {
        let value: serde_json::Value = serde_json::from_str(&text).ok()?;
        value.get("last_start")?.as_str()?.parse::<Timestamp>().ok()
    });
    // Before the first start of all nobody waited for anything.
    let since = last.unwrap_or_else(|| now.checked_sub(LATE).unwrap_or(now));
    let (kept, mut missed) = account(schedule, &zone(schedule)?, since, now, LATE.as_secs() as i64);
    if last.is_none() {
        missed.clear();
    }
    let note = ScheduleNote {
        expression: schedule.text.clone(),
        due: kept.map(|at| at.to_string()),
        missed: missed.iter().map(Timestamp::to_string).collect(),
    };
    if !missed.is_empty() {
        aside(format_args!(
            "{} since {since} passed without a start; the record says which",
            super::voice::counted(missed.len() as u64, "date")
        ));
    }
    Ok((note, file, now))
}

/// The zone that an expression names, else that of this machine.
pub fn zone(schedule: &Schedule) -> Result<TimeZone, Failure> {
    match &schedule.zone {
        None => Ok(TimeZone::system()),
        Some(name) => TimeZone::get(name).map_err(|_| {
            Failure::Input(format!("expected a time zone such as Europe/Berlin or UTC, found `{name}`"))
        }),
    }
}

fn whose(folder: &Path) -> String {
    let records = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = records.filter_map(|entry| Some((entry.file_name(), worker(&entry.path())?)));
    found.next().map_or(String::new(), |(record, worker)| {
        format!(" ({}, pid {}, since {})", record.to_string_lossy(), worker.pid, worker.since)
    })
}

/// A time as people write it.
pub fn told(time: Duration) -> String {
    let seconds = time.as_secs();
    let part = |n: u64, unit: &str| if n > 0 { format!("{n}{unit}") } else { String::new() };
    let text = part(seconds / 3600, "h") + &part(seconds / 60 % 60, "m") + &part(seconds % 60, "s");
    if text.is_empty() { format!("{}ms", time.as_millis()) } else { text }
}
