//! The judgement of whole records.

use serde_json::Value;

use super::findings::{Findings, Verdict};
use super::judge::{judge, losses};
use crate::evidence::event::SessionKind;
use crate::evidence::example::{self, Record};
use crate::model::arm::ArmKind;
use crate::model::outcome::{Fate, RunOutcome};

const CONTROL: [f64; 8] = [10.0, 10.2, 9.9, 10.1, 10.3, 9.8, 10.05, 10.15];

fn times(factor: f64) -> Vec<f64> {
    CONTROL.iter().enumerate().map(|(i, c)| c * factor * (1.0 + i as f64 / 1000.0)).collect()
}

fn shared() -> Value {
    serde_json::from_str(include_str!("../../tests/data/numeric_shared_effects.json")).expect("JSON")
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().expect("list").iter().map(|v| v.as_f64().expect("number")).collect()
}

/// One verdict of the only arm at the only grid point.
fn verdict(findings: &Findings) -> (Verdict, &str) {
    assert_eq!((findings.answers.len(), findings.effects.len()), (1, 1));
    assert_eq!(findings.answers[0].verdict, findings.effects[0].verdict, "one point is the whole");
    (findings.answers[0].verdict, &findings.answers[0].sentence)
}

/// Strict JSON without a non-finite number reads back as the same findings.
fn survives_json(findings: &Findings) {
    let text = serde_json::to_string(findings).expect("JSON");
    assert_eq!(&serde_json::from_str::<Findings>(&text).expect("reads back"), findings);
}

#[test]
fn a_clear_gain_is_better_and_a_clear_loss_is_worse_and_is_kept_as_a_loss() {
    let gain = judge(&Record::pairs(&CONTROL, &times(0.8)).evidence);
    let (found, sentence) = verdict(&gain);
    assert_eq!(found, Verdict::Better, "{sentence}");
    assert!(sentence.contains("wall_time is 19.7 % lower"), "{sentence}");
    assert!(sentence.contains("at 96.1 % confidence, n = 8 block pairs, log scale"), "{sentence}");
    assert_eq!(gain.answers[0].p, Some(2.0 / 256.0));
    assert!(losses(&gain).is_empty());

    let loss = judge(&Record::pairs(&CONTROL, &times(1.25)).evidence);
    assert_eq!(verdict(&loss).0, Verdict::Worse);
    assert_eq!(losses(&loss)[0].cell.0, "size=1/new");
    survives_json(&loss);
}

#[test]
fn swapping_the_arms_turns_the_verdict_round() {
    let forward = judge(&Record::pairs(&CONTROL, &times(1.25)).evidence);
    let backward = judge(&Record::pairs(&times(1.25), &CONTROL).evidence);
    assert_eq!((verdict(&forward).0, verdict(&backward).0), (Verdict::Worse, Verdict::Better));
    let (a, b) = (forward.answers[0].ratio.unwrap(), backward.answers[0].ratio.unwrap());
    assert!((a * b - 1.0).abs() < 1e-12);
}

#[test]
fn a_small_sure_change_within_the_margin_is_equivalent_and_its_sign_is_told() {
    let findings = judge(&Record::pairs(&CONTROL, &times(1.005)).evidence);
    let (found, sentence) = verdict(&findings);
    assert_eq!(found, Verdict::Equivalent);
    assert!(sentence.contains("A rise is detected all the same"), "{sentence}");
}

#[test]
fn a_change_that_goes_either_way_is_inconclusive() {
    let noisy: Vec<f64> = [9.0, 11.4, 9.1, 11.0, 9.2, 10.9, 9.3, 11.2].to_vec();
    let findings = judge(&Record::pairs(&CONTROL, &noisy).evidence);
    let (found, sentence) = verdict(&findings);
    assert_eq!(found, Verdict::Inconclusive);
    assert!(sentence.contains("the interval holds 1"), "{sentence}");
}

