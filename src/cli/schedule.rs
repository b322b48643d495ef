//! `schedule`: a campaign on a calendar, as units of systemd or a line of cron.

use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use super::args::{CatchUp, ScheduleArgs};
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::lab::own_program;
use super::load::load;
use super::patience::{LATE, told, zone};
use super::voice::{answer, answer_json, aside};
use crate::model::shell;
use crate::schedule::calendar::Schedule;
use crate::schedule::dates::{Due, next, remarks};
use crate::schedule::quote::unit_name;
use crate::schedule::unit::{LIMITS, Units, service, timer};
use crate::schedule::{cron_line, parse};

/// Dates that are told.
const SHOWN: usize = 6;

pub fn schedule(args: &ScheduleArgs) -> Outcome {
    let loaded = load(&args.campaign, None)?;
    let name = unit_name(&loaded.campaign.name);
    if args.remove {
        return remove(args, &name);
    }
    let text = args.on.as_deref().unwrap_or_default();
    let schedule = parse(text).map_err(|why| Failure::Input(format!("--on: {why}")))?;
    check(args)?;
    let zone = zone(&schedule)?;
    let now = Timestamp::now();
    let dates = next(&schedule, &zone, now, SHOWN);
    if dates.is_empty() {
        return Err(Failure::Input(format!(
            "--on: expected a schedule that comes to pass, found `{text}`, which never does\n\
             next: look at day and month; no month has a day that it asks for, or its years are over"
        )));
    }
    let command = command(args, &schedule)?;
    let folder = std::env::current_dir().map_err(|e| Failure::Workstation(format!("this folder: {e}")))?;
    let folder = folder.display().to_string();
    let units = Units {
        name: &name,
        campaign: &loaded.campaign.name,
        schedule: &schedule,
        zone: &zone,
        command: &command,
        folder: &folder,
        catch_up: args.catch_up == CatchUp::One,
        spread_s: args.spread.as_secs(),
        longest_s: args.longest.as_secs(),
        limits: &args.limits,
        on_failure: args.on_failure.as_deref(),
        system: !args.user,
    };
    let files = [(format!("{name}.service"), service(&units)), (format!("{name}.timer"), timer(&units, now))];
    let remarks = remarks(&schedule, &zone, now);
    if args.cron {
        let words: Vec<String> = command.iter().map(|word| shell::quote(word)).collect();
        let line = format!("cd {} && {}", shell::quote(&folder), words.join(" "));
        let line = cron_line(&schedule, &line).map_err(|why| Failure::Input(format!("--cron: {why}")))?;
        told_aside(&dates, &zone, &remarks);
        if schedule.zone.is_some() {
            aside("cron runs by the clock of the machine; it does not know the zone of this expression");
        }
        answer(line)?;
        return Ok(vec![]);
    }
    if args.print {
        told_aside(&dates, &zone, &remarks);
        let text: Vec<String> = files.iter().map(|(name, text)| format!("# {name}\n{text}")).collect();
        answer(text.join("\n").trim_end())?;
        return Ok(vec![]);
    }
    if args.json {
        let dates: Vec<_> = dates
            .iter()
            .map(|due| json!({ "at": due.at.to_string(), "local": zone.to_datetime(due.at).to_string() }))
            .collect();
        let units: serde_json::Map<_, _> =
            files.iter().map(|(name, text)| (name.clone(), text.clone().into())).collect();
        answer_json(&json!({ "dates": dates, "remarks": remarks, "units": units }))?;
    } else {
        answer(lines(&dates, &zone, &remarks).join("\n"))?;
    }
    if args.install {
        return install(args, &name, &files);
    }
    aside(
        "nothing was installed\nnext: --install starts the timer, --print shows the units, --cron a line for a crontab",
    );
    Ok(vec![])
}

fn check(args: &ScheduleArgs) -> Result<(), Failure> {
    for limit in &args.limits {
        let key = limit.split_once('=').map(|(key, value)| (key, !value.trim().is_empty()));
        if !key.is_some_and(|(key, value)| LIMITS.contains(&key) && value) {
            return Err(Failure::Input(format!(
                "--limit: expected KEY=VALUE with one of {}, found `{limit}`",
                LIMITS.join(", ")
            )));
        }
    }
    let most = LATE - std::time::Duration::from_secs(15 * 60);
    if args.spread > most {
        return Err(Failure::Input(format!(
            "--spread: expected at most {}, found {}\nnext: a later start would count as one that was missed",
            told(most),
            told(args.spread)
        )));
    }
    Ok(())
}

