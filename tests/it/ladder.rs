//! The ladder over real programs: one release reads its whole input before it rejects it on four bytes.

use std::path::PathBuf;

use serde_json::Value;

use crate::browser::look;
use crate::desk::{Desk, code, csv_rows, stderr, stdout};
use crate::process::told;

/// Enough that reading and summing it takes many times what starting a program does, on any machine.
const CORPUS: u64 = 96 << 20;

const CAMPAIGN: &str = "\
campaign: scan
question: Is an ordinary capture rejected quickly?
hosts: hosts.yaml
control: {set: {release: releases/app-0.5.121}}
workload:
  command:
    on: here
    run: ['${artifact}', CORPUS]
    artifact: {path: '${release}'}
blocks: {count: 4}
timeout: 30s
responses: [{name: wall_time, primary: true}]
";

/// Answers after four bytes.
const GOOD: &str = "#!/bin/sh\n# RELEASE\nhead -c 4 \"$1\" >/dev/null\necho 'no pcapng'\n";
/// Answers the same after all of them.
const BAD: &str = "#!/bin/sh\n# RELEASE\ncksum \"$1\" >/dev/null\necho 'no pcapng'\n";
/// Answers something else.
const WRONG: &str = "#!/bin/sh\n# RELEASE\necho 'pcapng'\n";

struct Shelf {
    desk: Desk,
}

impl Shelf {
    fn new() -> Shelf {
        let desk = Desk::new("");
        let corpus = desk.path().join("corpus");
        std::fs::File::create(&corpus).unwrap().set_len(CORPUS).unwrap();
        desk.write("c.yaml", &CAMPAIGN.replace("CORPUS", corpus.to_str().unwrap()));
        std::fs::create_dir(desk.path().join("releases")).unwrap();
        Shelf { desk }
    }

    fn release(&self, version: &str, script: &str) -> PathBuf {
        self.desk.script_file(&format!("releases/app-{version}"), &script.replace("RELEASE", version))
    }

    fn climb(&self, rest: &[&str]) -> (i32, Value) {
        let args = [&["ladder", "c.yaml", "--artifacts", "releases/*", "--json"], rest].concat();
        let output = self.desk.fieldtrial(&args);
        let answer =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", told(&output)));
        (code(&output), answer)
    }
}

fn change(climb: &Value) -> (String, String) {
    // A byte more in a script is a change too, and too small to be called one.
    let changes = climb["found"]["changes"].as_array().unwrap();
    let change = changes.iter().find(|change| change["below_smallest_step"] == false).expect("a cliff");
    (change["after"].as_str().unwrap().to_owned(), change["name"].as_str().unwrap().to_owned())
}

#[test]
fn the_release_that_reads_everything_is_named_and_the_control_stands_after_it() {
    let shelf = Shelf::new();
    for version in ["0.5.99", "0.5.116", "0.5.117"] {
        shelf.release(version, GOOD);
    }
    for version in ["0.5.118", "0.5.121"] {
        shelf.release(version, BAD);
    }
    let (exit, answer) = shelf.climb(&[]);
    assert_eq!(exit, 0, "{answer}");
    let names: Vec<&str> =
        answer["releases"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["0.5.99", "0.5.116", "0.5.117", "0.5.118", "0.5.121"], "ordered as versions");
    let climbs = answer["steps"][0]["climbs"].as_array().unwrap();
    let of = |name: &str| climbs.iter().find(|climb| climb["response"] == name).unwrap();
    assert_eq!(change(of("wall_time")), ("0.5.117".into(), "0.5.118".into()), "{answer}");
    assert_eq!(change(of("bytes_read")), ("0.5.117".into(), "0.5.118".into()), "the clue: {answer}");
    let control = of("wall_time")["control"].as_str().unwrap();
    assert!(control.contains("0.5.121 stands at or after the change from 0.5.117 to 0.5.118"), "{control}");
    let record = PathBuf::from(answer["steps"][0]["record"].as_str().unwrap());
    assert!(shelf.desk.path().join(record).join("ladder.json").is_file());
}