#[test]
fn five_pairs_show_a_range_under_its_own_level_and_no_verdict() {
    let findings = judge(&Record::pairs(&CONTROL[..5], &times(0.5)[..5]).evidence);
    let (found, sentence) = verdict(&findings);
    assert_eq!(found, Verdict::Inconclusive);
    assert!(sentence.contains("5 block pairs are too few, a verdict needs 6"), "{sentence}");
    assert!(sentence.contains("range 0.5000 to 0.5020 at 93.8 % confidence"), "{sentence}");
}

#[test]
fn a_pilot_has_no_verdict_but_inconclusive() {
    let mut record = Record::pairs(&CONTROL, &times(0.5));
    record.evidence.opening.as_mut().unwrap().pilot = true;
    let findings = judge(&record.evidence);
    assert_eq!(verdict(&findings).0, Verdict::Inconclusive);
    assert!(findings.cautions[0].contains("pilot"));
}

#[test]
fn one_observation_per_side_is_described_only() {
    // Case A05.
    let case = &shared()["A05"];
    let findings = judge(&Record::pairs(&floats(&case["a"]), &floats(&case["b"])).evidence);
    let effect = &findings.effects[0];
    let expected = case["expected"]["ratio"].as_f64().unwrap();
    assert!((effect.ratio.unwrap() - expected).abs() < 1e-12);
    assert_eq!((effect.p, effect.interval, effect.verdict), (None, None, Verdict::Inconclusive));
    assert!(effect.absent.contains_key("p") && effect.absent.contains_key("interval"));
    let response = &findings.cells[0].responses[0];
    assert_eq!((response.n, response.interval), (1, None));
    survives_json(&findings);
}

#[test]
fn constant_metrics_give_a_ratio_and_never_nan() {
    // Case A03.
    let case = &shared()["A03"];
    let different = judge(&Record::pairs(&floats(&case["a"]), &floats(&case["b"])).evidence);
    assert_eq!(different.effects[0].ratio, Some(2.0));
    let same = judge(&Record::pairs(&[5.0; 8], &[5.0; 8]).evidence);
    assert_eq!((same.effects[0].ratio, same.effects[0].p), (Some(1.0), Some(1.0)));
    assert_eq!(verdict(&same).0, Verdict::Equivalent);
    survives_json(&different);
    survives_json(&same);
}

#[test]
fn one_wild_value_does_not_carry_the_effect() {
    // Case A07, blocks paired in the order given: the headline is the 5 %, not the mean's 44.5.
    let case = &shared()["A07"];
    let findings = judge(&Record::pairs(&floats(&case["a"]), &floats(&case["b"])).evidence);
    assert!((findings.effects[0].ratio.unwrap() - 1.05).abs() < 0.001, "{:?}", findings.effects[0].ratio);
    assert_eq!(findings.cells[0].responses[0].median, case["expected"]["median_a"].as_f64());
    assert_eq!(findings.cells[1].responses[0].median, case["expected"]["median_b"].as_f64());
    assert_eq!(findings.cells[1].responses[0].max, Some(500.0));
}

