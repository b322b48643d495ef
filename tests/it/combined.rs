//! Treatments alone and together, by a real run: whether their gains add stands in findings and on the page.

use serde_json::Value;

use crate::desk::{Desk, code};
use crate::process::told;

#[test]
fn whether_the_gains_of_two_treatments_add_is_told_with_all_four_corners() {
    let desk = Desk::new(
        "campaign: c\nquestion: Do they add up?\nhosts: hosts.yaml\ncontrol: {set: {first: '0.04', second: '0.03'}}\n\
         treatments:\n  - {name: quick-first, change: {first: '0.01'}}\n  - {name: quick-second, change: {second: '0.01'}}\n\
         combine: all\nworkload: {command: {on: here, shell: 'sleep ${first}; sleep ${second}; echo same'}}\n\
         blocks: {count: 8, order: forward}\ntimeout: 20s\n",
    );
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let record = desk.record("reports");
    let read = |name: &str| std::fs::read_to_string(record.join(name)).expect("a file of the record");
    let findings: Value = serde_json::from_str(&read("findings.json")).expect("JSON");
    let pair = &findings["interactions"][0]["pairs"][0];
    assert_eq!((&pair["first"], &pair["second"]), (&"quick-first".into(), &"quick-second".into()));
    for scale in ["log", "linear"] {
        let square = &pair["squares"][0][scale];
        assert_eq!(square["n"], 8, "{square}");
        assert!(square["sentence"].as_str().is_some_and(|text| text.contains("gains")), "{square}");
    }
    let page = read("index.html");
    for corner in ["quick-first=no", "quick-first=yes", "quick-second=no", "quick-second=yes"] {
        assert!(page.contains(corner), "{corner} is not on the page");
    }
    // Eight runs in each of the four corners, found by what the arms are made of.
    assert!(page.matches("8 measured").count() >= 8, "four cells and four corners");
}