#[test]
fn the_page_of_a_ladder_has_every_run_the_cliff_and_what_was_refused() {
    let shelf = Shelf::new();
    for (version, script) in [("1.0", GOOD), ("1.1", GOOD), ("1.2", WRONG), ("1.3", BAD), ("1.4<b>", BAD)] {
        shelf.release(version, script);
    }
    let (_, answer) = shelf.climb(&["--control", "1.3"]);
    jsonschema::validate(&shelf.desk.schema("ladder"), &answer).unwrap_or_else(|e| panic!("{e}: {answer}"));
    let record = shelf.desk.path().join(answer["steps"][0]["record"].as_str().unwrap());
    let text = |name: &str| std::fs::read_to_string(record.join(name)).unwrap();
    let (page, ladder) = (text("ladder.html"), text("ladder.json"));
    assert!(page.contains("1.2 was refused: it gives another answer than the control."), "{page}");
    assert!(page.contains("between 1.1 and 1.3"), "{page}");
    assert!(page.contains("1.4&lt;b&gt;") && !page.contains("1.4<b>"), "{page}");
    let link = "<a href=\"ladder.html\">";
    assert!(text("index.html").contains(link), "its record leads to it");
    let index = std::fs::read_to_string(record.join("../index.html")).unwrap();
    let name = record.file_name().unwrap().to_string_lossy().into_owned();
    assert!(index.contains(&format!("{name}/ladder.html")), "and so does its campaign: {index}");

    // What is derived is built again from the journal.
    for file in ["ladder.html", "index.html"] {
        std::fs::remove_file(record.join(file)).unwrap();
    }
    let output = shelf.desk.fieldtrial(&["report", record.to_str().unwrap()]);
    assert_eq!(code(&output), 4, "a release is refused: {}", told(&output));
    assert_eq!((text("ladder.html"), text("ladder.json")), (page, ladder));
    assert!(text("index.html").contains(link));
    let whole = text("ladder.json");
    std::fs::write(record.join("ladder.json"), "{}").unwrap();
    let output = shelf.desk.fieldtrial(&["report", record.to_str().unwrap()]);
    assert_eq!(code(&output), 4, "the report is whole without its ladder: {}", told(&output));
    assert!(stderr(&output).contains("ladder.json: expected a ladder"), "{}", told(&output));
    std::fs::write(record.join("ladder.json"), whole).unwrap();

    let measured = csv_rows(&record.join("runs.csv")).iter().filter(|r| r["outcome"] == "measured").count();
    let marks = "document.querySelector('.broad svg').querySelectorAll('g > title').length";
    let dots = "Array.from(document.querySelector('.broad svg').querySelectorAll('path.dust')).reduce((n, p) => n + p.getAttribute('d').split('M').length - 1, 0)";
    let wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    let ask = serde_json::json!({"marks": marks, "dots": dots, "wide": wide,
                                 "cuts": "document.querySelector('.broad svg').querySelectorAll('.cut').length"});
    let views = [
        serde_json::json!({"width": 1300, "axe": true, "ask": ask}),
        serde_json::json!({"width": 390, "height": 800, "dark": true, "axe": true, "ask": ask}),
        serde_json::json!({"script": false, "ask": ask}),
    ];
    let path = record.join("ladder.html");
    let Some(seen) = look(&path, &views) else { return };
    for seen in seen {
        seen.is_quiet(&path);
        assert_eq!((seen.number("marks"), seen.number("dots")), (5, measured as u64), "of five releases");
        assert!(seen.number("cuts") > 0 && seen.number("wide") <= 1, "{:?}", seen.answers);
    }
}

