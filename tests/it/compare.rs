//! Two records beside each other, both of real runs: facts that differ, numbers that moved, and what is refused.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::desk::{Desk, code, stdout};
use crate::process::told;

/// The kernel counts what the tool writes, so its figures are exact.
const CAMPAIGN: &str = "\
campaign: c
question: Does it write no more than it did?
hosts: hosts.yaml
control: {set: {amount: whole}}
workload: {command: {on: here, run: ['APP', '${amount}']}}
verify: {output: OUTPUT}
blocks: {count: 4, order: forward}
timeout: 10s
responses: [{name: bytes_written}]
";

struct Shop {
    desk: Desk,
}

impl Shop {
    fn new(output: &str) -> Shop {
        let desk = Desk::new("");
        let app = desk.path().join("app");
        desk.write("c.yaml", &CAMPAIGN.replace("APP", app.to_str().unwrap()).replace("OUTPUT", output));
        Shop { desk }
    }

    fn edit(&self, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.desk.path().join("c.yaml")).unwrap();
        assert!(text.contains(from));
        self.desk.write("c.yaml", &text.replace(from, to));
    }

    /// The record of a tool with this one line.
    fn record(&self, name: &str, line: &str) -> PathBuf {
        self.desk.script_file("app", &format!("#!/bin/sh\n{line}\n"));
        let output = self.desk.fieldtrial(&["run", "c.yaml", "--reports", name]);
        assert_eq!(code(&output), 0, "{}", told(&output));
        self.desk.record(name)
    }

    fn compare(&self, before: &Path, after: &Path, rest: &[&str]) -> Output {
        let paths = ["compare", before.to_str().unwrap(), after.to_str().unwrap()];
        self.desk.fieldtrial(&[&paths, rest].concat())
    }

    fn compared(&self, before: &Path, after: &Path) -> (i32, Value) {
        let output = self.compare(before, after, &["--json"]);
        let answer =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", told(&output)));
        (code(&output), answer)
    }
}

fn fact<'a>(answer: &'a Value, name: &str) -> Option<&'a Value> {
    answer["facts"].as_array()?.iter().find(|fact| fact["fact"] == name)
}

#[test]
fn a_changed_tool_is_named_beside_the_number_that_moved_and_what_is_equal_is_not_listed() {
    let shop = Shop::new("ignored");
    let before = shop.record("old", "head -c 3000000 /dev/zero");
    let after = shop.record("new", "head -c 4000000 /dev/zero");
    let (exit, answer) = shop.compared(&before, &after);
    assert_eq!(exit, 0, "{answer}");
    let number = &answer["numbers"][0];
    assert_eq!((&number["cell"], &number["way"]), (&"/control".into(), &"worse".into()), "{number}");
    let ratio = number["ratio"].as_f64().unwrap();
    assert!((ratio - 4.0 / 3.0).abs() < 1e-3, "{number}");
    // Four runs against four: one of 35 splits on each side.
    assert!((number["p"].as_f64().unwrap() - 2.0 / 70.0).abs() < 1e-9, "{number}");
    let program = answer["facts"].as_array().unwrap().iter().find(|fact| {
        fact["fact"].as_str().is_some_and(|name| name.starts_with("program of") && name.ends_with("sha256"))
    });
    assert!(program.is_some() || fact(&answer, "input app: sha256").is_some(), "{}", answer["facts"]);
    for moving in ["here: uptime_s", "here: load_1m"] {
        let both = fact(&answer, moving).is_some() || answer["facts_equal"].as_u64() > Some(20);
        assert!(both, "{moving} is looked at: {answer}");
    }
    assert!(fact(&answer, "here: uptime_s").is_some(), "time has passed: {}", answer["facts"]);
    for same in ["here: kernel", "campaign file sha256", "timeout", "fieldtrial sha256"] {
        assert_eq!(fact(&answer, same), None, "{same}");
    }
    let text = stdout(&shop.compare(&before, &after, &[]));
    assert!(text.contains("1.3333") && text.contains("worse") && text.contains("uptime_s"), "{text}");
    let (_, same) = shop.compared(&before, &before);
    assert_eq!(same["facts"].as_array().unwrap().len(), 0, "{same}");
    assert_eq!(same["numbers"][0]["way"], "not_shown");
    assert_eq!(same["numbers"][0]["ratio"], 1.0);

    let schema = shop.desk.schema("comparison");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.is_valid(&answer));
    let mut broken = answer.clone();
    broken["numbers"][0]["way"] = "sideways".into();
    assert!(!validator.is_valid(&broken), "the schema refuses what it must");
}

