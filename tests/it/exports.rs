//! Files for other tools: the tables of a record and what its columns mean.

use std::collections::BTreeSet;

use crate::desk::{COMMANDS, Desk, csv_rows, stdout};
use crate::exported::{self, FORMULA, SECRETS, copy, said};

const TABLES: [&str; 5] = ["runs.csv", "samples.csv", "counters.csv", "rejected.csv", "dictionary.csv"];

fn headings(path: &std::path::Path) -> Vec<String> {
    let mut reader = csv::Reader::from_path(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    reader.headers().expect("a header").iter().map(str::to_owned).collect()
}

#[test]
fn every_column_of_every_table_is_in_the_dictionary_and_no_other_is() {
    let (_desk, record) = copy();
    let files = std::fs::read_dir(&record).expect("the record").flatten();
    let tables: BTreeSet<String> = files
        .map(|f| f.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".csv"))
        .collect();
    assert_eq!(tables, TABLES.map(str::to_owned).into());
    let there = tables
        .iter()
        .flat_map(|table| headings(&record.join(table)).into_iter().map(|heading| (table.clone(), heading)));
    let rows = csv_rows(&record.join("dictionary.csv"));
    let told: Vec<(String, String)> =
        rows.iter().map(|row| (row["file"].clone(), row["column"].clone())).collect();
    assert_eq!(told.iter().cloned().collect::<BTreeSet<_>>(), there.collect());
    assert_eq!(told.iter().collect::<BTreeSet<_>>().len(), told.len(), "no column is named twice");
    for row in &rows {
        assert!(!row["meaning"].is_empty(), "{row:?}");
        assert!(row["unit"].is_empty() || row["column"].ends_with(&format!("({})", row["unit"])), "{row:?}");
    }
}

#[test]
fn every_field_has_the_type_that_the_dictionary_names() {
    let (_desk, record) = copy();
    let mut seen = BTreeSet::new();
    for column in csv_rows(&record.join("dictionary.csv")) {
        for row in csv_rows(&record.join(&column["file"])) {
            let field = &row[&column["column"]];
            let fits = match column["type"].as_str() {
                "integer" => field.parse::<i128>().is_ok(),
                "number" => field.parse::<f64>().is_ok_and(f64::is_finite),
                "boolean" => ["true", "false"].contains(&field.as_str()),
                "instant" => field.parse::<jiff::Timestamp>().is_ok(),
                "text" => true,
                other => panic!("{other} is no type"),
            };
            assert!(fits || field.is_empty(), "{field:?} is no {column:?}");
            seen.insert(column["type"].clone());
        }
    }
    assert!(["integer", "number", "instant", "text"].iter().all(|kind| seen.contains(*kind)), "{seen:?}");
}

#[test]
fn a_cell_that_looks_like_a_formula_is_neutralised_and_its_original_comes_back() {
    // Case R01.
    let (_desk, record) = copy();
    let rows = csv_rows(&record.join("runs.csv"));
    let levels: BTreeSet<&str> = rows.iter().map(|row| row["level.text"].as_str()).collect();
    assert_eq!(levels, ["'=cmd|' /C calc'!A0", "-5.55"].into(), "one prefix, and a number stays one");
    assert_eq!("'=cmd|' /C calc'!A0".strip_prefix('\''), Some("=cmd|' /C calc'!A0"));
    for table in TABLES {
        for row in csv_rows(&record.join(table)) {
            for field in row.values().filter(|field| field.parse::<f64>().is_err()) {
                assert!(!field.starts_with(['=', '+', '-', '@', '\t', '\r']), "{table}: {field}");
            }
        }
    }
    let findings = std::fs::read_to_string(record.join("findings.json")).expect("findings");
    let findings: serde_json::Value = serde_json::from_str(&findings).expect("strict JSON");
    let levels: Vec<&str> = findings["cells"]
        .as_array()
        .expect("cells")
        .iter()
        .filter_map(|cell| cell["levels"]["text"].as_str())
        .collect();
    assert!(levels.contains(&"=cmd|' /C calc'!A0"), "JSON holds the original: {levels:?}");
}

#[test]
fn values_have_all_their_digits() {
    let (_desk, record) = copy();
    let journal = std::fs::read_to_string(record.join("journal.jsonl")).expect("the journal");
    let runs = journal.lines().filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).expect("a line");
        line["event"]["run_ended"].as_object().cloned()
    });
    let rows = csv_rows(&record.join("runs.csv"));
    let mut compared = 0;
    for run in runs {
        let is_row = |row: &&std::collections::BTreeMap<String, String>| {
            row["cell"] == run["run"]["cell"] && run["run"]["block"] == row["block"].parse::<u64>().unwrap()
        };
        let row = rows.iter().find(is_row).expect("every attempt is a row");
        if let Some(value) = run["values"]["wall_time"].as_f64() {
            assert_eq!(row["wall_time (s)"].parse::<f64>().expect("a number").to_bits(), value.to_bits());
            compared += 1;
        }
    }
    assert_eq!(compared, rows.len());
}

#[test]
fn nothing_of_the_environment_is_kept_but_what_the_campaign_lists() {
    // Case R09.
    let (desk, record) = copy();
    let mut texts = vec![said().to_owned()];
    for entry in std::fs::read_dir(&record).expect("the record").flatten() {
        texts.push(String::from_utf8_lossy(&std::fs::read(entry.path()).expect("a file")).into_owned());
    }
    let mut command = desk.command(&["report", &exported::text(&record), "--json"]);
    command.envs(SECRETS);
    texts.push(stdout(&crate::process::finish(&mut command, std::time::Duration::from_secs(60))));
    for secret in SECRETS.iter().flat_map(|(_, value)| value.split(['\n', ' ', '='])) {
        let known = ["s", "Bearer"].contains(&secret);
        assert!(known || texts.iter().all(|text| !text.contains(secret)), "{secret} was kept");
    }
    assert!(texts.iter().any(|text| text.contains("LISTED=visible")), "what the campaign lists is kept");
}

#[test]
fn the_columns_of_any_record_are_printed_and_the_shipped_list_is_up_to_date() {
    let printed = stdout(&Desk::new(COMMANDS).fieldtrial(&["schema", "columns"]));
    let shipped = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/columns.csv");
    let same = std::fs::read_to_string(&shipped).is_ok_and(|text| text == printed);
    assert!(same, "run: fieldtrial schema columns > schemas/columns.csv");
    let (_desk, record) = copy();
    let any: Vec<_> =
        csv_rows(&shipped).into_iter().map(|row| (row["file"].clone(), row["column"].clone())).collect();
    for row in csv_rows(&record.join("dictionary.csv")) {
        let heading = &row["column"];
        // A name of this record stands where the list has capitals.
        let general = heading.replace("level.text", "level.VARIABLE").replace("run.", "ROLE.");
        let metric = row["file"] == "runs.csv" && heading.contains(" (") && !heading.contains("elapsed (ns)");
        let general = if metric && !general.starts_with("ROLE") { "METRIC (UNIT)" } else { &general };
        assert!(
            any.contains(&(row["file"].clone(), general.to_owned())),
            "{row:?} is not in schemas/columns.csv"
        );
    }
    assert!(said().contains(FORMULA));
}