#[test]
fn a_bisection_measures_a_grid_and_then_only_between_the_two_ends_of_the_cliff() {
    let shelf = Shelf::new();
    for patch in 0..12 {
        shelf.release(&format!("1.{patch}.0"), if patch < 7 { GOOD } else { BAD });
    }
    // What was read is exact, also on a machine that has other work; that the time shows it too is told above.
    let campaign = std::fs::read_to_string(shelf.desk.path().join("c.yaml")).unwrap();
    let exact = campaign.replace(
        "[{name: wall_time, primary: true}]",
        "[{name: bytes_read, primary: true}, {name: wall_time}]",
    );
    shelf.desk.write("c.yaml", &exact);
    let output = shelf.desk.fieldtrial(&["ladder", "c.yaml", "--artifacts", "releases/*", "--bisect"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let text = stdout(&output);
    assert!(text.contains("1.6.0") && text.contains("1.7.0"), "{text}");
    let (_, answer) = shelf.climb(&["--bisect", "--blocks", "4"]);
    let steps = answer["steps"].as_array().unwrap();
    assert!((2..5).contains(&steps.len()), "{answer}");
    let last = steps.last().unwrap()["climbs"].as_array().unwrap();
    let read = last.iter().find(|climb| climb["response"] == "bytes_read").unwrap();
    assert_eq!(change(read), ("1.6.0".into(), "1.7.0".into()), "{answer}");
    assert_eq!(steps[0]["climbs"][0]["rungs"].as_array().unwrap().len(), 5, "a coarse grid first");
}

#[test]
fn a_release_that_answers_otherwise_is_never_timed_and_equal_ones_have_no_cliff() {
    let shelf = Shelf::new();
    shelf.release("1.0", GOOD);
    shelf.release("1.1", WRONG);
    shelf.release("1.2", GOOD);
    let (exit, answer) = shelf.climb(&["--control", "1.2"]);
    assert_eq!(exit, 4, "{answer}");
    let climbs = answer["steps"][0]["climbs"].as_array().unwrap();
    let read = climbs.iter().find(|climb| climb["response"] == "bytes_read").unwrap();
    assert_eq!((&read["rungs"][1]["median"], &read["rungs"][0]["n"]), (&Value::Null, &4.into()), "{answer}");
    assert!(read["rungs"][1]["reason"].as_str().unwrap().starts_with("refused"), "{answer}");
    assert_eq!(read["found"]["changes"], serde_json::json!([]), "{answer}");
    assert!(read["control"].as_str().unwrap().starts_with("No change was found"), "{answer}");
}

#[test]
fn mistakes_are_told_before_anything_is_measured() {
    let shelf = Shelf::new();
    shelf.release("1.0", GOOD);
    let ask = |args: &[&str]| {
        let output = shelf.desk.fieldtrial(&[&["ladder", "c.yaml"], args].concat());
        assert_eq!(code(&output), 2, "{}", told(&output));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(ask(&["--artifacts", "nothing/*"]).contains("no file fits nothing/*"));
    assert!(ask(&["--artifacts", "releases/*"]).contains("at least two releases, found 1"));
    shelf.release("old", GOOD);
    assert!(ask(&["--artifacts", "releases/*"]).contains("`app-old` has neither a version"));
    assert!(ask(&["--releases", "a,b", "--control", "c"]).contains("no release is called `c`"));
    assert!(ask(&["--releases", "a,b", "--setting", "mode"]).contains("no setting `mode`"));
    assert!(ask(&["--artifacts", "https://198.18.9.9/app#12"]).contains("expected # and the SHA-256"));
    assert!(ask(&["--history"]).contains("has no history of scan"));
    assert!(!shelf.desk.path().join("reports").exists());
}

/// Case G04, in figures that the kernel counts: two releases behind the cliff agree with each other.
const RATE: &str = "\
campaign: rate
question: Is the control on the right side?
hosts: hosts.yaml
control: {set: {release: releases/app-0.5.118}}
workload:
  command:
    on: here
    run: ['${artifact}']
    artifact: {path: '${release}'}
    values: {rate: {pattern: 'rate=(\\d+)', unit: packets/s, better: higher}}
verify: {output: ignored}
blocks: {count: 4}
timeout: 30s
responses: [{name: rate, primary: true}]
";

#[test]
fn a_control_behind_the_cliff_agrees_with_its_candidate_and_is_told_how_far_it_has_fallen() {
    let shelf = Shelf::new();
    shelf.desk.write("c.yaml", RATE);
    for (version, rate) in
        [("0.5.116", 3_300_000), ("0.5.117", 3_290_000), ("0.5.118", 2_400_000), ("0.5.121", 2_410_000)]
    {
        shelf.release(version, &format!("#!/bin/sh\n# RELEASE\necho rate={rate}\n"));
    }
    let (exit, answer) = shelf.climb(&["--control", "0.5.118"]);
    assert_eq!(exit, 0, "{answer}");
    let climbs = answer["steps"][0]["climbs"].as_array().unwrap();
    let rate = climbs.iter().find(|climb| climb["response"] == "rate").unwrap();
    assert_eq!(change(rate), ("0.5.117".into(), "0.5.118".into()), "{answer}");
    let control = rate["control"].as_str().unwrap();
    assert!(control.contains("at or after the change from 0.5.117 to 0.5.118"), "{control}");
    assert!(control.contains("27.3 % below the best of them, 0.5.116"), "{control}");
}

#[test]
fn a_bisection_without_a_change_says_what_it_cannot_see() {
    let shelf = Shelf::new();
    for patch in 0..6 {
        shelf.release(&format!("1.{patch}.0"), GOOD);
    }
    let campaign = std::fs::read_to_string(shelf.desk.path().join("c.yaml")).unwrap();
    shelf.desk.write(
        "c.yaml",
        &campaign.replace("{name: wall_time, primary: true}", "{name: bytes_read, primary: true}"),
    );
    let output = shelf.desk.fieldtrial(&["ladder", "c.yaml", "--artifacts", "releases/*", "--bisect"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let text = stdout(&output);
    assert!(text.contains("between the ends 1.0.0 and 1.5.0") && text.contains("rose and fell"), "{text}");
}

#[test]
fn a_release_comes_by_its_address_only_with_the_digest_that_it_really_has() {
    let shelf = Shelf::new();
    let here = |version: &str| {
        let path = shelf.release(version, GOOD);
        let bytes = std::fs::read(&path).unwrap();
        (path, fieldtrial::model::digest::of_bytes(&bytes))
    };
    let ((old, digest), (new, _)) = (here("1.0"), here("1.1"));
    let ask = |digest: &str| {
        let address = format!("file://{}#{digest}", old.display());
        let args =
            ["ladder", "c.yaml", "--artifacts", &address, "--artifacts", new.to_str().unwrap(), "--json"];
        shelf.desk.fieldtrial(&args)
    };
    let wrong = ask(&"0".repeat(64));
    assert_eq!(code(&wrong), 2, "{}", told(&wrong));
    assert!(told(&wrong).contains(&format!("found {digest}")), "{}", told(&wrong));
    let right = ask(&digest);
    assert_eq!(code(&right), 0, "{}", told(&right));
    let answer: Value = serde_json::from_slice(&right.stdout).unwrap();
    assert_eq!(answer["releases"][0]["sha256"], digest.as_str(), "{answer}");
}
