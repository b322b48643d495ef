//! A schedule as sets of numbers, whatever language it was written in.

use std::collections::BTreeSet;

use jiff::civil::{Date, Weekday};

/// When a campaign runs: at every local time that one of the rules fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// As it was written.
    pub text: String,
    pub rules: Vec<Rule>,
    /// Name of a time zone that the expression ends with.
    pub zone: Option<String>,
    /// What a reader may not expect of this expression.
    pub hints: Vec<String>,
}

/// Local times that fit in every field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Days from Monday, 0 to 6.
    pub weekdays: Field,
    pub years: Field,
    pub months: Field,
    pub days: Field,
    pub hours: Field,
    pub minutes: Field,
    pub second: u8,
}

/// Some values of a field, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    Every,
    Only(BTreeSet<i16>),
}

/// What one value of a field is called, its least and its greatest value.
#[derive(Debug, Clone, Copy)]
pub struct Bounds(pub &'static str, pub i16, pub i16);

pub const YEAR: Bounds = Bounds("a year", 1970, 2199);
pub const MONTH: Bounds = Bounds("a month", 1, 12);
pub const DAY: Bounds = Bounds("a day of the month", 1, 31);
pub const HOUR: Bounds = Bounds("an hour", 0, 23);
pub const MINUTE: Bounds = Bounds("a minute", 0, 59);
pub const SECOND: Bounds = Bounds("a second", 0, 59);

impl Field {
    pub fn has(&self, value: i16) -> bool {
        match self {
            Field::Every => true,
            Field::Only(values) => values.contains(&value),
        }
    }

    /// One value alone.
    pub fn only(value: i16) -> Field {
        Field::Only(BTreeSet::from([value]))
    }

    /// The values of the field inside its bounds.
    pub fn values(&self, bounds: Bounds) -> Vec<i16> {
        (bounds.1..=bounds.2).filter(|value| self.has(*value)).collect()
    }

    /// As lists and ranges, with the separator that a language has between the ends of a range.
    pub fn text(&self, range: &str, digits: usize) -> String {
        let Field::Only(values) = self else { return "*".to_owned() };
        let mut runs: Vec<(i16, i16)> = vec![];
        for value in values {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == *value => *last = *value,
                _ => runs.push((*value, *value)),
            }
        }
        let one = |(from, to): (i16, i16)| match to - from {
            0 => format!("{from:0digits$}"),
            1 => format!("{from:0digits$},{to:0digits$}"),
            _ => format!("{from:0digits$}{range}{to:0digits$}"),
        };
        runs.into_iter().map(one).collect::<Vec<_>>().join(",")
    }
}

impl Rule {
    pub fn fits(&self, date: Date) -> bool {
        self.years.has(date.year())
            && self.months.has(date.month().into())
            && self.days.has(date.day().into())
            && self.weekdays.has(weekday(date.weekday()))
    }

    /// In systemd's words, without a zone.
    pub fn expression(&self) -> String {
        const NAMES: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        let weekdays = match &self.weekdays {
            Field::Every => String::new(),
            Field::Only(days) => {
                days.iter().map(|day| NAMES[*day as usize]).collect::<Vec<_>>().join(",") + " "
            }
        };
        format!(
            "{weekdays}{}-{}-{} {}:{}:{:02}",
            self.years.text("..", 4),
            self.months.text("..", 2),
            self.days.text("..", 2),
            self.hours.text("..", 2),
            self.minutes.text("..", 2),
            self.second
        )
    }
}

fn weekday(day: Weekday) -> i16 {
    day.to_monday_zero_offset().into()
}
