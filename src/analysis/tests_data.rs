//! The judgement of tables and exports: reference data, timeouts, mistakes.

use serde_json::Value;

use super::analyse::analyse;
use super::findings::{Effect, Findings, ResponseSummary, Verdict};
use super::question::{Deadline, Question, Reduction};
use crate::model::response::Better;
use crate::model::scale::Scale;

fn asked() -> Question {
    Question {
        responses: vec!["y".into()],
        factors: vec![],
        block: None,
        control: None,
        order: None,
        status: None,
        deadline: None,
        whole_plot: vec![],
        group: None,
        samples: None,
        scale: Scale::Log,
        along: None,
        better: Better::Lower,
        margin: None,
        unit: String::new(),
    }
}

/// Arms in the column `arm`, of which `a` is the control.
fn against_a(scale: Scale) -> Question {
    Question { control: Some(("arm".into(), "a".into())), scale, ..asked() }
}

fn found(text: &str, question: &Question) -> Findings {
    let findings = analyse(text, question, "data").unwrap_or_else(|why| panic!("{why:?}"));
    let json = serde_json::to_string(&findings).expect("JSON");
    assert_eq!(serde_json::from_str::<Findings>(&json).expect("reads back"), findings);
    findings
}

fn only(findings: &Findings) -> &ResponseSummary {
    let [cell] = &findings.cells[..] else { panic!("{:?}", findings.cells) };
    &cell.responses[0]
}

fn answer(findings: &Findings) -> &Effect {
    let [answer] = &findings.answers[..] else { panic!("{:?}", findings.answers) };
    answer
}

fn shared(name: &str) -> Value {
    let text = include_str!("../../tests/data/numeric_shared_effects.json");
    serde_json::from_str::<Value>(text).expect("JSON")[name].clone()
}

fn floats(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).expect("numbers")
}

/// Two samples as a table.
fn samples(case: &Value) -> String {
    let mut text = "arm,y\n".to_owned();
    for arm in ["a", "b"] {
        for value in floats(&case[arm]) {
            text.push_str(&format!("{arm},{value}\n"));
        }
    }
    text
}

#[test]
fn certified_means_and_deviations_have_the_digits_that_are_asked() {
    // Case A31: 12 digits, of NumAcc3's deviation 8. NumAcc4 is NIST's next step: its values are
    // 10^7 + 0.1, 0.2 and 0.3 as doubles, which keep 8 digits of the deviation.
    let certified: Value =
        serde_json::from_str(include_str!("../../tests/data/nist/univariate_certified.json")).expect("JSON");
    let alternating: Vec<String> = (0..1000).map(|i| format!("10000000.{}", 1 + 2 * (i % 2))).collect();
    let fourth = format!("y\n10000000.2\n{}\n", alternating.join("\n"));
    let sets = [
        ("Lottery", include_str!("../../tests/data/nist/Lottery.csv"), 1e-12),
        ("Michelso", include_str!("../../tests/data/nist/Michelso.csv"), 1e-12),
        ("NumAcc1", include_str!("../../tests/data/nist/NumAcc1.csv"), 1e-12),
        ("NumAcc2", include_str!("../../tests/data/nist/NumAcc2.csv"), 1e-12),
        ("NumAcc3", include_str!("../../tests/data/nist/NumAcc3.csv"), 1e-8),
        ("NumAcc4", &fourth, 1e-7),
    ];
    for (name, text, digits) in sets {
        let number = |key: &str| certified[name][key].as_str().and_then(|t| t.parse::<f64>().ok());
        let mean = number("mean").unwrap_or(10_000_000.2);
        let deviation = number("sd_n_minus_1").unwrap_or(0.1);
        let findings = found(text, &asked());
        let summary = only(&findings);
        let off = (summary.mean.expect("mean") / mean - 1.0).abs();
        assert!(off < 1e-14, "{name}: mean is off by {off:e}");
        let off = (summary.sd.expect("deviation") / deviation - 1.0).abs();
        assert!(off < digits, "{name}: deviation is off by {off:e}");
    }
}

