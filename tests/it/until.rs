//! Trials that go on until the answer is precise enough, and the control measured twice.

use std::collections::BTreeMap;
use std::time::Duration;

use fieldtrial::analysis::judge::judge;
use fieldtrial::conduct::lab::LabError;
use fieldtrial::conduct::{Asked, Ended, Stop};
use fieldtrial::evidence::event::Opening;
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::model::job::JobReport;
use serde_json::{Value, json};

use crate::desk::{COMMANDS, Desk, code, stderr, stdout};
use crate::process::{finish, told};
use crate::spine::{StandIn, TWO_ARMS, plan, report, session, words};

const UNTIL: &str = "{count: 10, until: {halfwidth: 2%, most: 14}, order: forward}";

fn campaign() -> String {
    TWO_ARMS.replace("{count: 2, order: forward}", UNTIL).replace("pilot: true\n", "")
}

/// Evidence that knows what was asked, as a record has it from its first line.
fn opened(until: Value) -> Evidence {
    let arm = |kind: &str, name: &str| json!({"kind": kind, "name": name, "changes": {}, "because": null});
    let opening: Opening = serde_json::from_value(json!({
        "record": "r", "campaign": "c", "question": null, "hypothesis": null, "pilot": false,
        "workload": "command", "variables": {}, "accept": [], "blocks": 10, "until": until,
        "responses": [{"name": "wall_time", "unit": "s", "better": "lower", "margin": null, "primary": true}],
        "arms": [arm("control", "control"), arm("treatment", "new")],
        "order": "forward", "seed": 1, "timeout_ms": 60_000, "planned_cells": 2, "planned_runs": 20,
    }))
    .expect("an opening");
    Evidence { opening: Some(opening), ..Evidence::default() }
}

fn asked() -> Evidence {
    opened(json!({"halfwidth": 0.02, "of": "wall_time", "most": 14}))
}

/// A lab in which `new` takes `factor` of a second in its block and `old` takes one.
fn lab(mut factor: impl FnMut(u64) -> f64 + 'static) -> StandIn {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    StandIn::new(move |_, spec, _| -> Result<JobReport, LabError> {
        let tool = words(spec)[0].clone();
        let times = seen.entry(tool.clone()).or_default();
        *times += 1;
        let mut report = report(spec, &tool, "same");
        // The first of each is its proof.
        let seconds = if tool == "new" && *times > 1 { factor(*times - 1) } else { 1.0 };
        report.wall_ns = (seconds * 1e9) as u64;
        Ok(report)
    })
}

fn blocks(evidence: &Evidence) -> usize {
    evidence.blocks.values().filter(|block| block.rerun_of.is_none()).count()
}

#[test]
fn a_trial_ends_at_the_first_look_that_finds_the_answer_precise() {
    type Noise = fn(u64) -> f64;
    let quiet: Noise = |block| 0.9 + block as f64 / 10_000.0;
    // One bad block of ten reaches into the interval, one of twelve does not.
    let one_bad: Noise = |block| if block == 1 { 0.5 } else { 0.9 + block as f64 / 10_000.0 };
    let wild: Noise = |block| if block % 2 == 0 { 0.5 } else { 1.5 };
    for (noise, expected) in [(quiet, 10), (one_bad, 12), (wild, 14)] {
        let mut evidence = asked();
        let mut lab = lab(noise);
        let ended = session(&plan(&campaign()), &mut lab, &mut evidence, Asked::Rest, Stop::No);
        assert_eq!((ended, blocks(&evidence)), (Ended::Complete, expected));
        assert_eq!(lab.log.len(), 2 + 2 * expected, "two proofs and two runs a block");
        let sums = judge(&evidence).sums.expect("sums");
        assert!(sums.runs_hold && sums.cells_hold, "{:?}", sums.words);
        assert_eq!(sums.runs_due, 2 * expected as u64);
    }
}

#[test]
fn significance_stops_nothing_and_the_place_of_the_interval_neither() {
    // Far from no effect from the first block on, and as wide as before.
    let mut evidence = asked();
    let far = |block: u64| if block.is_multiple_of(2) { 0.10 } else { 0.12 };
    session(&plan(&campaign()), &mut lab(far), &mut evidence, Asked::Rest, Stop::No);
    assert_eq!(blocks(&evidence), 14);
    assert!(judge(&evidence).answers[0].p.expect("p") < 0.001);
}

