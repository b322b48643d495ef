//! Campaigns on a calendar: units that systemd's own parser takes, and trials that wait for their turn.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::desk::{COMMANDS, Desk, code, stderr, stdout};
use crate::process::told;
use crate::skip::skip;

/// Standard output and error of systemd-analyze, and whether it agreed.
fn analyze(args: &[&str]) -> Option<(bool, String)> {
    let output = Command::new("systemd-analyze").args(args).output().ok()?;
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), text))
}

fn missing() -> bool {
    let missing = analyze(&["--version"]).is_none();
    if missing {
        skip("systemd-analyze", "it cannot be started");
    }
    missing
}

/// Instants in UTC of an expression, as systemd reads it.
fn by_systemd(expression: &str, base: &str, count: usize) -> Vec<String> {
    let (count, base) = (format!("--iterations={count}"), format!("--base-time={base}"));
    let (good, text) = analyze(&["calendar", &count, &base, expression]).expect("it starts");
    assert!(good, "{expression}: {text}");
    let line = |line: &str| {
        let (_, rest) =
            line.split_once("(in UTC): ").or(line.split_once(": ").filter(|_| line.contains(" UTC")))?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        matches!(words[..], [_, day, _, "UTC"] if !day.contains('*'))
            .then(|| format!("{}T{}Z", words[1], words[2]))
    };
    text.lines().filter_map(line).collect()
}

/// The units of a campaign in this folder, written into it.
fn units(desk: &Desk, args: &[&str]) -> (String, String) {
    let output = desk.fieldtrial(&[&["schedule", "c.yaml", "--print"], args].concat());
    assert_eq!(code(&output), 0, "{}", told(&output));
    let text = stdout(&output);
    let (service, timer) = text.split_once("# fieldtrial-c.timer\n").expect("two units");
    let service = service.strip_prefix("# fieldtrial-c.service\n").expect("the service first");
    desk.write("fieldtrial-c.service", service);
    desk.write("fieldtrial-c.timer", timer);
    (service.to_owned(), timer.to_owned())
}

fn verified(folder: &Path) -> (bool, String) {
    let [service, timer] = ["service", "timer"].map(|kind| folder.join(format!("fieldtrial-c.{kind}")));
    let args =
        ["verify", "--man=no", "--recursive-errors=no", service.to_str().unwrap(), timer.to_str().unwrap()];
    let (good, text) = analyze(&args).expect("it starts");
    (good && text.trim().is_empty(), text)
}

#[test]
fn units_are_what_systemd_takes_with_every_option() {
    if missing() {
        return;
    }
    let desk = Desk::new(COMMANDS);
    for args in [
        &["--on", "Mon..Fri 02:00"][..],
        &["--on", "30 4 1,15 * 5", "--user", "--catch-up", "none"],
        &["--on", "*:0/15 America/New_York", "--limit", "MemoryMax=4G", "--limit", "Nice=5", "--no-gate"],
        &[
            "--on",
            "hourly",
            "--on-failure",
            "mail@%n.service",
            "--spread",
            "10m",
            "--longest",
            "3h",
            "--wait",
            "30m",
        ],
    ] {
        let (service, timer) = units(&desk, args);
        let (good, text) = verified(desk.path());
        assert!(good, "{args:?}: {text}\n{service}\n{timer}");
        assert!(timer.contains("Persistent=") && timer.contains("RandomizedDelaySec="), "{timer}");
    }
    let (service, timer) =
        units(&desk, &["--on", "02:00", "--limit", "MemoryMax=4G", "--on-failure", "mail.service"]);
    assert!(
        service.contains("\nMemoryMax=4G\n") && service.contains("\nOnFailure=mail.service\n"),
        "{service}"
    );
    assert!(service.contains(" --due 02:00 --wait 2h --gate\n"), "{service}");
    assert!(timer.contains("Persistent=true"), "{timer}");
    // What the parser must refuse, so that its agreement means something.
    desk.write(
        "fieldtrial-c.timer",
        &timer.replace("OnCalendar=*-*-* 02:00:00", "OnCalendar=*-*-* 02:00:00:00"),
    );
    assert!(!verified(desk.path()).0);
}

