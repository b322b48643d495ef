//! `analyse` from outside: the answer by its schema, the table for people, and mistakes.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::desk::{COMMANDS, Desk};
use crate::process::told;

/// Eight blocks in which `new` takes four fifths of `old`, at two sizes.
fn runs() -> String {
    let mut text = "size,block,arm,seconds,status,host\n".to_owned();
    for block in 1..=8 {
        for (size, base) in [(1, 10.0), (8, 80.0)] {
            let old = base * (1.0 + f64::from(block * 7 % 11) / 100.0);
            text.push_str(&format!("{size},{block},old,{old},ok,h1\n"));
            text.push_str(&format!("{size},{block},new,{},ok,h1\n", old * 0.8));
        }
    }
    text
}

const ASKED: [&str; 8] =
    ["--response", "seconds", "--factors", "size", "--block", "block", "--control", "arm=old"];

fn analyse(desk: &Desk, file: &str, more: &[&str]) -> Output {
    desk.fieldtrial(&[&["analyse", file], &ASKED[..], more].concat())
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", told(output)))
}

/// Complaints of the schema that the program itself prints.
fn against_schema(desk: &Desk, findings: &Value) -> Vec<String> {
    let schema = json(&desk.fieldtrial(&["schema", "findings"]));
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    validator.iter_errors(findings).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

#[test]
fn findings_of_tables_exports_and_records_all_follow_the_one_schema() {
    let desk = Desk::new(COMMANDS);
    desk.write("runs.csv", &runs());
    let table = json(&analyse(&desk, "runs.csv", &["--margin", "2%", "--json"]));
    assert_eq!(table["answers"][0]["verdict"], "better");
    assert_eq!(table["answers"][0]["p"], 2.0 / 256.0);
    assert_eq!(table["record"], Value::Null);
    assert_eq!(table["absent"]["record"], "the data are not a record");
    assert_eq!(table["table"]["columns_not_used"], serde_json::json!(["status", "host"]));
    let cut =
        runs().replace("8,3,new,", "8,3,new,>").replace("1,5,new,8", "1,5,new,-nan,failed,h1\n9,5,new,8");
    desk.write("cut.csv", &cut);
    let cut = json(&analyse(&desk, "cut.csv", &["--json"]));
    assert_eq!(cut["table"]["not_used"]["`-nan` is no number"], 1);
    let export = r#"{"results": [{"command": "a", "times": [1.0, 1.1, 1.2, 1.3]},
        {"command": "b", "times": [2.0, 2.1, 2.2, 2.3]}]}"#;
    desk.write("export.json", export);
    let linear = json(&analyse(&desk, "runs.csv", &["--scale", "linear", "--margin", "0.5", "--json"]));
    let exported = json(&desk.fieldtrial(&["analyse", "export.json", "--json"]));
    assert_eq!(exported["table"]["format"], "hyperfine");
    assert!(desk.fieldtrial(&["run", "c.yaml"]).status.success());
    let record = std::fs::read(desk.record("reports").join("findings.json")).expect("findings");
    let record: Value = serde_json::from_slice(&record).expect("JSON");
    assert_eq!(record["campaign"], "c");
    for (name, findings) in
        [("table", table), ("cut", cut), ("linear", linear), ("hyperfine", exported), ("record", record)]
    {
        assert_eq!(against_schema(&desk, &findings), Vec::<String>::new(), "{name}");
    }
    let mut broken = json(&analyse(&desk, "runs.csv", &["--json"]));
    broken["answers"][0]["p"] = "small".into();
    assert!(!against_schema(&desk, &broken).is_empty(), "the schema refuses what it must");
}