#[test]
fn timeouts_are_counted_and_bar_the_good_verdicts() {
    // Case T01, seven blocks, four timeouts of the arm that looks fast.
    let case = &shared()["T01"];
    let fast: Vec<Option<f64>> = case["a"].as_array().unwrap().iter().map(Value::as_f64).collect();
    let mut record = Record::open(&[("new", ArmKind::Treatment)], 7);
    record.evidence.opening.as_mut().unwrap().timeout_ms = 10_000;
    let old = record.cell(&[("size", "1")], "old", Fate::Live, None);
    let new = record.cell(&[("size", "1")], "new", Fate::Live, None);
    for (i, (slow, fast)) in floats(&case["b"]).into_iter().zip(fast).enumerate() {
        let block = i as u32 + 1;
        record.block(block, None, &[&old, &new]);
        record.measured(&old, block, slow);
        match fast {
            Some(seconds) => record.measured(&new, block, seconds),
            None => record.ended(&new, block, RunOutcome::TimedOut, "10 s"),
        }
    }
    let findings = judge(&record.evidence);
    let effect = &findings.effects[0];
    assert_eq!(effect.verdict, Verdict::Inconclusive);
    assert_eq!((effect.n, effect.timed_out, effect.left_out.len()), (7, 4, 0));
    assert_eq!((effect.outcomes["timed_out"], effect.control_outcomes["measured"]), (4, 7));
    // The ratio is at least what it would be had each of the four ended at its deadline.
    assert_eq!(effect.ratio, None);
    let bounds = effect.bounds.expect("bounds");
    assert!(bounds.low > 0.4 && bounds.high == f64::INFINITY, "{bounds:?}");
    assert!(effect.sentence.contains("of which 4 timed out"), "{}", effect.sentence);
    let summary = &findings.cells[1].responses[0];
    assert_eq!((summary.n, summary.timed_out, summary.median), (3, 4, None));
    assert_eq!(summary.median_bounds.map(|b| b.low), Some(10.0));
    assert!(summary.absent["median"].ends_with("above 10.0"), "{:?}", summary.absent);
    assert_eq!(summary.interval.map(|i| i.high), Some(f64::INFINITY));
    let time = summary.time.as_ref().expect("a time with a deadline");
    let expected = &case["expected"];
    for (found, cell) in [(time, "a"), (findings.cells[0].responses[0].time.as_ref().unwrap(), "b")] {
        let right = expected[cell]["restricted_mean_to_limit"].as_f64().unwrap();
        assert!((found.restricted_mean.unwrap() - right).abs() < 1e-12, "{cell}: {found:?}");
    }
    assert_eq!((time.km_median, time.deadline), (None, 10.0));
    let wrong = case["wrong"]["mean_of_completed_a"].as_f64().unwrap();
    assert!((time.mean_of_completed.unwrap() - wrong).abs() < 1e-12, "under its own name only");
    assert_eq!(summary.mean, None);
    let completed = findings.cells[1].completed.as_ref().unwrap();
    assert_eq!((completed.done, completed.of), (3, 7));
    assert!(findings.cautions.iter().any(|c| c.contains("4 timed out")), "{:?}", findings.cautions);
}

#[test]
fn an_arm_that_completed_less_is_never_better_though_its_remaining_pairs_say_so() {
    let mut record = Record::pairs(&CONTROL, &times(0.5));
    let (old, new) = (example::cell_id(&[("size", "1")], "old"), example::cell_id(&[("size", "1")], "new"));
    record.block(9, None, &[&old, &new]);
    record.measured(&old, 9, 10.0);
    record.ended(&new, 9, RunOutcome::Failed, "status 2");
    let findings = judge(&record.evidence);
    let (found, sentence) = verdict(&findings);
    assert_eq!(found, Verdict::Inconclusive);
    assert!(sentence.contains("new completed 8 of its 9 runs and the control 9 of 9"), "{sentence}");

    let mut worse = Record::pairs(&CONTROL, &times(1.5));
    worse.block(9, None, &[&old, &new]);
    worse.measured(&old, 9, 10.0);
    worse.ended(&new, 9, RunOutcome::Failed, "status 2");
    assert_eq!(verdict(&judge(&worse.evidence)).0, Verdict::Worse);
}

#[test]
fn values_without_a_logarithm_are_null_with_the_reason() {
    let mut control = CONTROL;
    control[3] = 0.0;
    let findings = judge(&Record::pairs(&control, &times(1.0)).evidence);
    let (found, sentence) = verdict(&findings);
    assert_eq!(found, Verdict::NotComparable);
    assert!(sentence.contains("wall_time of size=1/old is 0 in block 4"), "{sentence}");
    assert_eq!((findings.effects[0].ratio, findings.effects[0].p), (None, None));
    survives_json(&findings);
}

