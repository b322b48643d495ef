//! `export`: each format read back by what reads it.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus};

use crate::desk::{COMMANDS, Desk, code, csv_rows, stderr, stdout};
use crate::exported::{FORMULA, copy, text};
use crate::process::told;

fn export(desk: &Desk, record: &std::path::Path, args: &[&str]) -> String {
    let output = desk.fieldtrial(&[&["export", &text(record), "--format"], args].concat());
    assert_eq!(code(&output), 0, "{}", told(&output));
    stdout(&output)
}

fn summary(desk: &Desk, record: &std::path::Path) -> Vec<BTreeMap<String, String>> {
    let path = desk.path().join("summary.csv");
    assert_eq!(export(desk, record, &["csv", "--output", &text(&path)]), "");
    csv_rows(&path)
}

#[test]
fn the_summary_has_a_row_for_each_cell_and_response_with_all_digits() {
    let (desk, record) = copy();
    let rows = summary(&desk, &record);
    assert_eq!(rows.len(), 5 * 2 + 3, "five live cells with two responses, three cells without any");
    let findings = std::fs::read_to_string(record.join("findings.json")).unwrap();
    let findings: serde_json::Value = serde_json::from_str(&findings).expect("strict JSON");
    for cell in findings["cells"].as_array().unwrap() {
        for found in cell["responses"].as_array().unwrap() {
            let row = rows.iter().find(|r| r["cell"] == cell["cell"] && r["response"] == found["response"]);
            let row = row.unwrap_or_else(|| panic!("no row for {found}"));
            for name in ["median", "min", "max", "sd"] {
                assert_eq!(row[name].parse::<f64>().ok(), found[name].as_f64(), "{name} of {row:?}");
            }
            assert_eq!(row["median"].is_empty(), row["absent"].contains("median: "), "a reason: {row:?}");
        }
    }
    let dictionary = export(&desk, &record, &["csv", "--table", "dictionary"]);
    for heading in rows[0].keys() {
        assert!(dictionary.contains(&format!("\"summary.csv\",\"{heading}\",")), "{heading} in {dictionary}");
    }
    for (table, file) in [
        ("runs", "runs.csv"),
        ("samples", "samples.csv"),
        ("rejected", "rejected.csv"),
        ("counters", "counters.csv"),
    ] {
        let file = std::fs::read_to_string(record.join(file)).unwrap();
        assert_eq!(export(&desk, &record, &["csv", "--table", table]), file);
    }
}

/// A family as the text rules of OpenMetrics 1.0 allow it.
#[derive(Default)]
struct Family {
    kind: String,
    unit: String,
    /// Labels and value; labels are unique.
    samples: BTreeMap<Vec<(String, String)>, f64>,
}

/// Reads a whole exposition and refuses whatever the rules do not allow.
fn openmetrics(exposition: &str) -> BTreeMap<String, Family> {
    let body = exposition.strip_suffix("# EOF\n").expect("it ends with # EOF and a line feed");
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in body.lines() {
        if let Some(described) = line.strip_prefix("# ") {
            let mut parts = described.splitn(3, ' ');
            let [what, name, rest] = [(); 3].map(|()| parts.next().unwrap_or_else(|| panic!("{line}")));
            match what {
                "TYPE" => {
                    assert!(!families.contains_key(name), "{name} stands together");
                    assert!(["gauge", "info", "stateset"].contains(&rest), "{line}");
                    current = name.to_owned();
                    families.insert(current.clone(), Family { kind: rest.to_owned(), ..Family::default() });
                }
                "UNIT" => {
                    assert!(name == current && name.ends_with(&format!("_{rest}")), "{line}");
                    families.get_mut(name).expect("typed before").unit = rest.to_owned();
                }
                "HELP" => assert!(name == current && !rest.is_empty(), "{line}"),
                other => panic!("{other} is no descriptor"),
            }
            continue;
        }
        let (name, rest) = line.split_once('{').unwrap_or_else(|| panic!("labels: {line}"));
        let family = families.get_mut(&current).expect("a family");
        let end = if family.kind == "info" { "_info" } else { "" };
        assert_eq!(name, format!("{current}{end}"), "samples stand below their family");
        let (labels, rest) = labels(rest);
        let value: f64 =
            rest.strip_prefix(' ').and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        assert!(value.is_finite(), "{line}");
        assert!(family.samples.insert(labels, value).is_none(), "twice the same labels: {line}");
    }
    families
}

