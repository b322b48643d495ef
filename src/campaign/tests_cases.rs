//! Cases from public reports, by the ids of the project's list.

use super::tests::*;

#[test]
fn y01_a_variable_written_twice_is_refused_with_both_lines() {
    let text =
        command("\n  queues: [1, 2]\n  frame: [64, 1518]\n  queues: [1, 2, 4, 8]", &["queues", "frame"], "");
    let shown = refused(&text);
    assert!(shown.contains("the key `queues` is given twice"), "{shown}");
    assert!(shown.contains("c.yaml:5:3") && shown.contains("c.yaml:7:3"), "{shown}");
}

#[test]
fn y02_levels_that_look_like_booleans_stay_as_typed() {
    let campaign = good(&command("{offload: [on, off, no, NO, y, True]}", &["offload"], ""));
    let texts: Vec<&str> = campaign.variables["offload"].iter().map(|level| level.text.as_str()).collect();
    assert_eq!(texts, ["on", "off", "no", "NO", "y", "True"]);
}

#[test]
fn y03_version_1_10_reaches_the_command_line_as_typed() {
    let campaign = good(&command("{driver: [1.1, 1.10]}", &["driver"], ""));
    let argv = |text: &str| {
        let lookup = |name: &str| Some(if name == "driver" { text } else { "plain" });
        work::resolve(&campaign.workload, &lookup, &|_| None, 1).unwrap()
    };
    assert_eq!(campaign.variables["driver"].len(), 2);
    assert!(format!("{:?}", argv(&campaign.variables["driver"][1].text)).contains("\"1.10\""));
}

#[test]
fn y05_a_seed_keeps_every_digit_or_is_refused() {
    let seed = |text: &str| command("{n: [1]}", &["n"], &format!("blocks: {{seed: {text}}}\n"));
    assert_eq!(good(&seed("18446744073709551615")).blocks.seed, u64::MAX);
    assert_eq!(good(&seed("9007199254740993")).blocks.seed, 9_007_199_254_740_993);
    let shown = refused(&seed("18446744073709551616"));
    assert!(shown.contains("c.yaml:11:16") && shown.contains("18446744073709551615"), "{shown}");
}

#[test]
fn y06_misspelt_settings_are_refused_in_every_section() {
    for (from, to, near) in [
        ("question:", "questions:", "question"),
        ("duration: 1s", "durations: 1s", "duration"),
        ("set: {", "sets: {", "set"),
        ("{name: one, ", "{named: one, ", "name"),
        ("  packets:", "  packet:", "packets"),
    ] {
        let shown = refused(&PACKETS.replace(from, to));
        assert!(shown.contains(&format!("did you mean `{near}`?")), "{shown}");
    }
    let shown = refused(&(PACKETS.to_owned() + "blocks: {counts: 6, time_out: 5s}\ntime_out: 5s\n"));
    for wanted in ["did you mean `count`?", "c.yaml:17:21", "did you mean `timeout`?", "c.yaml:18:1"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
}

#[test]
fn y09_an_alias_bomb_is_refused() {
    let mut bomb = "a0: &a0 [x]\n".to_owned();
    for level in 1..=10 {
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(", ")));
    }
    assert!(refused(&bomb).contains("too large"));
}

#[test]
fn y11_counts_are_plain_digits() {
    for wrong in ["1e3", "1_000", "3.0", "\"5\"", "-1", "4294967296", "0"] {
        let shown = refused(&command("{n: [1]}", &["n"], &format!("blocks: {{count: {wrong}}}\n")));
        assert!(shown.contains("c.yaml:11:17") && shown.contains("from 1 to 1000"), "{shown}");
    }
}

#[test]
fn y13_a_duration_without_unit_is_refused() {
    let shown = refused(&command("{n: [1]}", &["n"], "timeout: 30\n"));
    assert!(shown.contains("a duration with its unit") && shown.contains("c.yaml:11:10"), "{shown}");
    assert!(refused(&PACKETS.replace("duration: 1s", "duration: 30")).contains("a duration with its unit"));
}

#[test]
fn x02_an_exclusion_that_matches_nothing_is_refused_and_a_partial_one_is_kept() {
    let text = |rule: &str| {
        command(
            "{queues: [1, 2, 4], mode: [copy, zero]}",
            &["queues", "mode"],
            &format!("exclude: [{{when: {rule}}}]\n"),
        )
    };
    let alone = |rule: &str| text(rule).replace("treatments:\n  - {name: fast, change: {how: fast}}\n", "");
    assert!(refused(&alone("queues == 16")).contains("matches 0 of 6 cells"));
    assert!(refused(&text("queues == 16")).contains("matches 0 of 12 cells"));
    assert_eq!(good(&alone("queues == 4")).exclude.len(), 1);
    assert!(refused(&text("queues > 0")).contains("excludes all 12 cells"));
}

#[test]
fn x03_a_number_compared_with_a_text_is_refused() {
    let text =
        |rule: &str| command("{v: [\"1.6\", \"1\"]}", &["v"], &format!("exclude: [{{when: {rule}}}]\n"));
    assert!(
        refused(&text("v == 1"))
            .contains("cannot be decided with v=1.6: `v` (a text) is compared with a number")
    );
    assert_eq!(good(&text("v == '1'")).exclude.len(), 1);
}

#[test]
fn x04_a_constraint_over_two_variables_is_decided_cell_by_cell() {
    let text = |limit: u32| {
        command(
            "{nodes: [1, 2, 4, 8, 16], tasks: [1, 2, 4, 8, 14, 28, 56, 112]}",
            &["nodes", "tasks"],
            &format!("exclude: [{{when: nodes * tasks > {limit}}}]\n"),
        )
    };
    let rule = &good(&text(768)).exclude[0].rule.clone();
    let mut excluded = Vec::new();
    for nodes in [1, 2, 4, 8, 16] {
        for tasks in [1, 2, 4, 8, 14, 28, 56, 112] {
            let mut scope = crate::rule::Scope::new();
            scope.level("nodes", &crate::model::level::Scalar::Int(nodes));
            scope.level("tasks", &crate::model::level::Scalar::Int(tasks));
            if rule.eval(&scope) == Ok(true) {
                excluded.push((nodes, tasks));
            }
        }
    }
    assert_eq!(excluded, [(8, 112), (16, 56), (16, 112)]);
    assert!(refused(&text(1792)).contains("matches 0 of 80 cells"));
}

#[test]
fn x07_a_level_given_twice_is_refused_and_equal_treatments_are_an_a_a_pair() {
    for levels in ["64, 64, 1518", "64, \"64\"", "64, 1518, 64"] {
        let shown = refused(&PACKETS.replace("64, 1518", levels));
        assert!(shown.contains("the level `64` of `frame_size` is given twice"), "{shown}");
    }
    let twice = PACKETS
        .replace("change: {batch: 1}}\n", "change: {batch: 1}}\n  - {name: two, change: {batch: 1}}\n");
    let shown = warned(&twice);
    assert!(shown.contains("`two` has the same settings as `one`") && shown.contains("A/A pair"), "{shown}");
    assert_eq!(read(&twice).campaign.unwrap().arms.len(), 3);
}