/// Two grid points, arms `new`, `also`, `same` and the refused `bad`, eight blocks.
fn grid() -> Record {
    let arms = [
        ("new", ArmKind::Treatment),
        ("also", ArmKind::Treatment),
        ("same", ArmKind::Anchor),
        ("bad", ArmKind::Combination),
    ];
    let mut record = Record::open(&arms, 8);
    let mut cells = vec![];
    for size in ["1", "8"] {
        for arm in ["old", "new", "also", "same"] {
            cells.push((size, arm, record.cell(&[("size", size)], arm, Fate::Live, None)));
        }
        record.cell(&[("size", size)], "bad", Fate::Refused, Some(("proof", "another answer", "a != b")));
    }
    let order: Vec<_> = cells.iter().map(|(_, _, cell)| cell.clone()).collect();
    for (i, base) in CONTROL.iter().enumerate() {
        let block = i as u32 + 1;
        record.block(block, None, &order.iter().collect::<Vec<_>>());
        for (size, arm, cell) in &cells {
            let scale = if *size == "8" { 8.0 } else { 1.0 };
            let wobble = 1.0 + i as f64 / 1000.0;
            let factor = match *arm {
                "new" => 0.7 * wobble,
                "also" => 0.9 / wobble,
                "same" if i % 2 == 0 => 0.95 * wobble,
                "same" => 1.06 / wobble,
                _ => 1.0,
            };
            record.measured(cell, block, base * scale * factor);
        }
    }
    record.push(crate::evidence::event::Event::Closed { complete: true, reason: None });
    record
}

#[test]
fn arms_are_pooled_first_and_only_those_that_pass_are_judged_per_cell() {
    let findings = judge(&grid().evidence);
    assert_eq!(
        (findings.family.comparisons, findings.family.arms.as_slice()),
        (2, &["new".into(), "also".into()][..])
    );
    let of = |arm: &str| findings.answers.iter().find(|a| a.arm == arm).unwrap();
    let new = of("new");
    assert_eq!((new.verdict, new.points, new.n), (Verdict::Better, 2, 8));
    assert_eq!(new.p, Some(2.0 / 256.0));
    assert_eq!(new.p_adjusted, Some(4.0 / 256.0), "Holm over two arms");
    assert!(new.sentence.contains("adjusted for 2 comparisons"), "{}", new.sentence);
    let same = of("same");
    assert_eq!((same.verdict, same.kind), (Verdict::Inconclusive, ArmKind::Anchor));
    assert_eq!(same.p_adjusted, None);
    assert!(same.sentence.starts_with("Anchor, outside the family: "), "{}", same.sentence);
    let bad = of("bad");
    assert_eq!((bad.verdict, bad.points, bad.points_missing.len()), (Verdict::NotComparable, 0, 2));
    assert!(bad.sentence.contains("it was refused: another answer"), "{}", bad.sentence);
    for effect in findings.effects.iter().filter(|e| e.arm == "new") {
        assert_eq!(effect.verdict, Verdict::Better, "{}", effect.sentence);
    }
    for effect in findings.effects.iter().filter(|e| e.arm == "same") {
        assert_eq!(effect.verdict, Verdict::Inconclusive);
        assert!(effect.sentence.contains("pooled effect did not pass"), "{}", effect.sentence);
    }
    assert_eq!(findings.effects.len(), 8);
    survives_json(&findings);
}

#[test]
fn a_pooled_block_counts_only_with_all_its_grid_points() {
    let mut record = grid();
    let cell = example::cell_id(&[("size", "8")], "new");
    for row in &mut record.evidence.runs {
        if row.note.run.cell == cell && row.note.run.block == 3 {
            row.note.outcome = RunOutcome::Rejected;
            row.note.reason = Some("lost 2 frames".into());
        }
    }
    let findings = judge(&record.evidence);
    let new = findings.answers.iter().find(|a| a.arm == "new").unwrap();
    assert_eq!((new.n, new.left_out.len(), new.left_out[0].block.as_str()), (7, 1, "3"));
    assert_eq!(new.left_out[0].reason, "size=8/new was rejected (lost 2 frames)");
    let small = findings.effects.iter().find(|e| e.cell == Some(example::cell_id(&[("size", "1")], "new")));
    assert_eq!(small.unwrap().n, 8);
}