#[test]
fn other_deadlines_are_refused_as_not_comparable() {
    // Case T05.
    let shop = Shop::new("ignored");
    let before = shop.record("old", "head -c 3000000 /dev/zero");
    shop.edit("timeout: 10s", "timeout: 20s");
    let after = shop.record("new", "head -c 3000000 /dev/zero");
    let (exit, answer) = shop.compared(&before, &after);
    assert_eq!(exit, 9, "{answer}");
    let number = &answer["numbers"][0];
    assert_eq!((&number["way"], &number["ratio"]), (&"not_comparable".into(), &Value::Null), "{number}");
    assert!(number["why"].as_str().unwrap().contains("deadline"), "{number}");
    let timeout = fact(&answer, "timeout").expect("the timeout is a fact");
    assert_eq!((&timeout["before"], &timeout["after"]), (&"10000 ms".into(), &"20000 ms".into()));
    assert!(fact(&answer, "campaign file sha256").is_some());
}

#[test]
fn another_answer_is_other_work_and_its_numbers_are_not_compared() {
    let shop = Shop::new("exact");
    let before = shop.record("old", "echo 7 matches");
    let after = shop.record("new", "echo 6 matches");
    let output = shop.compare(&before, &after, &[]);
    assert_eq!(code(&output), 9, "{}", told(&output));
    let text = stdout(&output);
    assert!(text.contains("other work") && text.contains("not comparable"), "{text}");
}

#[test]
fn a_folder_that_is_no_record_is_bad_input() {
    let desk = Desk::new("");
    let output = desk.fieldtrial(&["compare", ".", "."]);
    assert_eq!(code(&output), 2, "{}", told(&output));
}

#[test]
fn the_comparison_is_a_page_too_with_the_same_facts_and_numbers() {
    let shop = Shop::new("ignored");
    let before = shop.record("first", "head -c 4000 /dev/zero");
    let after = shop.record("second", "head -c 5000 /dev/zero # <b>bold</b>");
    let page = shop.desk.path().join("compared.html");
    let output = shop.compare(&before, &after, &["--page", page.to_str().unwrap(), "--json"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let html = std::fs::read_to_string(&page).unwrap();
    let text = |value: &Value| {
        value.as_str().unwrap_or_default().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    };
    for fact in found["facts"].as_array().expect("facts") {
        let escaped =
            text(&fact["fact"]).replace('\'', "&#x27;").replace('"', "&quot;").replace('/', "&#x2F;");
        assert!(html.contains(&escaped) || html.contains(&text(&fact["fact"])), "{fact} is not on the page");
    }
    assert_eq!(
        html.matches("<tr><th scope=\"row\">").count(),
        found["facts"].as_array().map_or(0, Vec::len) + 1
    );
    assert!(html.contains("4000") && html.contains("5000") && html.contains("bytes_written in B"), "{html}");
    assert!(!html.contains("<b>bold") && !html.contains("<script") && !html.contains("NaN"), "{html}");
    let refused = shop.compare(&before, &after, &["--page", shop.desk.path().to_str().unwrap()]);
    assert_eq!(code(&refused), 2, "{}", told(&refused));
}

/// A service is really stopped for a quiet trial and started again; the page cache of this machine is dropped.
mod alone {
    use super::*;
    use crate::skip::skip;

    /// The work is four times as much while the service runs, so "the box was busy" is true here.
    const BUSY: &str = "\
campaign: c
question: Is it the box?
hosts: hosts.yaml
control: {set: {amount: whole}}
workload: {command: {on: here, shell: 'test -e UP && head -c 4000000 /dev/zero || head -c 1000000 /dev/zero; : ${amount}'}}
verify: {output: ignored}
quiet: {stop: [SERVICE], drop_caches: true}
blocks: {count: 4, order: forward}
timeout: 10s
responses: [{name: bytes_written}]
";
    const SCRIPT: &str = "#!/bin/sh
case $1 in
start) touch UP; setsid sleep 300 & echo $! > PID ;;
stop) rm UP; kill $(cat PID) ;;
status) test -e UP && echo it runs ;;
esac
";

    fn desk(service: &str) -> Option<Desk> {
        if let Err(why) = crate::lab::allowed() {
            skip("sandbox", &why);
            return None;
        }
        let desk = Desk::new("");
        let [up, pid] = ["up", "pid"].map(|name| desk.path().join(name).display().to_string());
        desk.write("c.yaml", &BUSY.replace("UP", &up).replace("SERVICE", service));
        desk.write("noisy", &SCRIPT.replace("UP", &up).replace("PID", &pid));
        Some(desk)
    }

    const BEGIN: &str = "set -e
