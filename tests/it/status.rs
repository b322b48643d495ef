//! Trials seen and stopped from another process, and room made among their records.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::desk::{COMMANDS, Desk, code, stderr, stdout};
use crate::process::told;

fn slow(desk: &Desk) -> Child {
    let mut command = desk.command(&["run", "c.yaml"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// What `status` answers of the campaign, once it is in this state.
fn until(desk: &Desk, state: &str) -> Value {
    let limit = Instant::now() + Duration::from_secs(30);
    loop {
        let output = desk.fieldtrial(&["status", "c", "--json"]);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if answer["records"][0]["state"] == state {
            return answer["records"][0].clone();
        }
        assert!(Instant::now() < limit, "never {state}: {}", told(&output));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_trial_started_elsewhere_is_seen_at_work_followed_and_stopped_after_its_run() {
    let desk = Desk::new(&COMMANDS.replace("echo same", "sleep 0.3").replace("count: 2", "count: 40"));
    let mut child = slow(&desk);
    let seen = until(&desk, "measuring");
    assert_eq!(seen["runs"], 80, "{seen}");
    assert!(seen["worker"]["pid"].as_u64().is_some());
    let follower = desk.command(&["status", "c", "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let output = desk.fieldtrial(&["cancel", "c"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert_eq!(child.wait().unwrap().code(), Some(5), "incomplete, and ended by itself");
    let followed = follower.wait_with_output().unwrap();
    assert_eq!(code(&followed), 5, "{}", told(&followed));
    let text = stdout(&followed);
    assert!(text.contains("measuring") && text.contains("incomplete"), "{text}");
    let after = until(&desk, "incomplete");
    assert_eq!((&after["worker"], after["done"].as_u64() > Some(0)), (&Value::Null, true), "{after}");
    assert_eq!(after["outcomes"]["interrupted"], 0, "the run under way came to its end: {after}");
    // Nobody is there to be asked any more, and no other process is taken for it.
    let output = desk.fieldtrial(&["cancel", "c"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("nobody works on c"), "{}", told(&output));
}

#[test]
fn cancelled_at_once_a_run_of_a_minute_ends_and_is_interrupted() {
    let desk = Desk::new(&COMMANDS.replace("'echo same'", "'sleep 40'"));
    let text = std::fs::read_to_string(desk.path().join("c.yaml")).unwrap();
    desk.write("c.yaml", &text.replace("timeout: 10s", "timeout: 60s"));
    let mut child = slow(&desk);
    until(&desk, "proving");
    let began = Instant::now();
    let output = desk.fieldtrial(&["cancel", "c", "--now"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    child.wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(30), "it did not wait for the end of its program");
}

#[test]
fn a_killed_trial_is_not_taken_for_one_at_work() {
    let desk = Desk::new(&COMMANDS.replace("echo same", "sleep 0.3").replace("count: 2", "count: 40"));
    let mut child = slow(&desk);
    until(&desk, "measuring");
    child.kill().unwrap();
    child.wait().unwrap();
    let after = until(&desk, "incomplete");
    assert_eq!(after["worker"], Value::Null, "its file is there, its lock is not");
    assert_eq!(code(&desk.fieldtrial(&["cancel", "c"])), 2);
}

fn has_raw(record: &Path) -> bool {
    record.join("journal.jsonl").exists() || record.join("samples.csv").exists()
}

#[test]
fn pruning_keeps_the_published_the_newest_and_the_history_and_says_what_it_frees() {
    let campaign = COMMANDS
        .replace("pilot: true\n", "")
        .replace("treatments: [{name: other, change: {text: two}}]\n", "");
    let desk = Desk::new(&(campaign.replace("count: 2", "count: 3") + "retention: {last: 2, days: 0}\n"));
    let refused = desk.fieldtrial(&["check", "c.yaml"]);
    assert!(code(&refused) == 2 && stderr(&refused).contains("`retention.days`"), "{}", told(&refused));
    desk.write("c.yaml", &(campaign.replace("count: 2", "count: 3") + "retention: {last: 2}\n"));
    for _ in 0..3 {
        let output = desk.fieldtrial(&["run", "c.yaml"]);
        assert_eq!(code(&output), 0, "{}", told(&output));
    }
    let all = desk.records();
    let declared = stdout(&desk.fieldtrial(&["prune", "c"]));
    let first = format!("reports/c/{}: ", all[0].file_name().unwrap().to_string_lossy());
    let line = declared.lines().find(|line| line.starts_with(&first)).unwrap_or_default();
    assert!(line.ends_with("would go") && declared.matches("one of the last 2").count() == 2, "{declared}");
    let published = desk.fieldtrial(&[
        "publish",
        all[0].to_str().unwrap(),
        "--why",
        "a release",
        "--by",
        "somebody",
        "--force",
        "a test",
        "--lower",
        "a test",
    ]);
    assert_eq!(code(&published), 0, "{}", told(&published));
    let before = stdout(&desk.fieldtrial(&["history", "c", "--json"]));
    let lines = std::fs::read(desk.path().join("reports/c/history.jsonl")).unwrap();

    let output = desk.fieldtrial(&["prune", "c", "--keep-last", "1"]);
    assert!(code(&output) == 0 && stdout(&output).contains("nothing was removed"), "{}", told(&output));
    assert!(all.iter().all(|record| has_raw(record)), "only told");
    let output = desk.fieldtrial(&["prune", "c", "--keep-last", "1", "--yes"]);
    let text = stdout(&output);
    assert!(text.contains("kept, it was published") && text.contains("freed"), "{text}");
    assert_eq!(all.iter().map(|record| has_raw(record)).collect::<Vec<_>>(), [true, false, true]);
    for kept in ["index.html", "findings.json", "runs.csv", "campaign.yaml", "pruned.json"] {
        assert!(all[1].join(kept).is_file(), "{kept}");
    }
    assert_eq!(std::fs::read(desk.path().join("reports/c/history.jsonl")).unwrap(), lines);
    let count =
        |text: &str| serde_json::from_str::<Value>(text).unwrap()["records"].as_array().unwrap().len();
    assert_eq!(count(&stdout(&desk.fieldtrial(&["history", "c", "--json"]))), count(&before));
    let output = desk.fieldtrial(&["report", all[1].to_str().unwrap()]);
    assert!(code(&output) == 2 && stderr(&output).contains("was pruned"), "{}", told(&output));
    // Young records stay, and a retention has to be said.
    let output = desk.fieldtrial(&["prune", "c", "--keep-days", "1", "--yes"]);
    assert!(has_raw(&all[2]), "{}", told(&output));
    let undeclared = Desk::new(COMMANDS);
    assert_eq!(code(&undeclared.fieldtrial(&["run", "c.yaml"])), 0);
    let output = undeclared.fieldtrial(&["prune", "c", "--yes"]);
    assert!(code(&output) == 2 && stderr(&output).contains("`retention`"), "{}", told(&output));
}