/// The labels up to the closing brace, and what follows it.
fn labels(mut rest: &str) -> (Vec<(String, String)>, &str) {
    let mut found: Vec<(String, String)> = vec![];
    loop {
        let (name, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("a label: {rest}"));
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{name}");
        assert!(
            !name.starts_with(|c: char| c.is_ascii_digit()) && found.iter().all(|(n, _)| n != name),
            "{name}"
        );
        let mut value = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next().expect("a closing quote") {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next().map(|(_, c)| c) {
                    Some('n') => '\n',
                    Some(c @ ('\\' | '"')) => c,
                    other => panic!("escape {other:?} in {after}"),
                }),
                (_, c) => value.push(c),
            }
        };
        found.push((name.to_owned(), value));
        match after[end + 1..].strip_prefix(',') {
            Some(more) => rest = more,
            None => return (found, after[end + 1..].strip_prefix('}').expect("a closing brace")),
        }
    }
}

#[test]
fn openmetrics_follows_its_text_rules_and_has_the_values_of_the_record() {
    let (desk, record) = copy();
    let families = openmetrics(&export(&desk, &record, &["openmetrics"]));
    let times = &families["fieldtrial_wall_time_seconds"];
    assert_eq!((times.kind.as_str(), times.unit.as_str()), ("gauge", "seconds"));
    let mut compared = 0;
    for row in summary(&desk, &record).iter().filter(|row| row["response"] == "wall_time") {
        for statistic in ["median", "low", "high", "min", "q1", "q3", "max", "mean", "sd"] {
            let has = |labels: &[(String, String)]| {
                let is = |name: &str, value: &str| labels.iter().any(|(n, v)| n == name && v == value);
                is("cell", &row["cell"]) && is("statistic", statistic)
            };
            let found = times.samples.iter().find(|(labels, _)| has(labels)).map(|(_, value)| *value);
            assert_eq!(found, row[statistic].parse().ok(), "{statistic} of {row:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, 5 * 9);
    let level = ("level_text".to_owned(), "=cmd|' /C calc'!A0".to_owned());
    assert!(times.samples.keys().any(|labels| labels.contains(&level)), "labels hold the original");
    // Case R03: what does not exist has no sample, and a reason.
    let absent = &families["fieldtrial_absent"];
    let reason = |labels: &Vec<(String, String)>| {
        labels.iter().any(|(n, v)| n == "reason" && v.contains("yielded a value"))
    };
    assert!(absent.kind == "info" && absent.samples.keys().any(reason));
    assert!(!families.contains_key("fieldtrial_peak_rss_bytes") || !absent.samples.is_empty());
    let verdicts = &families["fieldtrial_verdict"];
    let mut states: BTreeMap<Vec<(String, String)>, f64> = BTreeMap::new();
    for (labels, value) in &verdicts.samples {
        assert!(labels.iter().any(|(name, _)| name == "fieldtrial_verdict"), "a state set names its states");
        let others: Vec<_> = labels.iter().filter(|(n, _)| n != "fieldtrial_verdict").cloned().collect();
        *states.entry(others).or_default() += value;
    }
    assert!(states.values().all(|sum| *sum == 1.0), "one verdict each: {states:?}");
}

fn case<'a>(report: &'a Report, name: &str) -> &'a TestCase {
    let all = report.test_suites.iter().flat_map(|suite| &suite.test_cases);
    all.into_iter().find(|case| case.name.as_str() == name).unwrap_or_else(|| panic!("no test case {name}"))
}

#[test]
fn junit_has_refused_cells_and_failed_runs_as_failures_with_reasons() {
    let (desk, record) = copy();
    let xml = export(&desk, &record, &["junit"]);
    let report = Report::deserialize_from_str(&xml).expect("JUnit");
    assert!(matches!(case(&report, "text=-5.55/plain").status, TestCaseStatus::Success { .. }));
    match &case(&report, "text=-5.55/wrong").status {
        TestCaseStatus::NonSuccess { kind: NonSuccessKind::Failure, message, description, ty, .. } => {
            assert_eq!(ty.as_ref().map(|t| t.as_str()), Some("refused"));
            assert!(message.as_ref().is_some_and(|m| m.as_str().contains("another answer than the control")));
            assert!(
                description.as_ref().is_some_and(|d| d.as_str().contains("output sha256: the control has"))
            );
        }
        other => panic!("{other:?}"),
    }
    match &case(&report, &format!("{FORMULA}/flaky")).status {
        TestCaseStatus::NonSuccess { kind: NonSuccessKind::Failure, message, description, .. } => {
            assert_eq!(message.as_ref().map(|m| m.as_str()), Some("1 of 8 runs failed"));
            let lines = description.as_ref().map_or("", |d| d.as_str());
            assert!(
                lines.contains("exit status 3") && lines.contains("\\x1b]0;owned\\x07\\x1b[8m<script>"),
                "{lines}"
            );
        }
        other => panic!("{other:?}"),
    }
    match &case(&report, "text=-5.55/flaky").status {
        TestCaseStatus::Skipped { message, ty, .. } => {
            assert_eq!(ty.as_ref().map(|t| t.as_str()), Some("excluded"));
            assert!(message.as_ref().is_some_and(|m| m.as_str().contains("it has <i>no</i> | sense")));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(case(&report, "every run is accounted for").status, TestCaseStatus::Success { .. }));
    assert!(matches!(case(&report, "the trial is complete").status, TestCaseStatus::Success { .. }));
    // What the campaign declares that it expects is no failure.
    let campaign = std::fs::read_to_string(record.join("campaign.yaml")).unwrap();
    let expecting =
        campaign.replace("timeout: 10s", "expect: {refused: ['*/wrong'], failed: ['*/flaky']}\ntimeout: 10s");
    std::fs::write(record.join("campaign.yaml"), expecting).unwrap();
    let changed = desk.fieldtrial(&["export", &text(&record), "--format", "junit"]);
    assert!(
        stderr(&changed).contains("every outcome counts as one that was not expected"),
        "{}",
        told(&changed)
    );
    assert_eq!(stdout(&changed), xml, "a campaign that was changed afterwards excuses nothing");
}

#[test]
fn markdown_is_a_table_and_nothing_from_outside_is_markup() {
    let (desk, record) = copy();
    let text = export(&desk, &record, &["markdown"]);
    let (mut width, mut cells, mut names) = (0, 0, BTreeSet::new());
    let mut cell = String::new();
    let mut tables = 0;
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Table(columns)) => (width, tables) = (columns.len(), tables + 1),
            Event::Start(Tag::TableRow) => cells = 0,
            Event::Start(Tag::TableCell) => cell.clear(),
            Event::End(TagEnd::TableCell) => {
                if cells == 0 {
                    names.insert(cell.clone());
                }
                cells += 1;
            }
            Event::End(TagEnd::TableRow) => assert_eq!(cells, width, "a row has its table's columns"),
            Event::Text(words) => cell.push_str(&words),
            Event::InlineHtml(tag) | Event::Html(tag) => {
                assert!(["<!-- -->", "<br>"].contains(&tag.trim()), "{tag} comes from outside");
            }
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Emphasis | Tag::CodeBlock(_))
            | Event::Code(_) => {
                panic!("markup from outside in {text}")
            }
            _ => {}
        }
    }
    assert_eq!(tables, 2, "cells, and what was turned down");
    for arm in ["plain", "slower", "flaky", "wrong"] {
        assert!(names.contains(&format!("{FORMULA}/{arm}")), "{names:?}");
    }
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, Parser::new_ext(&text, Options::ENABLE_TABLES));
    assert!(html.contains("@<!-- -->everyone") && !html.contains("@everyone"), "nobody is called");
    assert!(html.contains("another answer than the control") && html.contains("1 failed"), "{html}");
}

