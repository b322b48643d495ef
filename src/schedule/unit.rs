//! The service and timer units of a scheduled campaign.

use std::collections::BTreeMap;
use std::fmt::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::calendar::Schedule;
use super::dates::missed_by_systemd;
use super::quote::{argument, program, value};

/// Years for which instants that systemd would miss are written into the timer.
pub const YEARS: u32 = 5;

/// What the units are made of.
pub struct Units<'a> {
    pub name: &'a str,
    pub campaign: &'a str,
    pub schedule: &'a Schedule,
    pub zone: &'a TimeZone,
    /// What to run, the program first.
    pub command: &'a [String],
    pub folder: &'a str,
    /// Whether a date that was missed, while the machine was off, is made up for once.
    pub catch_up: bool,
    /// Most seconds that a start is put off by, at random.
    pub spread_s: u64,
    /// Seconds after which a trial is stopped.
    pub longest_s: u64,
    /// Resource limits of systemd, such as `MemoryMax=4G`.
    pub limits: &'a [String],
    pub on_failure: Option<&'a str>,
    /// For the system, which can wait for its network; else of one user.
    pub system: bool,
}

/// Keys that limit resources; others have no place in `limits`.
pub const LIMITS: [&str; 12] = [
    "AllowedCPUs",
    "CPUQuota",
    "CPUWeight",
    "IOWeight",
    "LimitNOFILE",
    "LimitNPROC",
    "MemoryHigh",
    "MemoryMax",
    "MemorySwapMax",
    "Nice",
    "OOMScoreAdjust",
    "TasksMax",
];

/// Text of the `.service` file.
pub fn service(units: &Units) -> String {
    let mut text = format!("[Unit]\nDescription=fieldtrial: campaign {}\n", value(units.campaign));
    if units.system {
        text.push_str("Wants=network-online.target\nAfter=network-online.target\n");
    }
    if let Some(unit) = units.on_failure {
        let _ = writeln!(text, "OnFailure={}", value(unit));
    }
    let mut words = units.command.iter();
    let first = words.next().map(|path| program(path)).unwrap_or_default();
    let command: Vec<String> = std::iter::once(first).chain(words.map(|word| argument(word))).collect();
    let _ = write!(
        text,
        "\n[Service]\nType=oneshot\nWorkingDirectory={}\nExecStart={}\n\
         # The first signal lets the run under way end and puts hosts back; only what is left after that is killed.\n\
         KillMode=mixed\nKillSignal=SIGINT\nTimeoutStartSec={}\nTimeoutStopSec=120\n",
        value(units.folder),
        command.join(" "),
        units.longest_s
    );
    for limit in units.limits {
        let _ = writeln!(text, "{}", value(limit));
    }
    text
}

/// Text of the `.timer` file. Local times that do not exist some day, and rounds of an hour that occurs
/// twice, are passed over by systemd and hence written out for the coming years.
pub fn timer(units: &Units, now: Timestamp) -> String {
    let zone = units.schedule.zone.as_ref().map_or(String::new(), |zone| format!(" {zone}"));
    let mut text = format!(
        "[Unit]\nDescription=fieldtrial: campaign {} at {}\n\n[Timer]\nUnit={}.service\n",
        value(units.campaign),
        value(&units.schedule.text),
        units.name
    );
    for rule in &units.schedule.rules {
        let _ = writeln!(text, "OnCalendar={}{zone}", rule.expression());
    }
    let odd = missed_by_systemd(units.schedule, units.zone, now, YEARS);
    if !odd.is_empty() {
        let _ = writeln!(text, "# When clocks change, for {YEARS} years from now; install again after that.");
    }
    for line in gathered(&odd) {
        let _ = writeln!(text, "OnCalendar={line}");
    }
    let _ = write!(
        text,
        "Persistent={}\nRandomizedDelaySec={}\nAccuracySec=1s\n\n[Install]\nWantedBy=timers.target\n",
        units.catch_up, units.spread_s
    );
    text
}

/// Instants as expressions in UTC, those of one hour together.
fn gathered(instants: &[Timestamp]) -> Vec<String> {
    let mut hours: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for at in instants {
        let utc = TimeZone::UTC.to_datetime(*at);
        let hour = utc.strftime("%Y-%m-%d %H").to_string();
        let minutes = hours.entry(format!("{hour}\u{0}{}", utc.strftime("%S"))).or_default();
        minutes.push(utc.strftime("%M").to_string());
    }
    let line = |(hour, minutes): (&String, &Vec<String>)| {
        let (hour, second) = hour.split_once('\u{0}').unwrap_or((hour, "00"));
        format!("{hour}:{}:{second} UTC", minutes.join(","))
    };
    hours.iter().map(line).collect()
}