mount -t tmpfs tmpfs /etc/init.d
cp noisy /etc/init.d/noisy && chmod 755 /etc/init.d/noisy
service noisy start >/dev/null
";

    #[test]
    fn a_quiet_trial_stops_the_service_puts_it_back_and_shows_that_it_was_the_box() {
        let Some(desk) = desk("noisy") else { return };
        let lines = "$FIELDTRIAL run c.yaml --reports plain
$FIELDTRIAL run c.yaml --reports quiet --as quiet
service noisy status && echo runs-again; service noisy stop
$FIELDTRIAL compare plain/c/2* quiet/c/2* --json > compared.json
$FIELDTRIAL resume quiet/c/2*";
        let output = desk.script(&format!("{BEGIN}{lines}"));
        assert_eq!(code(&output), 0, "{}", told(&output));
        let text = stdout(&output);
        assert!(text.contains("runs-again"), "the service was started again: {text}");
        assert!(text.contains("/control@quiet"), "its cells say what they are: {text}");
        let answer: Value =
            serde_json::from_slice(&std::fs::read(desk.path().join("compared.json")).unwrap()).unwrap();
        let number = &answer["numbers"][0];
        assert_eq!((&number["cell"], &number["way"]), (&"/control".into(), &"better".into()), "{answer}");
        assert!(number["ratio"].as_f64().unwrap() < 0.3, "{number}");
        assert_eq!(fact(&answer, "condition").unwrap()["after"], "quiet");
        let stopped = fact(&answer, "here: set stopped_services").expect("what was done is a fact");
        assert!(!stopped["after"].as_str().unwrap().contains("noisy"), "{stopped}");
        let journal = std::fs::read_to_string(desk.record("quiet").join("journal.jsonl")).unwrap();
        assert!(journal.contains("page_cache") && journal.contains("dropped"), "{journal}");
        let runs = crate::desk::csv_rows(&desk.record("quiet").join("runs.csv"));
        assert!(runs.iter().all(|row| row["cell"] == "/control@quiet"), "{runs:?}");
    }

    #[test]
    fn a_service_that_is_not_there_refuses_the_cells_by_name() {
        let Some(desk) = desk("nosy") else { return };
        let output = desk.script(
            &format!("{BEGIN}$FIELDTRIAL run c.yaml --as quiet; code=$?; service noisy stop; exit $code")
                .replace("set -e", ""),
        );
        assert_eq!(code(&output), 8, "{}", told(&output));
        let text = told(&output);
        assert!(text.contains("here cannot be quieted") && text.contains("no service nosy"), "{text}");
    }
}

#[test]
fn a_campaign_that_says_nothing_of_quiet_cannot_be_run_so() {
    let shop = Shop::new("ignored");
    let output = shop.desk.fieldtrial(&["run", "c.yaml", "--as", "quiet"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(crate::desk::stderr(&output).contains("quiet: {stop: [SERVICE]"), "{}", told(&output));
}