#[test]
fn both_sums_hold_and_say_so_and_a_run_that_never_began_breaks_the_second() {
    let findings = judge(&grid().evidence);
    assert!(
        findings.sums.as_ref().unwrap().cells_hold && findings.sums.as_ref().unwrap().runs_hold,
        "{:?}",
        findings.sums
    );
    assert_eq!(
        findings.sums.as_ref().unwrap().words[0],
        "10 planned cells = 0 excluded + 2 refused + 8 live: holds"
    );
    assert_eq!(
        findings.sums.as_ref().unwrap().words[1],
        "64 runs of live cells = 64 measured + 0 rejected + 0 timed out + 0 failed + 0 interrupted: holds"
    );
    let mut record = grid();
    record.evidence.runs.pop();
    record.evidence.opening.as_mut().unwrap().planned_cells += 1;
    let findings = judge(&record.evidence);
    assert!(!findings.sums.as_ref().unwrap().cells_hold && !findings.sums.as_ref().unwrap().runs_hold);
    assert!(
        findings.sums.as_ref().unwrap().words[0].ends_with("1 cell was never decided"),
        "{:?}",
        findings.sums
    );
    assert!(
        findings.sums.as_ref().unwrap().words[1].ends_with("does not hold, 1 run never began"),
        "{:?}",
        findings.sums
    );
    assert!(findings.cautions.iter().any(|c| c.contains("sums do not hold")));
}

fn rerun(kernel: &str, tool: &str) -> Findings {
    let mut record = grid();
    let (old, new) = (example::cell_id(&[("size", "1")], "old"), example::cell_id(&[("size", "1")], "new"));
    record.session(SessionKind::Rerun, kernel, tool);
    record.block(9, Some(&new), &[&old, &new]);
    record.measured(&old, 9, 10.0);
    record.measured(&new, 9, 30.0);
    judge(&record.evidence)
}

#[test]
fn a_rerun_is_judged_without_and_with_its_block() {
    let findings = rerun("6.1", "aa11");
    assert_eq!(findings.effects_with_reruns.len(), 1);
    let found = &findings.effects_with_reruns[0];
    assert_eq!((found.cell.0.as_str(), found.blocks.as_slice()), ("size=1/new", &[9][..]));
    assert!(found.differences.is_empty(), "load moves by itself: {:?}", found.differences);
    assert_eq!((found.first.n, found.first.verdict), (8, Verdict::Better));
    assert_eq!(found.with_reruns.as_ref().unwrap().n, 9);
    assert!((found.rerun_alone.ratio.unwrap() - 3.0).abs() < 1e-12);
    let planned = judge(&grid().evidence);
    assert_eq!(findings.effects, planned.effects, "a rerun never moves what was measured first");
    assert_eq!(findings.answers, planned.answers);
    assert_eq!(findings.sums.as_ref().unwrap().added_attempts, 2);
}

#[test]
fn a_rerun_after_a_kernel_update_is_shown_apart_and_names_the_kernel() {
    // Case U06.
    let findings = rerun("6.2", "aa11");
    let found = &findings.effects_with_reruns[0];
    assert_eq!(found.with_reruns, None);
    assert_eq!(found.differences, ["h1.kernel: 6.1 → 6.2"]);
    assert_eq!(rerun("6.1", "bb22").effects_with_reruns[0].with_reruns, None);
    survives_json(&findings);
}

/// Eight blocks of which the last was interrupted and its missing run was resumed under `kernel`.
fn resumed(kernel: &str) -> Findings {
    let mut record = Record::pairs(&CONTROL[..7], &times(0.8)[..7]);
    let (old, new) = (example::cell_id(&[("size", "1")], "old"), example::cell_id(&[("size", "1")], "new"));
    record.block(8, None, &[&old, &new]);
    record.measured(&old, 8, 10.0);
    record.ended(&new, 8, RunOutcome::Interrupted, "the session ended");
    record.session(SessionKind::Resume, kernel, "aa11");
    let mut again = example::run(&new.0, 8, 8.0);
    again.run.attempt = 2;
    record.run(again);
    judge(&record.evidence)
}

#[test]
fn a_resumed_attempt_takes_the_place_of_the_interrupted_one() {
    let findings = resumed("6.1");
    assert_eq!((findings.effects[0].n, findings.effects[0].verdict), (8, Verdict::Better));
    assert_eq!(
        (findings.sums.as_ref().unwrap().runs_due, findings.sums.as_ref().unwrap().added_attempts),
        (16, 1)
    );
    assert!(
        findings.sums.as_ref().unwrap().runs_hold
            && findings.sums.as_ref().unwrap().by_outcome["interrupted"] == 0
    );
}