#[test]
fn ten_values_are_described_in_full_and_nothing_is_claimed_that_they_cannot_carry() {
    let text = format!("y\n{}", (1..=10).map(|v| format!("{v}\n")).collect::<String>());
    let findings = found(&text, &asked());
    let s = only(&findings);
    assert_eq!((s.n, s.median, s.min, s.max), (10, Some(5.5), Some(1.0), Some(10.0)));
    assert_eq!((s.q1, s.q3, s.mad), (Some(3.25), Some(7.75), Some(2.5)));
    assert!((s.cv.unwrap() - s.sd.unwrap() / 5.5).abs() < 1e-15);
    let interval = s.interval.unwrap();
    assert_eq!((interval.low, interval.high), (2.0, 9.0));
    let p99 = s.percentiles.iter().find(|p| p.percent == 99).expect("p99");
    assert_eq!((p99.nearest_rank, p99.interval), (Some(10.0), None));
    assert!((p99.linear.unwrap() - 9.91).abs() < 1e-12);
    assert!(p99.absent["interval"].contains("368 can; with so few it is the highest value"), "{p99:?}");
    assert!(findings.answers.is_empty(), "nothing was named as the control");
}

#[test]
fn two_samples_have_ranks_shift_and_means_as_the_cases_say() {
    for name in ["A01", "A07", "A23"] {
        let case = shared(name);
        let expected = &case["expected"];
        let findings = found(&samples(&case), &against_a(Scale::Linear));
        let effect = answer(&findings);
        assert_eq!(effect.test, "rank-sum", "{name}");
        let unpaired = effect.unpaired.as_ref().expect("unpaired tests");
        assert_eq!(effect.p, unpaired.p_exact);
        if let Some(shift) = expected["shift_median_of_differences"].as_f64() {
            assert_eq!(effect.difference, Some(shift), "{name}");
        }
        let welch = unpaired.welch.as_ref().expect("Welch");
        for (found, key) in [(welch.t, "t"), (welch.df, "df"), (welch.estimate, "difference_b_minus_a")] {
            let right = expected["welch"][key].as_f64().expect("number");
            assert!((found / right - 1.0).abs() < 1e-9, "{name} {key}: {found} but {right}");
        }
        if let Some(u) = expected["U_of_a"].as_f64() {
            assert_eq!(unpaired.control_u, u, "{name}");
        }
    }
    let wide = found(&samples(&shared("A23")), &against_a(Scale::Linear));
    assert_eq!(answer(&wide).verdict, Verdict::Inconclusive, "not equal");
}

#[test]
fn constants_and_single_values_have_no_spread_and_no_nan() {
    let constant = found(&samples(&shared("A03")), &against_a(Scale::Linear));
    let effect = answer(&constant);
    assert_eq!(effect.difference, Some(1.0));
    assert!((effect.p.unwrap() - 2.0 / 70.0).abs() < 1e-12);
    assert_eq!(effect.unpaired.as_ref().unwrap().absent["welch"], "neither side has any spread");
    let single = found(&samples(&shared("A05")), &against_a(Scale::Log));
    let effect = answer(&single);
    assert!((effect.ratio.unwrap() - 0.727_272_727_272_727_3).abs() < 1e-12);
    assert_eq!((effect.p, effect.interval, effect.verdict), (None, None, Verdict::Inconclusive));
    let summary = &single.cells[0].responses[0];
    assert_eq!((summary.sd, summary.absent["sd"].as_str()), (None, "one value has no spread"));
}

#[test]
fn factors_are_crossed_on_both_scales_and_a_term_has_its_certified_f() {
    let text = include_str!("../../tests/data/nist/SiRstv.csv");
    let findings = found(text, &Question { factors: vec!["group".into()], ..asked() });
    let [linear, log] = &findings.factorials[..] else { panic!("{:?}", findings.factorials) };
    assert_eq!((linear.scale.as_str(), log.scale.as_str()), ("linear", "log"));
    let group = &linear.anova.as_ref().expect("a table").terms[0];
    assert_eq!(group.term, "group");
    assert!((group.type2.f.unwrap() / 1.180_462_374_402_55 - 1.0).abs() < 1e-12, "{group:?}");
    assert!(log.anova.as_ref().expect("a table").terms[0].type2.f.unwrap() > 1.1);
    let crossed = found(
        "A,B,y\n1,1,0\n1,2,12\n2,1,20\n",
        &Question { factors: vec!["A".into(), "B".into()], ..asked() },
    );
    assert!(
        crossed.factorials[1].absent["anova"].contains("0 of A=1,B=1 has no logarithm"),
        "{:?}",
        crossed.factorials[1]
    );
    assert!(found("y\n1\n2\n", &asked()).factorials.is_empty());
}

