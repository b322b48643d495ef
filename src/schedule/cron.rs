//! Schedules in the five fields of cron, read and written.

use super::calendar::{Bounds, DAY, Field, HOUR, MINUTE, MONTH, Rule, Schedule};
use super::expression::field;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// Sunday is 0, and 7 as well.
const WEEKDAY: Bounds = Bounds("a day of the week", 0, 7);
const WORDS: [(&str, &str); 6] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
];

/// # Errors
/// What was expected and what was found.
pub fn parse(text: &str) -> Result<Schedule, String> {
    let full = match WORDS.iter().find(|(word, _)| *word == text) {
        Some((_, means)) => means,
        None if text.starts_with('@') => {
            let known: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
            return Err(format!("expected one of {}, found `{text}`", known.join(", ")));
        }
        None => text,
    };
    let fields: Vec<&str> = full.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields[..] else {
        return Err(format!("expected the five fields of cron, found `{text}`"));
    };
    let rule = Rule {
        weekdays: weekdays(&named(weekday, &DAYS, 0))?,
        years: Field::Every,
        months: field(&named(month, &MONTHS, 1), MONTH, "-")?,
        days: field(day, DAY, "-")?,
        hours: field(hour, HOUR, "-")?,
        minutes: field(minute, MINUTE, "-")?,
        second: 0,
    };
    let mut schedule = Schedule { text: text.to_owned(), rules: vec![], zone: None, hints: vec![] };
    // What cron does since 1987: with both days restricted, either is enough.
    if !day.starts_with('*') && !weekday.starts_with('*') {
        schedule.hints.push(format!(
            "cron takes either day when both are given: day of the month {day} or day of the week {weekday}. \
             For both at once write it as systemd does, such as `Fri *-*-01,15 04:30`"
        ));
        schedule.rules.push(Rule { weekdays: Field::Every, ..rule.clone() });
        schedule.rules.push(Rule { days: Field::Every, ..rule });
    } else {
        schedule.rules.push(rule);
    }
    Ok(schedule)
}

/// Names of months or days as numbers.
fn named(text: &str, names: &[&str], first: usize) -> String {
    let mut text = text.to_ascii_lowercase();
    for (at, name) in names.iter().enumerate() {
        text = text.replace(name, &(at + first).to_string());
    }
    text
}

/// Cron's days from Sunday as days from Monday.
fn weekdays(text: &str) -> Result<Field, String> {
    Ok(match field(text, WEEKDAY, "-")? {
        Field::Every => Field::Every,
        Field::Only(days) => Field::Only(days.into_iter().map(|day| (day + 6) % 7).collect()),
    })
}

/// One line a rule for a crontab, for a machine in this zone.
///
/// # Errors
/// Cron has no years, and no seconds.
pub fn line(schedule: &Schedule, command: &str) -> Result<String, String> {
    let one = |rule: &Rule| {
        if rule.years != Field::Every || rule.second != 0 {
            return Err(format!(
                "expected a schedule without years and seconds, which cron does not have, found `{}`",
                schedule.text
            ));
        }
        if rule.weekdays != Field::Every && rule.days != Field::Every {
            return Err(format!(
                "expected days of the week or days of the month, since cron cannot ask for both at once, found `{}`",
                schedule.text
            ));
        }
        let weekdays = match &rule.weekdays {
            Field::Every => Field::Every,
            Field::Only(days) => Field::Only(days.iter().map(|day| (day + 1) % 7).collect()),
        };
        let fields =
            [&rule.minutes, &rule.hours, &rule.days, &rule.months, &weekdays].map(|f| f.text("-", 1));
        // A per cent sign ends the command of a crontab.
        Ok(format!("{} {}", fields.join(" "), command.replace('%', "\\%")))
    };
    let lines: Result<Vec<String>, String> = schedule.rules.iter().map(one).collect();
    Ok(lines?.join("\n"))
}
