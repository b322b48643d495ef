//! The instants that a schedule means in a time zone: each local time once, and none of them lost.

use std::collections::BTreeMap;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan};

use super::calendar::{DAY, Field, HOUR, MINUTE, MONTH, Rule, Schedule};

/// One date of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    pub at: Timestamp,
    /// Local time that was asked for.
    pub local: DateTime,
    pub kind: Kind,
}

/// How a local time became an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// It does not exist that day; the first instant after the gap stands for it.
    Shifted,
    /// It occurs twice; this is the first.
    First,
    /// It occurs twice, and every hour is asked for, so that this second one counts too.
    Second,
}

/// How far a date is looked for. A 29th of February can be eight years away.
const MOST_DAYS: u32 = 12 * 366;
/// Dates that a look ahead may find in one go: a year of every minute.
const MOST_DATES: usize = 600_000;

/// The next dates after an instant, at most `count`; fewer where there are no more.
pub fn next(schedule: &Schedule, zone: &TimeZone, after: Timestamp, count: usize) -> Vec<Due> {
    // Days that are changed by the zone may come out of order, so a few more are looked at.
    let mut found = look(schedule, zone, after, |found, day| found < count + 64 && day < MOST_DAYS);
    found.truncate(count);
    found
}

/// All dates after one instant and not after another.
pub fn between(schedule: &Schedule, zone: &TimeZone, after: Timestamp, until: Timestamp) -> Vec<Due> {
    let days = (until.as_second() - after.as_second()).max(0) / 86_400 + 3;
    let mut found = look(schedule, zone, after, |found, day| i64::from(day) < days && found < MOST_DATES);
    found.retain(|due| due.at <= until);
    found
}

fn look(
    schedule: &Schedule,
    zone: &TimeZone,
    after: Timestamp,
    more: impl Fn(usize, u32) -> bool,
) -> Vec<Due> {
    let mut found: BTreeMap<Timestamp, Due> = BTreeMap::new();
    let begin = zone.to_datetime(after).date();
    let Ok(mut date) = begin.yesterday() else { return vec![] };
    let mut day = 0;
    while more(found.len(), day) {
        for rule in schedule.rules.iter().filter(|rule| rule.fits(date)) {
            for due in of_day(rule, date, zone) {
                // A time that exists stands before one that was moved onto it.
                if due.at > after && found.get(&due.at).is_none_or(|known| known.kind == Kind::Shifted) {
                    found.insert(due.at, due);
                }
            }
        }
        let Ok(tomorrow) = date.tomorrow() else { break };
        date = tomorrow;
        day += 1;
    }
    found.into_values().collect()
}

fn of_day(rule: &Rule, date: Date, zone: &TimeZone) -> Vec<Due> {
    let mut found = vec![];
    for hour in rule.hours.values(HOUR) {
        for minute in rule.minutes.values(MINUTE) {
            let Ok(time) = Time::new(hour as i8, minute as i8, rule.second as i8, 0) else { continue };
            let local = date.to_datetime(time);
            found.extend(instants(local, rule.hours == Field::Every, zone));
        }
    }
    found
}

fn instants(local: DateTime, every_hour: bool, zone: &TimeZone) -> Vec<Due> {
    let due = |at: Option<Timestamp>, kind| at.map(|at| Due { at, local, kind });
    let found = match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => [due(offset.to_timestamp(local).ok(), Kind::Plain), None],
        AmbiguousOffset::Gap { after, .. } => {
            // By the clock after the gap the time still lies before it.
            let before = after.to_timestamp(local).ok();
            let end =
                before.and_then(|before| zone.following(before).next()).map(|change| change.timestamp());
            [due(end, Kind::Shifted), None]
        }
        AmbiguousOffset::Fold { before, after } => [
            due(before.to_timestamp(local).ok(), Kind::First),
            due(after.to_timestamp(local).ok(), Kind::Second).filter(|_| every_hour),
        ],
    };
    found.into_iter().flatten().collect()
}

/// Dates that systemd's own reading of the local times would miss: those that it skips because they do
/// not exist, and the second round of an hour that occurs twice.
pub fn missed_by_systemd(
    schedule: &Schedule,
    zone: &TimeZone,
    after: Timestamp,
    years: u32,
) -> Vec<Timestamp> {
    let mut found = vec![];
    let until = after.checked_add((24 * 366 * i64::from(years)).hours()).unwrap_or(after);
    for change in zone.following(after).take_while(|change| change.timestamp() < until) {
        let day = 36.hours();
        let (Ok(from), Ok(to)) = (change.timestamp().checked_sub(day), change.timestamp().checked_add(day))
        else {
            continue;
        };
        let odd = between(schedule, zone, from, to);
        found.extend(
            odd.iter().filter(|due| matches!(due.kind, Kind::Shifted | Kind::Second)).map(|due| due.at),
        );
    }
    found.retain(|at| *at > after);
    found
}

/// What a reader should know of the coming year: times that do not exist or occur twice, months that are
/// left out, and how seldom it comes. Nothing where there is nothing to say.
pub fn remarks(schedule: &Schedule, zone: &TimeZone, after: Timestamp) -> Vec<String> {
    let mut remarks = schedule.hints.clone();
    let name = zone.iana_name().unwrap_or("this zone");
    let year = after.checked_add((24 * 366).hours()).unwrap_or(after);
    let coming = between(schedule, zone, after, year);
    let told = |kind: Kind| {
        let found = coming.iter().filter(|due| due.kind == kind);
        let mut days: Vec<&Due> = found.collect();
        days.dedup_by_key(|due| due.local.date());
        days
    };
    let minute = |local: DateTime| local.strftime("%Y-%m-%d %H:%M").to_string();
    for due in told(Kind::Shifted) {
        remarks.push(format!(
            "{} does not exist in {name}: it runs at {} instead, at the end of the gap",
            minute(due.local),
            minute(zone.to_datetime(due.at))
        ));
    }
    let twice = told(Kind::Second);
    for due in told(Kind::First) {
        let both = twice.iter().any(|other| other.local.date() == due.local.date());
        let what = if both {
            "it runs in both rounds, so that no hour is left out"
        } else {
            "it runs once, at the first"
        };
        remarks.push(format!("{} occurs twice in {name}: {what}", minute(due.local)));
    }
    let longest = |month: i16| match month {
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    for rule in &schedule.rules {
        let Field::Only(days) = &rule.days else { continue };
        let months = rule.months.values(MONTH);
        let without = months.iter().filter(|month| days.iter().all(|day| *day > longest(**month))).count();
        if without > 0 && DAY.2 >= 28 {
            remarks
                .push(format!("{without} of {} months have no such day, or not in every year", months.len()));
        }
    }
    if coming.is_empty()
        && let Some(first) = next(schedule, zone, after, 1).first()
    {
        remarks.push(format!("the next date is more than a year away: {}", minute(first.local)));
    }
    remarks
}

/// Dates since the last start that were not kept, and the one that this start is for.
///
/// `late` is how long after a date a start still counts as being for it.
pub fn account(
    schedule: &Schedule,
    zone: &TimeZone,
    last: Timestamp,
    now: Timestamp,
    late_s: i64,
) -> (Option<Timestamp>, Vec<Timestamp>) {
    let mut due: Vec<Timestamp> = between(schedule, zone, last, now).into_iter().map(|due| due.at).collect();
    let kept = due.last().copied().filter(|at| now.as_second() - at.as_second() <= late_s);
    if kept.is_some() {
        due.pop();
    }
    (kept, due)
}