#[test]
fn interactions_and_two_level_effects_stand_on_both_scales() {
    // Case A13: the sign of the interaction depends on the scale.
    let text = "permits,load,y\n1,2,46.7\n1,8,12.3\n2,2,90.8\n2,8,34.2\n";
    let factors = vec!["permits".into(), "load".into()];
    let findings = found(text, &Question { factors, better: Better::Higher, ..asked() });
    let effects = &findings.factorials[0].two_level.as_ref().expect("two levels").effects;
    let coefficients: Vec<f64> = effects.iter().map(|e| e.coefficient.expect("a number")).collect();
    for (found, right) in coefficients.iter().zip([16.5, -22.75, -5.55]) {
        assert!((found - right).abs() < 1e-12, "{coefficients:?}");
    }
    let square = &findings.interactions[0].pairs[0].squares[0];
    assert!((square.linear.estimate.unwrap() + 22.2).abs() < 1e-9, "{:?}", square.linear);
    assert!((square.log.estimate.unwrap() - 1.430_052_65).abs() < 1e-7, "{:?}", square.log);
}

#[test]
fn drift_is_looked_for_only_where_the_order_of_runs_is_known() {
    let rows: String = (0..20)
        .map(|i| {
            let (arm, block) = (["a", "b", "b", "a"][i % 4], i / 2);
            format!("{block},{arm},{i},{}\n", 100.0 + i as f64)
        })
        .collect();
    let text = format!("block,arm,t,y\n{rows}");
    let question = Question { block: Some("block".into()), ..against_a(Scale::Log) };
    let blind = found(&text, &question);
    assert!(blind.environment[0].absent["drift"].contains("in what order"), "{:?}", blind.environment);
    let seeing = found(&text, &Question { order: Some("t".into()), ..question });
    let drift = seeing.environment[0].drift.as_ref().expect("drift");
    assert!(drift.found, "{drift:?}");
    assert!(seeing.cautions.contains(&drift.sentence), "{:?}", seeing.cautions);
    assert!((answer(&seeing).ratio.unwrap() - 1.0).abs() < 0.01, "blocks take the drift out");
}

#[test]
fn a_value_that_is_no_number_is_counted_with_its_text_and_others_are_complaints() {
    let rows: Vec<String> = serde_json::from_value(shared("A09")["raw"].clone()).expect("texts");
    let findings = found(&format!("y\n{}\n", rows.join("\n")), &asked());
    let summary = only(&findings);
    assert!(
        (summary.mean.unwrap() - 9.41).abs() < 1e-12
            && (summary.sd.unwrap() - 0.021_602_468_994_7).abs() < 1e-9
    );
    let table = findings.table.as_ref().expect("a table");
    assert_eq!((table.rows, table.used, table.not_used["`-nan` is no number"]), (5, 4, 1));
    assert!(table.words.contains("5 rows = 4 used + 1 not used"), "{}", table.words);
    let failed = analyse("arm,y\na,1\nb,fast\na,2,3\nc,x\n", &against_a(Scale::Log), "data").unwrap_err();
    let told: Vec<_> = failed.iter().map(|c| (c.line, c.field, c.message.as_str())).collect();
    assert_eq!(
        told,
        [
            (Some(3), Some(2), "expected a number in column y, found `fast`"),
            (Some(4), None, "expected 2 fields as the first line has, found 3"),
            (Some(5), Some(2), "expected a number in column y, found `x`"),
        ]
    );
}

#[test]
fn a_reversal_by_host_is_compared_within_the_hosts() {
    let case = shared("A11");
    let mut text = "host,arm,y\n".to_owned();
    for row in case["rows"].as_array().expect("rows") {
        let field = |at: usize| row[at].as_str().expect("text");
        text.push_str(&format!("{},{},{}\n", field(0), field(1), row[2]));
    }
    let question =
        Question { block: Some("host".into()), control: Some(("arm".into(), "c".into())), ..asked() };
    let findings = found(&text, &question);
    let effect = answer(&findings);
    assert_eq!((effect.test.as_str(), effect.n, effect.control_n), ("rank-sum within blocks", 12, 12));
    let change = case["expected"]["change_blocked_log_scale"].as_f64().expect("number");
    assert!((effect.ratio.unwrap() - 1.0 - change).abs() < 0.002, "{:?}", effect.ratio);
    assert_eq!(effect.verdict, Verdict::Better, "{}", effect.sentence);
    assert!(findings.cautions.iter().any(|c| c.contains("--samples median")), "{:?}", findings.cautions);
}

