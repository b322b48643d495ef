//! Two-level effects, interactions, adjusted differences and split plots against known answers.

use serde_json::Value;

use super::contrast::difference;
use super::every_pair::interactions;
use super::factor::Factor;
use super::interaction::{Adds, Gains, additivity, of_blocks, of_cells};
use super::split_plot::split;
use super::tests_anova::read;
use super::two_level::{TwoLevel, effects};
use crate::model::scale::Scale;

fn close(what: &str, found: f64, right: f64, digits: i32) {
    let far = (found - right).abs() / right.abs().max(1.0);
    assert!(far < 10f64.powi(-digits), "{what}: found {found}, right {right}");
}

fn named<'a>(found: &'a TwoLevel, term: &str) -> &'a super::two_level::TwoLevelEffect {
    found.effects.iter().find(|e| e.term == term).unwrap_or_else(|| panic!("no {term}"))
}

#[test]
fn unreplicated_effects_are_exact_and_have_no_p() {
    let (y, factors) =
        read(include_str!("../../tests/data/factorial/memory_cache_2x2_r1.csv"), "y", &["A", "B"]);
    let found = effects(&y, &factors, None).expect("effects");
    let coefficients: Vec<_> = found.effects.iter().map(|e| (e.term.as_str(), e.coefficient)).collect();
    assert_eq!(coefficients, [("A", Some(20.0)), ("B", Some(10.0)), ("A:B", Some(5.0))]);
    assert_eq!((found.mean, found.residual_df, found.total_ss), (40.0, 0, 2100.0));
    assert_eq!(found.effects[0].ss, Some(1600.0));
    close("percent", found.effects[0].percent.expect("percent"), 76.19047619047619, 12);
    assert_eq!((found.effects[0].effect.p, found.effects[0].flag.as_ref()), (None, None));
    assert!(found.effects[0].effect.absent["p"].contains("0 degrees of freedom"));
    assert!(found.notes[0].contains("not seven"), "{:?}", found.notes);

    let text = include_str!("../../tests/data/factorial/memory_cache_cpu_2x2x2_r1.csv");
    let (y, factors) = read(text, "y", &["A", "B", "C"]);
    let found = effects(&y, &factors, None).expect("effects");
    let coefficients: Vec<f64> = found.effects.iter().filter_map(|e| e.coefficient).collect();
    assert_eq!(coefficients, [10.0, 5.0, 5.0, 20.0, 2.0, 3.0, 1.0]);
    assert_eq!(found.total_ss, 4512.0);
    assert!(found.notes[0].starts_with("One run for each cell: no p. By Lenth"), "{:?}", found.notes);
    assert!(found.effects.iter().all(|e| e.flag.is_some() && e.effect.p.is_none()));
}

#[test]
fn replicated_effects_have_the_errors_of_the_table() {
    let right: Value =
        serde_json::from_str(include_str!("../../tests/data/factorial/plasma_etch_2x2x2_r2.expected.json"))
            .expect("JSON");
    let (y, factors) =
        read(include_str!("../../tests/data/factorial/plasma_etch_2x2x2_r2.csv"), "y", &["A", "B", "C"]);
    let found = effects(&y, &factors, None).expect("effects");
    assert_eq!((found.mean, found.residual_df, found.residual_ss), (776.0625, 8, 18020.5));
    assert_eq!(named(&found, "A:C").effect.difference, Some(-153.625));
    assert_eq!(named(&found, "A:C").ss, Some(94402.5625));
    for effect in &found.effects {
        let key = effect.term.replace(':', "");
        close(
            &key,
            effect.effect.difference.expect("effect"),
            right["effects_high_minus_low"][&key].as_f64().expect("number"),
            9,
        );
        let row = &right["anova"][&effect.term];
        close(&key, effect.effect.p.expect("p"), row["p"].as_f64().expect("p"), 9);
        close(&key, effect.effect.t.expect("t").powi(2), row["F"].as_f64().expect("F"), 9);
        close(
            &key,
            effect.percent.expect("%"),
            right["percent_of_total_ss"][&effect.term].as_f64().expect("%"),
            9,
        );
    }
}

#[test]
fn a_lost_run_changes_the_road_and_not_the_meaning() {
    let (y, factors) =
        read(include_str!("../../tests/data/factorial/plasma_etch_2x2x2_r2.csv"), "y", &["A", "B", "C"]);
    let whole = effects(&y, &factors, None).expect("effects");
    let lost: Vec<Factor> =
        factors.iter().map(|f| Factor { codes: f.codes[1..].to_vec(), ..f.clone() }).collect();
    let found = effects(&y[1..], &lost, None).expect("effects");
    // The cell (−1, −1, −1) has 604 alone instead of the mean 577: 27 more, in every effect ∓27/4.
    for (effect, before) in found.effects.iter().zip(&whole.effects) {
        let sign = if effect.factors.len() % 2 == 1 { -1.0 } else { 1.0 };
        close(
            &effect.term,
            effect.effect.difference.expect("effect"),
            before.effect.difference.expect("effect") + sign * 6.75,
            10,
        );
        assert!(effect.percent.is_none() && effect.absent.contains_key("percent"));
    }
    assert_eq!(found.residual_df, 7);
}

