//! Calendar expressions as systemd writes them: weekdays, date, time, time zone.

use std::collections::BTreeSet;

use super::calendar::{Bounds, DAY, Field, HOUR, MINUTE, MONTH, Rule, SECOND, Schedule, YEAR};

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const WORDS: [(&str, &str); 8] = [
    ("hourly", "*-*-* *:00:00"),
    ("daily", "*-*-* 00:00:00"),
    ("weekly", "Mon *-*-* 00:00:00"),
    ("monthly", "*-*-01 00:00:00"),
    ("quarterly", "*-01,04,07,10-01 00:00:00"),
    ("semiannually", "*-01,07-01 00:00:00"),
    ("yearly", "*-01-01 00:00:00"),
    ("annually", "*-01-01 00:00:00"),
];
const EXAMPLE: &str = "for example `Mon..Fri 02:00`, `*-*-01 04:30 Europe/Berlin`, or cron's `0 2 * * 1-5`";

/// # Errors
/// What was expected and what was found.
pub fn parse(text: &str) -> Result<Schedule, String> {
    let (head, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let full = match WORDS.iter().find(|(word, _)| *word == head) {
        Some((_, means)) => format!("{means} {rest}"),
        None => text.to_owned(),
    };
    let mut words = full.split_whitespace().peekable();
    let mut rule = Rule {
        weekdays: Field::Every,
        years: Field::Every,
        months: Field::Every,
        days: Field::Every,
        hours: Field::only(0),
        minutes: Field::only(0),
        second: 0,
    };
    let begins_with_letter = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    let mut any = false;
    if let Some(word) = words.next_if(|word| begins_with_letter(word) && !is_zone(word)) {
        rule.weekdays = weekdays(word)?;
        any = true;
    }
    if let Some(word) =
        words.next_if(|word| word.contains('-') && !begins_with_letter(word) && !word.contains(':'))
    {
        date(word, &mut rule)?;
        any = true;
    }
    if let Some(word) = words.next_if(|word| word.contains(':')) {
        time(word, &mut rule)?;
        any = true;
    }
    let zone = words.next_if(|word| is_zone(word)).map(str::to_owned);
    match words.next() {
        Some(word) => {
            Err(format!("expected weekdays, a date, a time and a time zone, found `{word}`; {EXAMPLE}"))
        }
        None if !any => Err(format!("expected a calendar expression, found `{text}`; {EXAMPLE}")),
        None => Ok(Schedule { text: text.to_owned(), rules: vec![rule], zone, hints: vec![] }),
    }
}

/// Zones are known by a slash, or by being UTC.
fn is_zone(word: &str) -> bool {
    word == "UTC" || (word.contains('/') && word.starts_with(|c: char| c.is_ascii_alphabetic()))
}

fn weekdays(word: &str) -> Result<Field, String> {
    let day = |name: &str| {
        let lower = name.to_ascii_lowercase();
        let found = WEEKDAYS.iter().position(|known| *known == lower || known[..3] == lower);
        found
            .map(|at| at as i16)
            .ok_or_else(|| format!("expected a weekday such as Mon or Mon..Fri, found `{name}`; {EXAMPLE}"))
    };
    let mut days = BTreeSet::new();
    for part in word.split(',').filter(|part| !part.is_empty()) {
        let (from, to) = part.split_once("..").or(part.split_once('-')).unwrap_or((part, part));
        let (from, to) = (day(from)?, day(to)?);
        if from > to {
            return Err(format!("expected weekdays in the order of a week from Monday, found `{part}`"));
        }
        days.extend(from..=to);
    }
    Ok(Field::Only(days))
}

fn date(word: &str, rule: &mut Rule) -> Result<(), String> {
    let parts: Vec<&str> = word.split('-').collect();
    let (month, day) = match parts[..] {
        [year, month, day] => {
            rule.years = field(year, YEAR, "..")?;
            (month, day)
        }
        [month, day] => (month, day),
        _ => return Err(format!("expected a date such as *-*-01 or 12-24, found `{word}`")),
    };
    (rule.months, rule.days) = (field(month, MONTH, "..")?, field(day, DAY, "..")?);
    Ok(())
}

fn time(word: &str, rule: &mut Rule) -> Result<(), String> {
    let parts: Vec<&str> = word.split(':').collect();
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, "0"),
        [hour, minute, second] => (hour, minute, second),
        _ => return Err(format!("expected a time such as 02:00, found `{word}`")),
    };
    (rule.hours, rule.minutes) = (field(hour, HOUR, "..")?, field(minute, MINUTE, "..")?);
    rule.second = match field(second, SECOND, "..")?.values(SECOND)[..] {
        [one] => one as u8,
        _ => {
            return Err(format!(
                "expected one second in the minute, since no trial is that short, found `{second}`"
            ));
        }
    };
    Ok(())
}

/// One field: `*`, numbers, ranges, and steps after a slash, joined by commas.
///
/// # Errors
/// What was expected and what was found.
pub fn field(text: &str, bounds: Bounds, range: &str) -> Result<Field, String> {
    let Bounds(name, least, most) = bounds;
    if text == "*" {
        return Ok(Field::Every);
    }
    let number = |part: &str| {
        let value: Option<i16> = part.parse().ok().filter(|_| part.bytes().all(|b| b.is_ascii_digit()));
        value
            .filter(|value| (least..=most).contains(value))
            .ok_or_else(|| format!("expected {name} from {least} to {most}, found `{part}`"))
    };
    let mut values = BTreeSet::new();
    for part in text.split(',') {
        let (body, step) = match part.split_once('/') {
            None => (part, None),
            Some((body, step)) => {
                let step: Option<i16> = step.parse().ok().filter(|step| *step > 0);
                (
                    body,
                    Some(step.ok_or_else(|| {
                        format!("expected a step of at least 1 for {name}, found `{part}`")
                    })?),
                )
            }
        };
        let (from, to) = match body.split_once(range) {
            _ if body == "*" => (least, most),
            Some((from, to)) => (number(from)?, number(to)?),
            None if step.is_some() => (number(body)?, most),
            None => (number(body)?, number(body)?),
        };
        if from > to {
            return Err(format!("expected a range that goes up, found `{body}`"));
        }
        values.extend((from..=to).step_by(step.unwrap_or(1) as usize));
    }
    let all = (least..=most).all(|value| values.contains(&value));
    Ok(if all { Field::Every } else { Field::Only(values) })
}