#[test]
fn timeouts_rank_worst_and_open_what_they_bound() {
    // Case T01 in three spellings of the same data.
    let (a, b) = ([2.1, 2.2, 2.4], [5.0, 5.2, 5.1, 5.3, 5.4, 5.5, 5.6]);
    let rows = |cut: &str| {
        let done = a.iter().map(|v| format!("new,{v},ok\n")).chain(b.iter().map(|v| format!("a,{v},ok\n")));
        format!("arm,y,status\n{}{}", done.collect::<String>(), cut.repeat(4))
    };
    let limit = Some(Deadline::At(10.0));
    let plain = against_a(Scale::Log);
    let by_status = Question { deadline: limit.clone(), status: Some("status".into()), ..plain.clone() };
    let answers = [
        found(&rows("new,>10,ok\n"), &plain),
        found(&rows("new,10.0012,ok\n"), &Question { deadline: limit, ..plain.clone() }),
        found(&rows("new,,timeout\n"), &by_status),
    ];
    for findings in &answers {
        let new = findings.cells.iter().find(|c| c.arm == "new").expect("the arm");
        let summary = &new.responses[0];
        assert_eq!((summary.n, summary.timed_out, summary.median, summary.mean), (3, 4, None, None));
        assert_eq!(summary.median_bounds.unwrap().low, 10.0);
        let time = summary.time.as_ref().expect("a deadline");
        assert!((time.restricted_mean.unwrap() - 6.671_428_571_428_571).abs() < 1e-12);
        // Case T06: no average that counts a timeout as twice its limit, under any name.
        assert!(!serde_json::to_string(findings).expect("JSON").contains("12.38"));
        let effect = answer(findings);
        assert_eq!((effect.timed_out, effect.ratio, effect.verdict), (4, None, Verdict::Inconclusive));
        assert!(effect.bounds.unwrap().high.is_infinite());
        assert_eq!(effect, answer(&answers[0]));
    }
}

#[test]
fn a_percentile_that_falls_among_timeouts_is_above_the_deadline() {
    // Case T03: five of forty requests within 80 ms.
    let done: String = [30, 41, 55, 62, 78].iter().map(|v| format!("{v}\n")).collect();
    let question = Question { deadline: Some(Deadline::At(80.0)), ..asked() };
    let findings = found(&format!("y\n{done}{}", ">80\n".repeat(35)), &question);
    let summary = only(&findings);
    let of = |percent: u32| summary.percentiles.iter().find(|p| p.percent == percent).expect("percentile");
    assert_eq!(of(10).nearest_rank, Some(62.0));
    for percent in [90, 95, 99] {
        assert_eq!(of(percent).nearest_rank, None);
        assert!(of(percent).absent["nearest_rank"].ends_with("above 80.0"), "{:?}", of(percent));
    }
    assert!(summary.absent["median"].ends_with("above 80.0"));
}

#[test]
fn an_arm_that_only_timed_out_where_the_control_finished_is_worse_and_never_better() {
    let rows: String =
        (1..=8).map(|b| format!("{b},a,{}\n{b},new,>10\n", 1.0 + f64::from(b) / 50.0)).collect();
    let question = Question { block: Some("b".into()), ..against_a(Scale::Log) };
    let findings = found(&format!("b,arm,y\n{rows}"), &question);
    let effect = answer(&findings);
    assert_eq!((effect.verdict, effect.n, effect.p), (Verdict::Worse, 8, Some(2.0 / 256.0)));
    assert!(effect.sentence.contains("ratio above 9."), "{}", effect.sentence);
    let swapped = Question { control: Some(("arm".into(), "new".into())), ..question };
    let findings = found(&format!("b,arm,y\n{rows}"), &swapped);
    assert_eq!(answer(&findings).verdict, Verdict::Better, "{}", answer(&findings).sentence);
    // Case T07: two sides at the limit have no difference and no rank.
    let both: String = (1..=8).map(|b| format!("{b},a,10.0012\n{b},new,10.0009\n")).collect();
    let limited = Question {
        block: Some("b".into()),
        deadline: Some(Deadline::At(10.0)),
        margin: Some(0.02),
        ..against_a(Scale::Log)
    };
    let findings = found(&format!("b,arm,y\n{both}"), &limited);
    let effect = answer(&findings);
    assert_eq!((effect.verdict, effect.ratio, effect.p), (Verdict::Inconclusive, None, Some(1.0)));
}