#[test]
fn paths_with_blanks_dollars_and_per_cent_signs_reach_systemd_as_they_are() {
    if missing() {
        return;
    }
    use std::os::unix::fs::symlink;
    let desk = Desk::new("");
    let odd = desk.path().join("a $HOME 100%n \"q\" \\b;");
    std::fs::create_dir(&odd).unwrap();
    for (name, text) in [("c.yaml", COMMANDS), ("hosts.yaml", crate::desk::HOSTS)] {
        std::fs::write(odd.join(name), text).unwrap();
    }
    let campaign = odd.join("c.yaml");
    let output = desk.fieldtrial(&["schedule", campaign.to_str().unwrap(), "--on", "02:00", "--print"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let text = stdout(&output);
    let (service, timer) = text.split_once("# fieldtrial-c.timer\n").unwrap();
    // The words of the line, taken apart again by systemd's published rules.
    let line = service.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let quoted = line.split(" run ").nth(1).unwrap();
    let inner = quoted.strip_prefix('"').unwrap().split("/c.yaml\"").next().unwrap();
    let back = inner.replace("\\\"", "\"").replace("\\\\", "\\").replace("%%", "%").replace("$$", "$");
    assert_eq!(Path::new(&back), odd, "{line}");
    // A program below such a path is found by systemd only if it reads the path right.
    // In a program's own path it allows no quotes at all.
    let tools = desk.path().join("b $HOME 100%n;");
    std::fs::create_dir(&tools).unwrap();
    symlink("/bin/true", tools.join("program")).unwrap();
    let first = line.split(" run ").next().unwrap();
    let program = format!("\"{}/b $HOME 100%%n;/program\"", desk.path().display());
    let with_program = line.replacen(first, &program, 1);
    desk.write("fieldtrial-c.service", &service.replace(line, &with_program));
    desk.write("fieldtrial-c.timer", timer);
    let (good, said) = verified(desk.path());
    assert!(good, "{said}\n{with_program}");
    desk.write("fieldtrial-c.service", &service.replace(line, &with_program.replace("100%%n", "100%n")));
    assert!(!verified(desk.path()).0, "an unquoted per cent sign names another path");
}

#[test]
fn our_dates_are_those_of_systemd_where_no_clock_changes() {
    if missing() {
        return;
    }
    let desk = Desk::new(COMMANDS);
    for expression in [
        "Mon..Fri 02:00 UTC",
        "Sat,Sun *-*-1..7 04:30 UTC",
        "*-*-31 UTC",
        "*-2,8-* 6,18:10/20 UTC",
        "monthly UTC",
        "weekly UTC",
        "*:0/15 Europe/Berlin",
        "Tue 23:59:30 Asia/Tokyo",
    ] {
        let output = desk.fieldtrial(&["schedule", "c.yaml", "--on", expression, "--json"]);
        assert_eq!(code(&output), 0, "{}", told(&output));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let ours: Vec<&str> =
            answer["dates"].as_array().unwrap().iter().filter_map(|d| d["at"].as_str()).collect();
        assert_eq!(by_systemd(expression, "now", ours.len()), ours, "{expression}");
    }
}

#[test]
fn systemd_keeps_the_date_that_does_not_exist_and_the_hour_that_comes_twice() {
    // Cases K01 and K02, on the next change of clocks, whenever that is.
    if missing() {
        return;
    }
    let desk = Desk::new(COMMANDS);
    for (expression, expected) in [("*-*-* 02:30 America/New_York", 1), ("*:0/15 America/New_York", 100)] {
        let (_, timer) = units(&desk, &["--on", expression]);
        let lines: Vec<&str> = timer.lines().filter_map(|line| line.strip_prefix("OnCalendar=")).collect();
        let (day, _) = lines[1].split_once(' ').expect("a date of a change");
        // One day by the local clock: its own expressions from the last minute before it on.
        let base = format!("{day} 04:59:59 UTC");
        let end = if expected == 1 { format!("{day}T23:59:59Z") } else { format!("{day}T06:59:59Z") };
        let all: Vec<String> = lines.iter().flat_map(|line| by_systemd(line, &base, 20)).collect();
        let within: Vec<&String> = all.iter().filter(|at| **at <= end).collect();
        let different: BTreeSet<&&String> = within.iter().collect();
        assert_eq!(different.len(), within.len(), "no instant twice: {within:?}");
        match expected {
            1 => assert_eq!(within, [&format!("{day}T07:00:00Z")], "{timer}"),
            _ => assert_eq!(within.len(), 8, "four in each of the two hours: {within:?}"),
        }
        assert_eq!(by_systemd(lines[0], &base, 1).len(), 1, "systemd alone goes on after it");
    }
}

#[test]
fn what_never_comes_is_refused_and_mistakes_say_what_was_expected() {
    // Case K10.
    let desk = Desk::new(COMMANDS);
    for (args, expected) in [
        (&["--on", "0 0 30 2 *"][..], "never does"),
        (&["--on", "61 * * * *"], "a minute from 0 to 59"),
        (&["--on", "*/0 * * * *"], "a step of at least 1"),
        (&["--on", "02:00 Mars/Base"], "a time zone"),
        (&["--on", "02:00", "--limit", "User=root"], "--limit"),
        (&["--on", "02:00", "--spread", "2h"], "--spread"),
        (&["--on", "Fri *-*-13 02:00", "--cron"], "--cron"),
        (&["--remove"], "no units"),
    ] {
        let output = desk.fieldtrial(&[&["schedule", "c.yaml", "--user"], args].concat());
        assert_eq!(code(&output), 2, "{args:?}: {}", told(&output));
        assert!(stderr(&output).contains(expected), "{args:?}: {}", told(&output));
    }
    let output = desk.fieldtrial(&["schedule", "c.yaml", "--on", "30 4 1,15 * 5"]);
    assert!(stdout(&output).contains("either day"), "{}", told(&output));
}

#[test]
fn a_line_of_cron_starts_the_same_trial() {
    let desk = Desk::new(COMMANDS);
    let output = desk.fieldtrial(&["schedule", "c.yaml", "--on", "Mon..Fri 02:00", "--cron"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let line = stdout(&output);
    let command = line.trim_end().strip_prefix("0 2 * * 1-5 ").expect(&line);
    let ran = desk.script(command);
    // Nothing is published, which its own gate says by the exit code.
    assert_eq!(code(&ran), 11, "{}", told(&ran));
    assert!(desk.record("reports").join("journal.jsonl").is_file());
}

#[test]
fn installing_writes_the_units_and_says_where_no_systemd_runs() {
    let desk = Desk::new(COMMANDS);
    let mut command = desk.command(&["schedule", "c.yaml", "--on", "02:00", "--user", "--install"]);
    // A bus of our own that nobody answers, so that no real timer is started wherever this test runs.
    command.env("XDG_CONFIG_HOME", desk.path().join("config")).env_remove("DBUS_SESSION_BUS_ADDRESS");
    let output = command.output().unwrap();
    assert_eq!(code(&output), 13, "{}", told(&output));
    assert!(stderr(&output).contains("the timer does not run"), "{}", told(&output));
    let unit = desk.path().join("config/systemd/user/fieldtrial-c.timer");
    assert!(unit.is_file());
    let mut command = desk.command(&["schedule", "c.yaml", "--user", "--remove"]);
    command.env("XDG_CONFIG_HOME", desk.path().join("config"));
    let output = command.output().unwrap();
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert!(!unit.exists());
}

/// The journal's events of one kind.
fn events(record: &Path, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(record.join("journal.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"].get(kind).is_some()).collect()
}

#[test]
fn two_campaigns_on_one_host_come_one_after_the_other_and_the_wait_is_recorded() {
    // Case K11.
    let desk = Desk::new("");
    for name in ["a", "b"] {
        let text =
            COMMANDS.replace("campaign: c", &format!("campaign: {name}")).replace("echo same", "sleep 0.2");
        desk.write(&format!("{name}.yaml"), &text);
    }
    let output = desk.script(
        "$FIELDTRIAL run a.yaml --reports a --due hourly --wait 60s & first=$!
         $FIELDTRIAL run b.yaml --reports b --due hourly --wait 60s; second=$?
         wait $first && exit $second",
    );
    assert_eq!(code(&output), 0, "{}", told(&output));
    let [a, b] = ["a", "b"].map(|reports| desk.record(reports));
    let waits: Vec<Value> = [&a, &b].iter().flat_map(|record| events(record, "waited")).collect();
    assert_eq!(waits.len(), 1, "one of them waited: {waits:?}");
    let wait = &waits[0]["event"]["waited"];
    assert!(wait["waited_ms"].as_u64() > Some(100), "{wait}");
    assert!(wait["holder"].as_str().unwrap().contains("leased to"), "{wait}");
    let span = |record: &Path| {
        let began = events(record, "run_began")[0]["at"].as_str().unwrap().to_owned();
        (began, events(record, "run_ended").last().unwrap()["at"].as_str().unwrap().to_owned())
    };
    let (a, b) = (span(&a), span(&b));
    assert!(a.1 <= b.0 || b.1 <= a.0, "no run of one lies in the time of the other: {a:?} {b:?}");
}

#[test]
fn a_scheduled_campaign_never_runs_twice_at_once_and_names_the_dates_it_missed() {
    let desk = Desk::new(&COMMANDS.replace("echo same", "sleep 0.4"));
    let output = desk.script(
        "$FIELDTRIAL run c.yaml --due hourly & first=$!
         while [ ! -e reports/c/*/journal.jsonl ]; do sleep 0.05; done
         $FIELDTRIAL run c.yaml --due hourly; second=$?
         wait $first && exit $second",
    );
    assert_eq!(code(&output), 12, "{}", told(&output));
    assert!(stderr(&output).contains("never runs twice at once"), "{}", told(&output));
    let first = desk.record("reports");
    let now = jiff::Timestamp::now();
    let last = now.checked_sub(jiff::SignedDuration::from_hours(5)).unwrap();
    desk.write("reports/c/scheduled.json", &format!("{{\"last_start\":\"{last}\"}}\n"));
    let output = desk.fieldtrial(&["run", "c.yaml", "--due", "hourly UTC", "--reports", "reports"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let records = std::fs::read_dir(desk.path().join("reports/c")).unwrap().flatten().map(|e| e.path());
    let second = records.filter(|path| path.is_dir() && *path != first).max().unwrap();
    let scheduled = events(&second, "scheduled");
    let note = &scheduled[0]["event"]["scheduled"];
    let missed = note["missed"].as_array().unwrap().len();
    // Five hours have five dates; the last is kept where the test runs within its grace.
    let kept = usize::from(!note["due"].is_null());
    assert_eq!(missed + kept, 5, "{note}");
    assert!(stderr(&output).contains("passed without a start"), "{}", told(&output));
}