#[test]
fn the_answer_for_people_has_cells_effects_and_the_sum_of_rows() {
    let desk = Desk::new(COMMANDS);
    desk.write("runs.csv", &runs());
    let output = analyse(&desk, "runs.csv", &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", told(&output));
    assert!(text.contains("size=8/new") && text.contains("new is better than the control"), "{text}");
    assert!(text.contains("32 rows = 32 used + 0 not used: holds"), "{text}");
}

#[test]
fn a_table_comes_through_a_pipe_and_nothing_but_it() {
    let desk = Desk::new(COMMANDS);
    let mut command: Command = desk.command(&[&["analyse", "-"], &ASKED[..], &["--json"]].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("piped").write_all(runs().as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(json(&output)["table"]["name"], "standard input");
}

#[test]
fn mistakes_in_data_and_question_are_told_with_their_place() {
    let desk = Desk::new(COMMANDS);
    desk.write("runs.csv", &runs().replacen("1,1,old,1", "1,1,old,fast1", 1));
    for (file, more, expected) in [
        ("runs.csv", &[][..], "runs.csv:2:4: expected a number in column seconds, found `fast1"),
        ("nowhere.csv", &[], "nowhere.csv cannot be read"),
        ("runs.csv", &["--order", "when"], "expected a column `when`, found size, block, arm"),
        ("runs.csv", &["--margin", "2"], "--margin: expected a percentage"),
        ("runs.csv", &["--margin", "2%", "--scale", "linear"], "a margin in per cent needs --scale log"),
        ("runs.csv", &["--censored-at", "soon"], "expected a number, a time like 10s, or a column"),
        ("runs.csv", &["--censored-at", "10s", "--unit", "ms"], "--unit names another unit"),
    ] {
        let output = analyse(&desk, file, more);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(said.contains(expected), "expected {expected}, found {said}");
    }
    let unasked = desk.fieldtrial(&["analyse", "runs.csv"]);
    let said = String::from_utf8_lossy(&unasked.stderr).into_owned();
    assert!(said.contains("the columns are: size,block,arm,seconds"), "{said}");
}

#[test]
fn data_without_a_value_are_nothing_measured() {
    let desk = Desk::new(COMMANDS);
    desk.write("none.csv", "y\nNA\nnan\n");
    let output = desk.fieldtrial(&["analyse", "none.csv", "--response", "y"]);
    assert_eq!(output.status.code(), Some(8), "{}", told(&output));
}

#[test]
fn changes_of_level_are_found_by_name_along_a_history_and_a_ladder() {
    // Case A21.
    let desk = Desk::new(COMMANDS);
    desk.write("history.csv", include_str!("../data/changepoint/release_history.csv"));
    let asked =
        ["analyse", "history.csv", "--response", "mpps", "--better", "higher", "--history", "release"];
    let names = |findings: &Value| -> Vec<String> {
        let changes = findings["change_points"][0]["found"]["changes"].as_array().expect("changes");
        changes.iter().map(|c| c["name"].as_str().expect("a name").to_owned()).collect()
    };
    let found = json(&desk.fieldtrial(&[&asked[..], &["--json"]].concat()));
    assert_eq!(names(&found), ["0.5.108", "0.5.118"]);
    assert_eq!(against_schema(&desk, &found), Vec::<String>::new());
    let told_people = String::from_utf8_lossy(&desk.fieldtrial(&asked).stdout).into_owned();
    assert!(told_people.contains("New levels begin at 0.5.108 (+44.5 %)"), "{told_people}");

    // A cliff at the newest release, under a drift over four mirrored blocks.
    let releases = ["9.9", "9.10", "9.11", "9.12", "9.13"];
    let ladder = |cliff: f64| {
        let (mut text, mut place) = ("release,block,mpps,at\n".to_owned(), 0);
        for block in 1..=4 {
            let order: Vec<usize> = if block % 2 == 1 { (0..5).collect() } else { (0..5).rev().collect() };
            for release in order {
                place += 1;
                let noise = f64::from((place * 7) % 5) / 1000.0;
                let level = 2.0 * (1.0 - 0.003 * f64::from(place)) * if release == 4 { cliff } else { 1.0 };
                text.push_str(&format!("{},{block},{},{place}\n", releases[release], level * (1.0 + noise)));
            }
        }
        text
    };
    let asked =
        ["--response", "mpps", "--better", "higher", "--ladder", "release", "--block", "block", "--json"];
    for (cliff, expected) in [(0.9, &["9.13"][..]), (1.0, &[])] {
        desk.write("ladder.csv", &ladder(cliff));
        let found = json(&desk.fieldtrial(&[&["analyse", "ladder.csv"][..], &asked].concat()));
        assert_eq!(names(&found), expected, "{found}");
        assert_eq!(found["change_points"][0]["of"], "ladder");
    }
    let unblocked = desk.fieldtrial(&["analyse", "ladder.csv", "--response", "mpps", "--ladder", "release"]);
    assert_eq!(unblocked.status.code(), Some(2), "{}", told(&unblocked));
}

/// Three days with each reboot setting made once a day, and four runs under each: settings of the same
/// level differ by 1 and more, runs under one setting by 0.1.
fn reboots() -> String {
    let mut text = "day,boot,batch,setting,y\n".to_owned();
    for (day, heights) in [[0.0, 3.0], [1.0, 1.0], [-1.0, 2.0]].iter().enumerate() {
        for (boot, height) in heights.iter().enumerate() {
            for (run, noise) in [0.1, -0.1, -0.1, 0.1].into_iter().enumerate() {
                let y = 10.0 + height + 0.5 * (run % 2) as f64 + noise;
                text.push_str(&format!("{day},{boot},{},s{day}{boot},{y}\n", run % 2));
            }
        }
    }
    text
}

#[test]
fn what_was_set_once_a_group_is_judged_by_its_settings_and_not_by_the_runs() {
    let desk = Desk::new(COMMANDS);
    desk.write("reboots.csv", &reboots());
    let asked = ["analyse", "reboots.csv", "--response", "y", "--factors", "boot,batch"];
    let with = |more: &[&str]| desk.fieldtrial(&[&asked[..], more].concat());
    let of_block = ["--block", "day", "--whole-plot", "boot"];
    let found = json(&with(&[&of_block[..], &["--json"]].concat()));
    let split = &found["split_plots"][0];
    assert_eq!((&split["scale"], &split["found"]["settings"]), (&"linear".into(), &6.into()));
    // Differences of the settings are 3, 0 and 3: mean 2, variance 3, so F = 4 with 1 and 2 df.
    let boot = &split["found"]["groups"]["terms"][0]["type2"];
    assert!((boot["f"].as_f64().unwrap() - 4.0).abs() < 1e-9, "{boot}");
    assert!((boot["p"].as_f64().unwrap() - 0.183_503_419_072_273_97).abs() < 1e-9, "{boot}");
    let naive = &found["factorials"][0]["anova"];
    assert!(naive["terms"][0]["type2"]["p"].as_f64().unwrap() < 1e-3, "what runs alone would claim: {naive}");
    assert!(naive["notes"].to_string().contains("split_plots"), "{naive}");
    assert_eq!(against_schema(&desk, &found), Vec::<String>::new());
    let said = String::from_utf8_lossy(&with(&of_block).stdout).into_owned();
    assert!(said.contains("boot is judged by 6 settings, not by 24 runs"), "{said}");
    assert!(said.matches("is judged by").count() == 1, "once, on the scale of the answers: {said}");

    let named = ["--whole-plot", "boot", "--group", "setting", "--json"];
    let found = json(&with(&named));
    assert_eq!(found["split_plots"][0]["found"]["settings"], 6);
    desk.write("reboots.csv", &reboots().lines().take(9).collect::<Vec<_>>().join("\n"));
    let found = json(&with(&named));
    assert!(found["cautions"].to_string().contains("boot is confounded with the setting"), "{found}");

    for (more, expected) in [
        (&["--whole-plot", "boot"][..], "expected a column that says which runs shared a setting"),
        (
            &["--whole-plot", "setting", "--block", "day"],
            "was set once for a group of runs, and is no factor",
        ),
        (&["--group", "setting"], "--whole-plot"),
    ] {
        let output = with(more);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(said.contains(expected), "expected {expected}, found {said}");
    }
}