#[test]
fn other_deadlines_are_not_comparable() {
    // Case T05.
    let rows: String = (1..=8).map(|b| format!("{b},a,3,10\n{b},new,4,20\n")).collect();
    let question = Question {
        block: Some("b".into()),
        deadline: Some(Deadline::Column("limit".into())),
        ..against_a(Scale::Log)
    };
    let findings = found(&format!("b,arm,y,limit\n{rows}"), &question);
    let effect = answer(&findings);
    assert_eq!(effect.verdict, Verdict::NotComparable);
    assert!(effect.sentence.contains("other deadlines (20) than the control's (10)"), "{}", effect.sentence);
}

#[test]
fn a_rate_that_timed_out_ranks_below_all_that_were_measured() {
    let rows = "a,10,ok\na,11,ok\na,12,ok\na,,timeout\na,,timeout\n";
    let question = Question { status: Some("s".into()), better: Better::Higher, ..against_a(Scale::Log) };
    let findings = found(&format!("arm,y,s\n{rows}"), &question);
    let summary = &findings.cells[0].responses[0];
    assert_eq!((summary.n, summary.timed_out, summary.median), (3, 2, Some(10.0)));
}

#[test]
fn samples_of_a_run_are_reduced_before_runs_are_compared() {
    let mut text = "b,arm,y\n".to_owned();
    for block in 1..=8 {
        for sample in 0..5 {
            let wobble = f64::from((block * 5 + sample * 3) % 7) / 100.0;
            text.push_str(&format!("{block},a,{}\n{block},new,{}\n", 10.0 + wobble, 8.0 + wobble));
        }
    }
    let question =
        Question { block: Some("b".into()), samples: Some(Reduction::Median), ..against_a(Scale::Log) };
    let findings = found(&text, &question);
    let effect = answer(&findings);
    assert_eq!((effect.test.as_str(), effect.n, effect.verdict), ("signed-rank", 8, Verdict::Better));
    assert_eq!(findings.cells[0].responses[0].n, 8);
    let unreduced = found(&text, &Question { samples: None, ..question });
    assert_eq!((answer(&unreduced).test.as_str(), answer(&unreduced).n), ("rank-sum within blocks", 40));
}

#[test]
fn hyperfines_export_is_told_by_its_content() {
    let times = |scale: f64| -> Vec<f64> { (0..10).map(|i| scale * (1.0 + f64::from(i) / 1000.0)).collect() };
    let export = serde_json::json!({"results": [
        {"command": "old", "mean": 1.0, "times": times(1.0), "exit_codes": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]},
        {"command": "new", "mean": 0.5, "times": times(0.5), "exit_codes": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]},
        {"command": "broken", "times": [0.01, 0.01, 0.01], "exit_codes": [1, 1, 1]},
    ]});
    let question = Question { responses: vec!["time".into()], ..asked() };
    let findings = found(&export.to_string(), &question);
    let of = |arm: &str| findings.answers.iter().find(|a| a.arm == arm).expect("an answer");
    let new = of("new");
    assert_eq!((new.verdict, new.ratio, new.unit.as_str()), (Verdict::Better, Some(0.5), "s"));
    assert_eq!(of("broken").ratio, None, "case E01: the failing command is not the fastest");
    let table = findings.table.as_ref().expect("a table");
    assert_eq!((table.format.as_str(), table.rows, table.not_used["the run failed"]), ("hyperfine", 23, 3));
    let wrong = analyse("{\"results\": [{\"command\": \"x\"}]}", &question, "data").unwrap_err();
    assert!(wrong[0].message.contains("result 1 has no command or no times"), "{wrong:?}");
    assert!(analyse("{oops", &question, "data").is_err());
}

#[test]
fn what_a_question_names_has_to_be_there() {
    let question =
        Question { factors: vec!["size".into()], block: Some("day".into()), ..against_a(Scale::Log) };
    let failed = analyse("arm,arm,y\na,a,1\n", &question, "data").unwrap_err();
    let told: Vec<&str> = failed.iter().map(|c| c.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "column `arm` is there twice",
            "expected a column `size`, found arm, arm, y",
            "expected a column `day`, found arm, arm, y"
        ]
    );
    let stranger = analyse("arm,y\nb,1\n", &against_a(Scale::Log), "data").unwrap_err();
    assert!(stranger[0].message.contains("expected the control `a` in column arm, found b"), "{stranger:?}");
    let status = Question { status: Some("s".into()), ..asked() };
    let odd = analyse("y,s\n1,exploded\n", &status, "data").unwrap_err();
    assert!(odd[0].message.contains("found `exploded`"), "{odd:?}");
    assert!(analyse("", &asked(), "data").is_err() && analyse("y\n", &asked(), "data").is_err());
}