#[test]
fn bencher_has_the_medians_with_their_bounds_and_tells_what_it_cannot_hold() {
    let (desk, record) = copy();
    let output = desk.fieldtrial(&["export", &text(&record), "--format", "bencher"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("strict JSON");
    for row in summary(&desk, &record).iter().filter(|row| !row["response"].is_empty()) {
        let unit = if row["response"] == "wall_time" { "seconds" } else { "bytes" };
        let name = format!("exported: {}", row["cell"]);
        let measure = &document[&name][format!("{}_{unit}", row["response"])];
        assert_eq!(measure["value"].as_f64(), row["median"].parse().ok(), "{row:?}");
        assert_eq!(measure["lower_value"].as_f64(), row["low"].parse().ok(), "{row:?}");
        assert_eq!(measure["upper_value"].as_f64(), row["high"].parse().ok(), "{row:?}");
    }
    assert!(stderr(&output).contains("no place for a missing value"), "{}", told(&output));
    assert!(stderr(&output).contains("text=-5.55/flaky: excluded"), "{}", told(&output));
}

#[test]
fn a_file_is_written_whole_or_not_at_all_and_a_device_stays_one() {
    let (desk, record) = copy();
    let path = text(&record);
    let to = |output: &str| desk.fieldtrial(&["export", &path, "--format", "markdown", "--output", output]);
    let file = text(&desk.path().join("answer.md"));
    assert_eq!(code(&to(&file)), 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), export(&desk, &record, &["markdown"]));
    assert_eq!(code(&to("/dev/null")), 0);
    use std::os::unix::fs::FileTypeExt;
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    for (output, expected) in
        [(&path, "is a folder"), (&format!("{path}/none/x.md"), "lies in no folder that is there")]
    {
        let refused = to(output);
        assert_eq!(code(&refused), 2, "{}", told(&refused));
        assert!(stderr(&refused).contains(expected), "{}", told(&refused));
    }
    let tables = desk.fieldtrial(&["export", &path, "--format", "junit", "--table", "runs"]);
    assert_eq!(code(&tables), 2, "{}", told(&tables));
}

#[test]
fn nobody_pays_for_parquet_who_does_not_ask_for_it() {
    let tree = |more: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO"));
        command.args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none"]).args(more);
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        let output = crate::process::finish(&mut command, std::time::Duration::from_secs(60));
        assert_eq!(code(&output), 0, "{}", told(&output));
        stdout(&output)
    };
    let has = |tree: &str| tree.lines().any(|line| line.starts_with("parquet v"));
    assert!(!has(&tree(&[])));
    if cfg!(feature = "parquet") {
        let (desk, record) = copy();
        let path = text(&desk.path().join("runs.parquet"));
        export(&desk, &record, &["parquet", "--table", "runs", "--output", &path]);
        let file = std::fs::read(&path).unwrap();
        assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    } else {
        let (desk, record) = copy();
        let output = desk.fieldtrial(&["export", &text(&record), "--format", "parquet"]);
        assert_eq!(code(&output), 2, "{}", told(&output));
        assert!(stderr(&output).contains("cargo build --release --features parquet"), "{}", told(&output));
    }
}

#[test]
fn every_schema_that_is_shipped_is_the_one_that_is_printed() {
    let desk = Desk::new(COMMANDS);
    for of in ["campaign", "hosts", "dead-ends", "findings", "comparison", "gate", "ladder"] {
        let schema = desk.schema(of);
        jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{of}: {error}"));
    }
}