/// What the timer starts.
fn command(args: &ScheduleArgs, schedule: &Schedule) -> Result<Vec<String>, Failure> {
    let absolute = |path: &Path| {
        std::path::absolute(path)
            .map(|path| path.display().to_string())
            .map_err(|e| Failure::Workstation(format!("{}: {e}", path.display())))
    };
    let program = own_program()?.display().to_string();
    if program.contains(['"', '\'', '\\']) && !args.cron {
        return Err(Failure::Input(format!(
            "systemd starts no program whose path has quotes or backslashes, found {program}\n\
             next: put fieldtrial somewhere else"
        )));
    }
    let mut words = vec![program, "run".into(), absolute(&args.campaign)?];
    words.extend(["--reports".into(), absolute(&args.reports)?]);
    words.extend(["--due".into(), schedule.text.clone(), "--wait".into(), told(args.wait)]);
    words.extend((!args.no_gate).then(|| "--gate".to_owned()));
    Ok(words)
}

fn lines(dates: &[Due], zone: &TimeZone, remarks: &[String]) -> Vec<String> {
    let name = zone.iana_name().unwrap_or("local time");
    let mut lines = vec![format!("next dates ({name}):")];
    lines.extend(dates.iter().map(|due| {
        let local = zone.to_datetime(due.at).strftime("%a %Y-%m-%d %H:%M");
        format!("  {local}  ({})", due.at)
    }));
    lines.extend(remarks.iter().cloned());
    lines
}

fn told_aside(dates: &[Due], zone: &TimeZone, remarks: &[String]) {
    lines(dates, zone, remarks).iter().for_each(aside);
}

/// Where systemd looks for units.
fn unit_folder(user: bool) -> Result<PathBuf, Failure> {
    if !user {
        return Ok("/etc/systemd/system".into());
    }
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")));
    let config =
        config.ok_or_else(|| Failure::Workstation("expected HOME to be set, found nothing".into()))?;
    Ok(config.join("systemd/user"))
}

fn install(args: &ScheduleArgs, name: &str, files: &[(String, String)]) -> Outcome {
    let folder = unit_folder(args.user)?;
    let unwritable = |error: std::io::Error| {
        Failure::Workstation(format!(
            "{} cannot be written: {error}\nnext: be root for the system's units, or give --user for your own",
            folder.display()
        ))
    };
    std::fs::create_dir_all(&folder).map_err(unwritable)?;
    for (file, text) in files {
        std::fs::write(folder.join(file), text).map_err(unwritable)?;
        aside(format_args!("wrote {}", folder.join(file).display()));
    }
    let timer = format!("{name}.timer");
    for words in [&["daemon-reload"][..], &["enable", "--now", &timer]] {
        if let Err(why) = systemctl(args.user, words) {
            aside(format_args!(
                "the units are written, but the timer does not run: {why}\n\
                 next: on a machine with systemd `systemctl {}enable --now {timer}`; else --cron prints a line for a crontab",
                if args.user { "--user " } else { "" }
            ));
            return Ok(vec![Exit::Workstation]);
        }
    }
    aside(format_args!(
        "{timer} runs; `systemctl {}list-timers` shows it",
        if args.user { "--user " } else { "" }
    ));
    if args.user {
        aside("it runs while you are logged in; `loginctl enable-linger` keeps it running after that");
    }
    Ok(vec![])
}

fn remove(args: &ScheduleArgs, name: &str) -> Outcome {
    let folder = unit_folder(args.user)?;
    let stopped = systemctl(args.user, &["disable", "--now", &format!("{name}.timer")]);
    let mut any = false;
    for file in [format!("{name}.timer"), format!("{name}.service")] {
        match std::fs::remove_file(folder.join(&file)) {
            Ok(()) => any = true,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(Failure::Workstation(format!(
                    "{} cannot be removed: {error}",
                    folder.join(file).display()
                )));
            }
        }
    }
    if !any {
        return Err(Failure::Input(format!(
            "there are no units of this campaign in {}\nnext: --user is for those of your own user",
            folder.display()
        )));
    }
    let _ = systemctl(args.user, &["daemon-reload"]);
    aside(format_args!("removed {name}.timer and {name}.service from {}", folder.display()));
    if let Err(why) = stopped {
        aside(format_args!("the timer could not be stopped: {why}"));
    }
    Ok(vec![])
}

fn systemctl(user: bool, words: &[&str]) -> Result<(), String> {
    let mut command = Command::new("systemctl");
    command.args(user.then_some("--user")).args(words);
    match command.output() {
        Err(error) => Err(format!("systemctl: {error}")),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")),
    }
}
