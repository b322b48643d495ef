//! Dead-ends files, and cells that do or do not repeat their entries.

use serde_json::{Value, json};

use super::*;
use crate::yaml::{self, Source};

const SHIPPED: &str = include_str!("../../campaigns/dead-ends.yaml");

#[track_caller]
fn known(text: &str) -> Vec<DeadEnd> {
    let source = Source::new("d.yaml", text);
    let parsed = parse(&source);
    assert!(parsed.complaints.is_empty(), "{}", yaml::render(&parsed.complaints, &source, false));
    parsed.dead_ends.expect("dead ends without complaints")
}

fn values(value: Value) -> Values {
    value.as_object().expect("an object").clone().into_iter().collect()
}

/// Names of the shipped entries that a cell repeats, those that could not be told marked with `?`.
fn repeated(cell: Value, facts: Value) -> Vec<String> {
    let cell = values(cell);
    let mut end = cell.clone();
    end.extend(values(facts));
    let known = known(SHIPPED);
    let name = |entry: &DeadEnd| {
        let repeat = entry.repeated(&cell, std::slice::from_ref(&end))?;
        Some(format!("{}{}", entry.name, if repeat.untold { "?" } else { "" }))
    };
    known.iter().filter_map(name).collect()
}

fn rig() -> Value {
    json!({"driver": "ice", "rx_queues": 7, "cpu_count": 20, "core_types": {"P": "0-15", "E": "16-19"}})
}

#[test]
fn the_changes_of_the_rig_are_dead_ends_on_the_rig() {
    assert_eq!(repeated(json!({"runtime": "go", "senders": "split"}), rig()), ["split-senders"]);
    assert_eq!(repeated(json!({"runtime": "go", "cpus": "0-7"}), rig()), ["pinning"]);
    assert_eq!(repeated(json!({"batch": 128, "tx": "af_packet"}), rig()), ["batches-over-64"]);
    assert_eq!(repeated(json!({"on_full": "poll"}), json!({})), ["enobufs-spin"]);
    let xdp = json!({"tx": "af_packet", "rx": "af_xdp"});
    assert_eq!(repeated(xdp.clone(), json!({"driver": "i40e"})), ["af-xdp-parked"]);
    assert_eq!(repeated(xdp, rig()), [""; 0], "on the card that it was parked for");
}

#[test]
fn what_the_rig_did_before_is_no_dead_end() {
    let before = json!({
        "runtime": "go", "senders": "joined", "cpus": "any", "batch": 64, "tx": "af_packet", "rx": "af_packet",
        "on_full": "spin"
    });
    assert_eq!(repeated(before, rig()), [""; 0]);
}

#[test]
fn pinning_on_another_machine_or_under_another_scheduler_is_no_dead_end() {
    let pinned = |runtime: &str| json!({"runtime": runtime, "cpus": "0,1"});
    let mut other = rig();
    other["cpu_count"] = 64.into();
    assert_eq!(repeated(pinned("go"), other), [""; 0]);
    assert_eq!(repeated(pinned("native"), rig()), [""; 0]);
    assert_eq!(repeated(pinned("go"), rig()), ["pinning"]);
}

#[test]
fn a_fact_that_is_not_told_does_not_show_that_anything_differs() {
    let wide = json!({"batch": 65, "tx": "af_packet"});
    assert_eq!(repeated(wide.clone(), json!({})), ["batches-over-64?"]);
    assert_eq!(repeated(wide.clone(), json!({"driver": "ice"})), ["batches-over-64?"]);
    assert_eq!(repeated(wide, json!({"driver": "veth"})), [""; 0]);
    let text = json!({"batch": "128", "tx": "af_packet"});
    assert_eq!(repeated(text, rig()), ["batches-over-64?"], "a rule that cannot be decided is no acquittal");
}

#[test]
fn a_repeat_tells_the_outcome_the_facts_and_the_way_on() {
    let known = known(SHIPPED);
    let entry = known.iter().find(|entry| entry.name == "batches-over-64").expect("the entry");
    let cell = values(json!({"batch": 65, "tx": "af_packet"}));
    let repeat = entry.repeated(&cell, &[values(rig())]).expect("a repeat");
    assert!(repeat.reason.ends_with("no gain, and more loss"), "{}", repeat.reason);
    assert!(repeat.evidence.contains(&"card: driver == ice, here too".to_owned()), "{:?}", repeat.evidence);
    assert!(entry.next_step().contains("`reattempt: {batches-over-64: REASON}`"));
}

#[test]
fn everything_that_is_wrong_is_told_at_once_with_its_place() {
    let source =
        Source::new("d.yaml", "dead_ends:\n  x:\n    what: w\n    chnge: a\n    facts: {f: 'a >'}\n");
    let parsed = parse(&source);
    let shown = yaml::render(&parsed.complaints, &source, false);
    assert!(parsed.dead_ends.is_none());
    for wanted in ["did you mean `change`?", "d.yaml:4:5", "found its end", "`measured`", "`again`"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
}

#[test]
fn the_shipped_file_fits_the_schema_which_knows_the_keys_of_the_parser() {
    let as_json = |text: &str| {
        let node = yaml::read(&Source::new("d.yaml", text), &mut Vec::new()).expect("YAML");
        yaml::plain(&node)
    };
    let schema = schema();
    assert!(jsonschema::is_valid(&schema, &as_json(SHIPPED)));
    assert!(!jsonschema::is_valid(&schema, &as_json(&SHIPPED.replace("measured:", "mesured:"))));
    let mut keys: Vec<&String> =
        schema["definitions"]["DeadEnd"]["properties"].as_object().expect("keys").keys().collect();
    let mut known = super::parse::ENTRY_KEYS;
    keys.sort();
    known.sort();
    assert_eq!(keys, known.iter().collect::<Vec<_>>());
    let expected = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
    let same = include_str!("../../schemas/dead-ends.schema.json") == expected;
    assert!(same, "run: fieldtrial schema dead-ends > schemas/dead-ends.schema.json");
}