#[test]
fn resume_goes_on_to_the_same_end_and_then_finds_nothing_left() {
    let one_bad = |block: u64| if block == 1 { 0.5 } else { 0.9 + block as f64 / 10_000.0 };
    let plan = plan(&campaign());
    let mut evidence = asked();
    let (mut jobs, mut inner) = (0, lab(one_bad));
    let mut dying = StandIn::new(move |host, spec, job| {
        jobs += 1;
        if jobs == 24 {
            return Err(LabError::Lost { host: host.into(), why: "cable".into() });
        }
        (inner.act)(host, spec, job)
    });
    let ended = session(&plan, &mut dying, &mut evidence, Asked::Rest, Stop::No);
    assert!(matches!(ended, Ended::Lost(_)), "{ended:?}");
    assert_eq!((blocks(&evidence), evidence.complete), (11, false), "inside of the block after the look");
    let ended = session(&plan, &mut lab(|_| 0.9), &mut evidence, Asked::Rest, Stop::No);
    assert_eq!((ended, blocks(&evidence)), (Ended::Complete, 12));
    assert!(judge(&evidence).sums.expect("sums").runs_hold);
    let mut idle = StandIn::new(|_, _, _| panic!("nothing is left to run"));
    assert_eq!(session(&plan, &mut idle, &mut evidence, Asked::Rest, Stop::No), Ended::Complete);
    // A rerun is a block beyond all that could have been planned, so no later look takes it for one.
    session(&plan, &mut lab(|_| 0.9), &mut evidence, Asked::Again(1), Stop::No);
    assert!(evidence.blocks[&15].rerun_of.is_some(), "{:?}", evidence.blocks.keys());
}

#[test]
fn plan_and_run_speak_of_the_rule_and_hold_to_it() {
    let text = COMMANDS
        .replace("pilot: true\n", "")
        .replace("{count: 2, order: forward}", "{until: {halfwidth: 99%, most: 12}}")
        .replace("timeout:", "aa: true\ntimeout:");
    let desk = Desk::new(&text);
    let plan = desk.fieldtrial(&["plan", "c.yaml", "--sd", "1%"]);
    for said in ["10 to 12 blocks, 30 to 36 runs", "until every pooled effect on wall_time", "80 %"] {
        assert!(stdout(&plan).contains(said), "{said}\n{}", told(&plan));
    }
    let run = finish(&mut desk.command(&["run", "c.yaml", "--json"]), Duration::from_secs(120));
    assert_eq!(code(&run), 0, "{}", told(&run));
    let record = desk.record("reports");
    let findings: Value =
        serde_json::from_slice(&std::fs::read(record.join("findings.json")).expect("findings"))
            .expect("JSON");
    assert_eq!(findings["sums"]["runs_due"], 30, "three cells, ten blocks: {}", told(&run));
    assert_eq!(findings["family"]["arms"], json!(["other"]), "the control again is no comparison");
    let floor = &findings["environment"][0]["noise_floor"];
    assert_eq!((&floor["n"], floor["floor"].is_number()), (&json!(10), true), "{floor}");
    let again = desk.fieldtrial(&["report", record.to_str().expect("a path")]);
    let sentence = floor["sentence"].as_str().expect("a sentence");
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat(&stdout(&again)).contains(&flat(sentence)), "{sentence}\n{}", told(&again));
    assert!(stdout(&again).contains("control-again"), "{}", told(&again));
    let page = std::fs::read_to_string(record.join("index.html")).expect("a page");
    assert!(page.contains(sentence.split(':').next().expect("words")), "the page says it");
    // What this record tells of the spread is what the next plan goes by.
    let next = desk.fieldtrial(&["plan", "c.yaml"]);
    assert!(stdout(&next).contains("other, by the spread in reports"), "{}", told(&next));
    let resumed = desk.fieldtrial(&["resume", record.to_str().expect("a path")]);
    assert!(stderr(&resumed).contains("30 of 30 runs are there"), "{}", told(&resumed));
}