/// Case A13: permits 1 and 2 by concurrency 2 and 8, one run each.
const HTTP: [f64; 4] = [46.7, 90.8, 12.3, 34.2];

#[test]
fn the_http_table_has_its_interaction_on_both_scales() {
    let label = |levels: [&str; 4]| Factor::of("f", &levels);
    let factors = [
        Factor { name: "permits".to_owned(), ..label(["1", "2", "1", "2"]) },
        Factor { name: "concurrency".to_owned(), ..label(["2", "2", "8", "8"]) },
    ];
    let found = effects(&HTTP, &factors, None).expect("effects");
    for (term, coefficient, share) in
        [("permits", 16.5, 33.1763), ("concurrency", -22.75, 63.0701), ("permits:concurrency", -5.55, 3.7536)]
    {
        close(term, named(&found, term).coefficient.expect("coefficient"), coefficient, 12);
        assert!((named(&found, term).percent.expect("%") - share).abs() < 1e-4);
    }
    let pairs = interactions(&HTTP, &factors, None, Some(0.02));
    assert_eq!((pairs.len(), pairs[0].squares.len(), pairs[0].left_out), (1, 1, 0));
    let square = &pairs[0].squares[0];
    close("linear", square.linear.estimate.expect("difference"), -22.2, 12);
    close("log", square.log.estimate.expect("ratio"), 1.43005265, 7);
    assert_eq!(
        (square.first.clone(), square.second.clone()),
        (["1".into(), "2".into()], ["2".into(), "8".into()])
    );
    let corners: Vec<_> = square.log.corners.iter().map(|c| (c.n, c.median)).collect();
    assert_eq!(corners, HTTP.map(|v| (1, Some(v))));
    for side in [&square.log, &square.linear] {
        assert_eq!((side.adds, side.p, side.p_outside_margin), (Adds::Unknown, None, None));
        assert!(side.absent["p"].contains("one run for each corner"), "{:?}", side.absent);
    }
    assert!(square.linear.sentence.contains("-22.2"), "{}", square.linear.sentence);
    assert!(square.log.sentence.contains("1.43"), "{}", square.log.sentence);
}

/// Rows of ten blocks: control, first, second and both, with small known noise.
fn blocks(together: f64) -> Vec<[f64; 4]> {
    let noise = |i: usize, c: usize| 1.0 + 0.001 * (((i * 7 + c * 13) % 11) as f64 - 5.0) / 5.0;
    (0..10)
        .map(|i| {
            let height = 100.0 * (1.0 + 0.05 * (i % 4) as f64);
            let corners = [1.0, 1.1, 1.2, 1.1 * 1.2 * together];
            [0, 1, 2, 3].map(|c| height * corners[c] * noise(i, c))
        })
        .collect()
}

#[test]
fn gains_that_multiply_add_as_ratios_and_not_as_differences() {
    let rows = blocks(1.0);
    let log = of_blocks(&rows, Scale::Log, Some(0.02));
    assert_eq!(log.adds, Adds::Add, "{log:?}");
    close("ratio of ratios", log.estimate.expect("ratio"), 1.0, 2);
    // 132 − 110 − 120 + 100 = 2 of a hundred: shown, and beyond a margin of half a unit.
    let linear = of_blocks(&rows, Scale::Linear, Some(0.5));
    assert_eq!(linear.adds, Adds::DoNotAdd, "{linear:?}");
    assert!(linear.interval.expect("interval").low > 0.5);
    assert_eq!(linear.corners.len(), 4);
}

#[test]
fn gains_that_take_from_each_other_are_found_and_swapping_them_changes_nothing() {
    let rows = blocks(0.9);
    let found = of_blocks(&rows, Scale::Log, Some(0.02));
    assert_eq!(found.adds, Adds::DoNotAdd);
    assert!(found.sentence.starts_with("The gains do not add as ratios"), "{}", found.sentence);
    let swapped: Vec<[f64; 4]> = rows.iter().map(|r| [r[0], r[2], r[1], r[3]]).collect();
    let other = of_blocks(&swapped, Scale::Log, Some(0.02));
    assert_eq!((found.estimate, found.p, found.interval), (other.estimate, other.p, other.interval));
    let thousandfold: Vec<[f64; 4]> = rows.iter().map(|r| r.map(|v| v * 1024.0)).collect();
    let scaled = of_blocks(&thousandfold, Scale::Log, Some(0.02));
    assert_eq!(scaled.adds, found.adds);
    close("scaled", scaled.estimate.expect("ratio"), found.estimate.expect("ratio"), 12);
}