#[test]
fn a_pair_whose_runs_had_different_setups_leaves_the_estimate_and_says_what_differs() {
    let findings = resumed("6.2");
    let effect = &findings.effects[0];
    assert_eq!((effect.n, effect.left_out.len(), effect.left_out[0].block.as_str()), (7, 1, "8"));
    assert!(effect.left_out[0].reason.contains("h1.kernel: 6.1 → 6.2"), "{:?}", effect.left_out);
}

#[test]
fn a_secondary_response_is_exploratory_and_stays_outside_the_family() {
    let mut record = Record::pairs(&CONTROL, &times(0.8));
    let opening = record.evidence.opening.as_mut().unwrap();
    let mut second = example::wall_time();
    second.name = "cpu_time".into();
    second.primary = false;
    opening.responses.push(second);
    for row in &mut record.evidence.runs {
        let seconds = row.note.values["wall_time"];
        row.note.values.insert("cpu_time".into(), seconds / 2.0);
    }
    let findings = judge(&record.evidence);
    assert_eq!((findings.family.comparisons, findings.family.responses.len()), (1, 1));
    let second = findings.answers.iter().find(|a| a.response == "cpu_time").unwrap();
    assert!(second.exploratory && second.p_adjusted.is_none());
    assert!(second.sentence.starts_with("Exploratory: "), "{}", second.sentence);
}

#[test]
fn an_empty_record_is_judged_without_a_panic() {
    let findings = judge(&crate::evidence::fold::Evidence::default());
    assert!(findings.answers.is_empty() && findings.cells.is_empty());
    survives_json(&findings);
}

#[test]
fn a_nan_from_a_tool_leaves_its_pair_and_is_named() {
    // Case A09: five attempts, four valid.
    let case = &shared()["A09"];
    let raw: Vec<f64> = case["raw"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_str().unwrap().parse().unwrap_or(f64::NAN))
        .collect();
    let findings = judge(&Record::pairs(&[9.0; 5], &raw).evidence);
    let summary = &findings.cells[1].responses[0];
    assert_eq!(summary.n, case["expected"]["valid"].as_u64().unwrap());
    assert!((summary.median.unwrap() - 9.405).abs() < 1e-12);
    assert!(findings.effects[0].left_out[0].reason.contains("not finite"));
}

#[test]
fn the_schema_names_every_part() {
    let schema = serde_json::to_value(schemars::schema_for!(Findings)).unwrap();
    for key in ["answers", "effects", "effects_with_reruns", "sums", "cells", "family", "method"] {
        assert!(schema["properties"].get(key).is_some(), "{key} is missing");
    }
}

#[test]
fn cells_stand_in_the_order_of_the_campaign_and_not_of_their_decisions() {
    let mut record = Record::open(&[("new", ArmKind::Treatment)], 1);
    record.cell(&[("size", "8")], "new", Fate::Excluded, Some(("rule", "too large", "size > 4")));
    record.cell(&[("size", "8")], "old", Fate::Live, None);
    record.cell(&[("size", "1")], "new", Fate::Live, None);
    record.cell(&[("size", "1")], "old", Fate::Live, None);
    let cells: Vec<String> = judge(&record.evidence).cells.into_iter().map(|c| c.cell.0).collect();
    assert_eq!(cells, ["size=1/old", "size=1/new", "size=8/old", "size=8/new"]);
}

#[test]
fn a_campaign_that_asks_for_the_linear_scale_is_judged_by_differences() {
    let mut record = grid();
    let opening = record.evidence.opening.as_mut().expect("an opening");
    opening.responses[0].scale = crate::model::scale::Scale::Linear;
    opening.responses[0].margin = Some(1000.0);
    let findings = judge(&record.evidence);
    let new = findings.answers.iter().find(|a| a.arm == "new").unwrap();
    assert_eq!((new.ratio, new.scale.as_str(), new.verdict), (None, "linear", Verdict::Equivalent));
    assert!(new.difference.is_some_and(|d| d < 0.0), "{new:?}");
    assert!(findings.method.scale.starts_with("linear"), "{}", findings.method.scale);
    survives_json(&findings);
}
