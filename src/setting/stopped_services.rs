//! Services that are stopped, by systemd where it runs the host, else by the host's own scripts.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Setting, SettingError, State};

const NAME: &str = "stopped_services";
const RUNNING: &str = "running";
const STOPPED: &str = "stopped";
/// A service that takes longer to stop or start is one that does not.
const LIMIT: Duration = Duration::from_secs(90);
/// What an agent may have been started without.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pub(super) struct StoppedServices;

/// Who starts and stops services here.
#[derive(Clone, Copy)]
enum Starter {
    Systemd,
    Scripts,
}

impl Setting for StoppedServices {
    fn name(&self) -> &'static str {
        NAME
    }

    fn read(&self) -> Result<State, SettingError> {
        match starter()? {
            Starter::Systemd => {
                let args = ["list-units", "--type=service", "--all", "--plain", "--no-legend", "--no-pager"];
                Ok(of_systemd(&listed("systemctl", &args)?))
            }
            Starter::Scripts => Ok(of_scripts(&listed("service", &["--status-all"])?)),
        }
    }

    fn wanted(&self, value: &str, now: &State) -> Result<State, SettingError> {
        let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
        names
            .map(|name| match now.contains_key(name) {
                true => Ok((name.to_owned(), STOPPED.to_owned())),
                false => Err(SettingError::Refused(format!("this host has no service {name}"))),
            })
            .collect()
    }

    fn write(&self, parts: &State) -> Result<(), SettingError> {
        let starter = starter()?;
        for (name, state) in parts {
            let verb = if state == RUNNING { "start" } else { "stop" };
            let unit = format!("{name}.service");
            let (program, args) = match starter {
                Starter::Systemd => ("systemctl", [verb, unit.as_str()]),
                Starter::Scripts => ("service", [name.as_str(), verb]),
            };
            run(program, &args, Stdio::null())?;
        }
        Ok(())
    }

    fn shown(&self, state: &State) -> String {
        let running: Vec<&str> =
            state.iter().filter(|(_, state)| *state == RUNNING).map(|(name, _)| name.as_str()).collect();
        if running.is_empty() { "no service runs".into() } else { format!("running: {}", running.join(", ")) }
    }

    /// Starts what ran before. What was started by others since then is not ours to stop.
    fn restore(&self, original: &State) -> Result<(), SettingError> {
        let down = |now: &State| -> State {
            let ran = original
                .iter()
                .filter(|(name, was)| *was == RUNNING && now.get(*name).is_none_or(|now| now != RUNNING));
            ran.map(|(name, was)| (name.clone(), was.clone())).collect()
        };
        let stopped = down(&self.read()?);
        if stopped.is_empty() {
            return Ok(());
        }
        self.write(&stopped)?;
        let still = down(&self.read()?);
        if still.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = still.keys().map(String::as_str).collect();
        Err(SettingError::Refused(format!("these services do not start again: {}", names.join(", "))))
    }
}

fn starter() -> Result<Starter, SettingError> {
    if Path::new("/run/systemd/system").is_dir() {
        return Ok(Starter::Systemd);
    }
    let scripts = Path::new("/etc/init.d").is_dir()
        && PATH.split(':').any(|dir| Path::new(dir).join("service").is_file());
    match scripts {
        true => Ok(Starter::Scripts),
        false => {
            Err(SettingError::Absent("this host is not run by systemd, and has no program `service`".into()))
        }
    }
}

/// What a program prints; services are few, and so are its lines.
fn listed(program: &str, args: &[&str]) -> Result<String, SettingError> {
    let failed = |e: std::io::Error| SettingError::Refused(format!("{program} cannot be read: {e}"));
    let file = tempfile::tempfile().map_err(failed)?;
    run(program, args, Stdio::from(file.try_clone().map_err(failed)?))?;
    let mut text = String::new();
    let mut file = file;
    std::io::Seek::rewind(&mut file).map_err(failed)?;
    file.take(1 << 20).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// A service that is started lives on, so nothing of ours may stay open in it.
fn run(program: &str, args: &[&str], output: Stdio) -> Result<(), SettingError> {
    let what = format!("{program} {}", args.join(" "));
    let failed = |e: std::io::Error| SettingError::Refused(format!("{what}: {e}"));
    let mut command = Command::new(program);
    command.args(args).env("PATH", PATH).stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
    let mut child = command.spawn().map_err(failed)?;
    let until = Instant::now() + LIMIT;
    loop {
        match child.try_wait().map_err(failed)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                return Err(SettingError::Refused(format!(
                    "{what} ended with {status}; only root may stop and start services"
                )));
            }
            None if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(SettingError::Refused(format!("{what} did not end in {} s", LIMIT.as_secs())));
            }
        }
    }
}

/// Lines like `cron.service loaded active running Regular background program`.
fn of_systemd(text: &str) -> State {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [unit, _, active, sub, ..] = words[..] else { return None };
        let runs = ["active", "reloading", "activating"].contains(&active) && sub != "exited";
        Some((unit.strip_suffix(".service")?.to_owned(), if runs { RUNNING } else { STOPPED }.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

/// Lines like ` [ + ]  cron`; a question mark is a script that does not tell.
fn of_scripts(text: &str) -> State {
    let line = |line: &str| {
        let (sign, name) = line.trim().strip_prefix('[')?.split_once(']')?;
        let state = match sign.trim() {
            "+" => RUNNING,
            "-" => STOPPED,
            _ => return None,
        };
        Some((name.trim().to_owned(), state.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_both_kinds_are_read_and_what_does_not_run_is_told_apart() {
        let systemd = "cron.service loaded active running Regular background program\n\
                       boot.service loaded active exited Once\n\
                       db.service loaded inactive dead A database\n\
                       cron.timer loaded active waiting x\n";
        let expected = |pairs: &[(&str, &str)]| -> State {
            pairs.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned())).collect()
        };
        assert_eq!(of_systemd(systemd), expected(&[("boot", STOPPED), ("cron", RUNNING), ("db", STOPPED)]));
        assert_eq!(
            of_scripts(" [ + ]  cron\n [ - ]  db\n [ ? ]  hwclock.sh\n"),
            expected(&[("cron", RUNNING), ("db", STOPPED)])
        );
    }

    #[test]
    fn a_service_that_the_host_does_not_have_is_refused_by_name() {
        let now = State::from([("cron".to_owned(), RUNNING.to_owned())]);
        assert_eq!(StoppedServices.wanted("cron", &now).unwrap()["cron"], STOPPED);
        let why = StoppedServices.wanted("cron, crom", &now).unwrap_err();
        assert!(why.to_string().contains("no service crom"), "{why}");
        assert_eq!(StoppedServices.shown(&now), "running: cron");
    }
}