#[test]
fn a_large_p_claims_nothing_and_no_margin_claims_no_adding() {
    let noisy: Vec<[f64; 4]> =
        (0..10).map(|i| [100.0, 110.0, 120.0, 132.0 * (1.0 + 0.2 * ((i * 3 % 7) as f64 - 3.0))]).collect();
    let found = of_blocks(&noisy, Scale::Log, Some(0.02));
    assert!(found.p.expect("p") > 0.05);
    assert_eq!(found.adds, Adds::Unknown);
    assert!(found.p_outside_margin.expect("p") > 0.05);
    let without = of_blocks(&blocks(1.0), Scale::Log, None);
    assert_eq!((without.adds, without.p_outside_margin), (Adds::Unknown, None));
    assert!(without.absent["p_outside_margin"].contains("margin"));
    let few = of_blocks(&blocks(0.5)[..5], Scale::Log, Some(0.02));
    assert_eq!(few.adds, Adds::Unknown);
    assert!(few.sentence.contains("5 blocks are too few"), "{}", few.sentence);
    let zero = of_blocks(&[[0.0, 1.0, 1.0, 1.0]; 8], Scale::Log, Some(0.02));
    assert_eq!((zero.adds, zero.estimate), (Adds::Unknown, None));
    assert!(zero.absent["estimate"].contains("logarithm"));
}

#[test]
fn three_gains_together_are_held_against_what_each_alone_promises() {
    let row = |i: usize, both: f64| {
        let noise = |c: usize| 1.0 + 0.0005 * (((i * 5 + c * 3) % 7) as f64 - 3.0);
        let control = 50.0 * (1.0 + 0.1 * (i % 3) as f64);
        let singles = [1.1, 1.2, 1.3].iter().enumerate().map(|(c, g)| control * g * noise(c)).collect();
        Gains { control, singles, combined: control * both * noise(5) }
    };
    let of =
        |both: f64| additivity(&(0..8).map(|i| row(i, both)).collect::<Vec<_>>(), Scale::Log, Some(0.02));
    assert_eq!(of(1.1 * 1.2 * 1.3).adds, Adds::Add);
    let short = of(1.4);
    assert_eq!(short.adds, Adds::DoNotAdd);
    close("shortfall", short.estimate.expect("ratio"), 1.4 / 1.716, 2);
}

#[test]
fn corners_without_blocks_go_by_their_own_spreads() {
    let square =
        [vec![9.0, 10.0, 11.0], vec![19.0, 20.0, 21.0], vec![14.0, 15.0, 16.0], vec![34.0, 35.0, 36.0]];
    let found = of_cells(std::slice::from_ref(&square), Scale::Linear, Some(1.0));
    assert_eq!(found.estimate, Some(10.0));
    // Equal spreads: error √(4·1/3), and Welch's df are the pooled 8: t = 8.660.
    close("p", found.p.expect("p"), 2.456840776152e-5, 12);
    assert_eq!(found.adds, Adds::DoNotAdd);
    let missing = of_cells(&[[vec![1.0], vec![1.0], vec![1.0], vec![]]], Scale::Linear, None);
    assert_eq!((missing.estimate, missing.absent["estimate"].as_str()), (None, "a corner has no run"));
}

#[test]
fn squares_of_a_grid_compare_only_what_every_corner_has() {
    // Third factor c with levels 1 and 2; the corner (2, 2) lacks c = 2 in block 1, where c matters much.
    let mut rows = vec![];
    for block in 0..8 {
        for (a, b, c) in (0..8).map(|i| (i & 1, i >> 1 & 1, i >> 2)) {
            if !(block == 1 && a == 1 && b == 1 && c == 1) {
                let noise = 1.0 + 0.001 * (((block * 5 + a * 3 + b * 7 + c * 2) % 9) as f64 - 4.0);
                rows.push((block, a, b, c, 10.0 * 1.1f64.powi(a) * 1.2f64.powi(b) * 5.0f64.powi(c) * noise));
            }
        }
    }
    let factor = |name: &str, pick: fn(&(i32, i32, i32, i32, f64)) -> i32| {
        Factor::of(name, &rows.iter().map(|r| pick(r).to_string()).collect::<Vec<_>>())
    };
    let factors = [factor("a", |r| r.1), factor("b", |r| r.2), factor("c", |r| r.3)];
    let y: Vec<f64> = rows.iter().map(|r| r.4).collect();
    let pairs = interactions(&y, &factors, Some(&factor("block", |r| r.0)), Some(0.02));
    let names: Vec<_> = pairs.iter().map(|p| (p.first.as_str(), p.second.as_str())).collect();
    assert_eq!(names, [("a", "b"), ("a", "c"), ("b", "c")]);
    let log = &pairs[0].squares[0].log;
    assert_eq!((log.n, log.adds), (8, Adds::Add), "{log:?}");
}

#[test]
fn a_reversal_hidden_by_hosts_shows_inside_them() {
    // Case A11: control mostly on the fast host, treatment mostly on the slow one.
    let case: Value =
        serde_json::from_str(include_str!("../../tests/data/adjusted_difference.json")).expect("JSON");
    let rows = case["rows"].as_array().expect("rows");
    let text = |i: usize| rows.iter().map(|r| r[i].as_str().expect("text")).collect::<Vec<_>>();
    let y: Vec<f64> = rows.iter().map(|r| r[2].as_f64().expect("number")).collect();
    let (host, arm) = (Factor::of("host", &text(0)), Factor::of("arm", &text(1)));
    let logs: Vec<f64> = y.iter().map(|v| v.ln()).collect();
    let right = &case["expected"];
    let found = difference(&logs, &arm, std::slice::from_ref(&host)).expect("difference");
    close(
        "change",
        found.difference.expect("d").exp_m1(),
        right["change_blocked_log_scale"].as_f64().expect("number"),
        10,
    );
    let interval = found.interval.expect("interval");
    close("low", interval.low.exp_m1(), right["ci95_log_scale"][0].as_f64().expect("low"), 9);
    close("high", interval.high.exp_m1(), right["ci95_log_scale"][1].as_f64().expect("high"), 9);
    let p = right["p_log_scale"].as_f64().expect("p");
    assert!((found.p.expect("p") / p - 1.0).abs() < 1e-6, "{:?}", found.p);
    let additive = difference(&y, &arm, &[host]).expect("difference");
    close("additive", additive.difference.expect("d"), -15.0, 10);
    let p = right["p_additive"].as_f64().expect("p");
    assert!((additive.p.expect("p") / p - 1.0).abs() < 1e-6, "{:?}", additive.p);
    let pooled = difference(&y, &arm, &[]).expect("difference");
    close("pooled", pooled.difference.expect("d"), 165.0 - 116.66666666666667, 10);
}

#[test]
fn a_variable_set_once_a_group_is_judged_by_groups() {
    // Three blocks, a reboot setting of two levels each once a block, four runs under each setting.
    let mut rows = vec![];
    let settings = [[0.0, 3.0], [1.0, 1.0], [-1.0, 2.0]];
    for (block, heights) in settings.iter().enumerate() {
        for (level, height) in heights.iter().enumerate() {
            for run in 0..4 {
                let easy = run % 2;
                let noise = [0.1, -0.1, -0.1, 0.1][run];
                rows.push((block, level, easy, 10.0 + height + 0.5 * easy as f64 + noise));
            }
        }
    }
    let factor = |name: &str, pick: fn(&(usize, usize, usize, f64)) -> String| {
        Factor::of(name, &rows.iter().map(pick).collect::<Vec<_>>())
    };
    let factors = [factor("boot", |r| r.1.to_string()), factor("batch", |r| r.2.to_string())];
    let (group, block) =
        (factor("setting", |r| format!("{}/{}", r.0, r.1)), factor("block", |r| r.0.to_string()));
    let y: Vec<f64> = rows.iter().map(|r| r.3).collect();
    let found = split(&y, &factors, &[0], &group, Some(&block), 2).expect("split");
    let boot = &found.groups.as_ref().expect("groups").terms[0];
    // Differences of the settings 3, 0, 3: mean 2, variance 3, so t = 2, F = 4 with 1 and 2 df.
    close("F", boot.type2.f.expect("F"), 4.0, 9);
    close("p", boot.type2.p.expect("p"), 0.18350341907227397, 9);
    let runs = found.runs.as_ref().expect("runs");
    let terms: Vec<&str> = runs.terms.iter().map(|row| row.term.as_str()).collect();
    assert_eq!(terms, ["batch", "boot:batch"]);
    assert_eq!((runs.residual.df, runs.terms[0].type2.df), (24 - 6 - 2, Some(1)));
    assert!(runs.terms[0].type2.p.expect("p") < 1e-3);
    assert!(found.sentence.contains("judged by 6 settings, not by 24 runs"), "{}", found.sentence);

    let once = split(
        &y[..8],
        &factors.clone().map(|f| Factor { codes: f.codes[..8].to_vec(), ..f }),
        &[0],
        &Factor { codes: group.codes[..8].to_vec(), ..group.clone() },
        None,
        1,
    )
    .expect("split");
    assert!(once.sentence.contains("confounded with the setting"), "{}", once.sentence);
    let mixed = split(&y, &factors, &[1], &group, None, 1).unwrap_err();
    assert!(mixed.starts_with("expected one level of batch in each group"), "{mixed}");
}
