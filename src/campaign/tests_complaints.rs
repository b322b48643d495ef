//! What a wrong file is told.

use super::tests::*;

/// Each change to the small packets campaign, and what must be said of it.
#[track_caller]
fn changed(changes: &[(&str, &str)], wanted: &[&str]) {
    let mut text = PACKETS.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let shown = refused(&text);
    for each in wanted {
        assert!(shown.contains(each), "{each:?} is not in:\n{shown}");
    }
}

#[test]
fn everything_wrong_is_told_at_once() {
    let text = "\
campaign: a b
quesiton: why
hosts: h.yaml
variables: {frame_size: [32, 64, 64], unused: [1]}
control: {set: {batch: 64, frame_size: 1}}
treatments:
  - {name: same, change: {batch: 64}}
  - {name: x, change: {burst: 1}}
workload:
  packets: {between: [tx.port0], frame_size: \"${frame_siz}\", duration: 30, batch: \"${batch}\"}
accept: [zero_los]
exclude: [{when: batch == 63}]
blocks: {count: 4, seed: x}
timeout: 5
responses: [{name: tx_rat}]
bogus: 1
";
    let parsed = read(text);
    let lines: Vec<usize> = parsed
        .complaints
        .iter()
        .map(|complaint| Source::new("c.yaml", text).position(complaint.span.start).0)
        .collect();
    for line in [1, 2, 4, 5, 7, 8, 10, 11, 12, 13, 14, 15, 16] {
        assert!(lines.contains(&line), "nothing about line {line}: {:#?}", parsed.complaints);
    }
    assert_eq!(lines.iter().filter(|line| **line == 13).count(), 2, "the seed and the count");
}

#[test]
fn a_missing_key_is_named() {
    for key in ["campaign", "question", "hosts", "control", "workload"] {
        let from = format!("{key}:");
        let shown = refused(&PACKETS.replace(&from, "pilot_:"));
        assert!(shown.contains(&format!("the campaign lacks the key `{key}`")), "{shown}");
    }
    changed(
        &[("    between: [tx.port0, rx.port0]\n", "")],
        &["`packets` lacks the key `between`", "c.yaml:11:3"],
    );
    changed(&[("name: one, ", "")], &["a treatment lacks the key `name`"]);
    changed(&[(", change: {batch: 1}", "")], &["a treatment lacks the key `change`"]);
}

#[test]
fn a_line_that_needs_a_shell_is_not_started_without_one() {
    let text = |line: &str| {
        format!(
            "campaign: c\nquestion: q?\ncontrol: {{set: {{text: \"{line}\"}}}}\nworkload: {{command: {{on: here, run: \"${{text}}\"}}}}\n"
        )
    };
    let shown = refused(&text("seq 3 | wc"));
    assert!(shown.contains("`run`: expected a program and plain words, since `|` needs a shell"), "{shown}");
    assert!(shown.contains("found `seq 3 | wc`"), "{shown}");
    assert!(refused(&text("say 'a")).contains("expected a line in which every `'` is closed"));
    good(&text("seq 3"));
}

#[test]
fn only_a_variable_is_hard_to_change() {
    let variables = "variables:\n  frame_size";
    for (named, wanted) in [
        ("[frame_siz]", "did you mean `frame_size`"),
        ("[batch]", "`batch` is no variable, so the order of runs cannot spare it"),
        ("frame_size", "`hard_to_change`: expected a list"),
    ] {
        changed(&[(variables, &format!("hard_to_change: {named}\n{variables}"))], &[wanted]);
    }
    let twice = format!("hard_to_change: [frame_size, frame_size]\n{variables}");
    assert_eq!(good(&PACKETS.replace(variables, &twice)).hard_to_change, ["frame_size"]);
}

#[test]
fn a_wrong_kind_tells_what_was_expected_and_found() {
    changed(&[("[64, 1518]", "64")], &["the levels of `frame_size`: expected a list", "found `64`"]);
    changed(
        &[("  set: {batch: 64}", "  set: [batch]")],
        &["`control.set`: expected a mapping", "found a list"],
    );
    changed(&[("question: Is it faster?", "question: [a]")], &["`question`: expected text, found a list"]);
    changed(&[("hosts: hosts.yaml", "hosts:")], &["`hosts`: expected text, found nothing"]);
    changed(&[("[64, 1518]", "[64, [1]]")], &["expected a text or a number, found a list"]);
    assert!(refused("[]\n").contains("the campaign: expected a mapping"));
    assert!(refused("").contains("the file is empty"));
}

#[test]
fn names_must_be_known_used_and_unambiguous() {
    changed(
        &[("${frame_size}", "${frame_siz}")],
        &[
            "`${frame_siz}` is no variable or setting",
            "did you mean `frame_size`?",
            "c.yaml:13:17",
            "does not use the variable `frame_size`",
        ],
    );
    changed(&[("    batch: ${batch}\n", "")], &["the workload does not use the setting `batch`"]);
    changed(
        &[("  frame_size: [64, 1518]", "  frame_size: [64, 1518]\n  batch: [1]")],
        &["`batch` is both a variable and a setting"],
    );
    changed(
        &[("  frame_size: [64, 1518]", "  frame-size: [64, 1518]")],
        &["expected letters, digits and `_`"],
    );
    changed(
        &[("  frame_size: [64, 1518]", "  frame_size: [64, 1518]\n  hosts: [1]")],
        &["`hosts` has a meaning of its own"],
    );
    changed(&[("name: one", "name: a/b")], &["the name of a treatment: expected letters"]);
    changed(&[("name: one", "name: control")], &["two arms are called `control`"]);
    changed(&[("${frame_size}", "${frame_size")], &["this `${` is never closed"]);
    let shell = command("{n: [1]}", &["n"], "")
        .replace("run: [work, \"${how}\", \"${n}\"]", "shell: \"echo ${HOME} ${how} ${n}\"");
    assert!(refused(&shell).contains("for the shell's own variable write `$${HOME}`"));
    good(&shell.replace("${HOME}", "$${HOME}"));
}

#[test]
fn an_empty_grid_and_odd_levels_are_refused() {
    changed(&[("[64, 1518]", "[]")], &["the variable `frame_size` has no levels, so the grid is empty"]);
    changed(&[("[64, 1518]", "[\"\"]")], &["expected one line of 1 to 200 characters"]);
    changed(&[("[64, 1518]", "[\"a\\nb\"]")], &["expected one line"]);
    let text = command("{a: [\"1,b=2\", 1], b: [3]}", &["a", "b"], "");
    assert!(refused(&text).contains("would make cell ids ambiguous"));
}

#[test]
fn a_treatment_changes_one_known_setting() {
    changed(&[("{batch: 1}", "{batch: 64}")], &["the treatment `one` is equal to the control"]);
    changed(
        &[("{batch: 1}", "{bacth: 1}")],
        &["`bacth` is no setting of the control", "did you mean `batch`?"],
    );
    changed(&[("{batch: 1}", "{rx: 1}")], &["give the control its level too"]);
    let two: [(&str, &str); 3] = [
        ("set: {batch: 64}", "set: {batch: 64, rate: max}"),
        ("change: {batch: 1}", "change: {batch: 1, rate: 1/s}"),
        ("    duration", "    rate: ${rate}\n    duration"),
    ];
    changed(&two, &["changes 2 settings at once: `batch`, `rate`", "together: true"]);
    let text = two.iter().fold(PACKETS.to_owned(), |text, (from, to)| text.replace(from, to));
    good(&text.replace("rate: 1/s}", "rate: 1/s}, together: true"));
}

#[test]
fn combinations_must_make_sense() {
    let two = ("{batch: 1}}\n", "{batch: 1}}\n  - {name: two, change: {batch: 2}}\n");
    changed(
        &[two, ("workload:", "combine: all\nworkload:")],
        &["`one+two` cannot be combined: `batch` is changed by more than one"],
    );
    for (combine, wanted) in [
        ("[[one, tow]]", "`tow` is no treatment"),
        ("[[one]]", "two or more different treatments"),
        ("[[one, one]]", "two or more different treatments"),
        ("some", "`none`, `all` or a list"),
    ] {
        changed(&[two, ("workload:", &format!("combine: {combine}\nworkload:"))], &[wanted]);
    }
    let text = command("{n: [1]}", &["n"], "anchors: [{name: again, set: {how: plain}}]\n");
    assert!(warned(&text).contains("`again` has the same settings as `control`"));
}

#[test]
fn fields_are_checked_for_every_level_they_refer_to() {
    changed(
        &[("[64, 1518]", "[64, 32, 9000, 1518]")],
        &[
            "`frame_size`: expected bytes with FCS from 64 to 1518",
            "found `32` with frame_size=32 (and 1 more)",
            "c.yaml:5:20",
            "the level comes from here",
        ],
    );
    changed(
        &[("change: {batch: 1}", "change: {batch: 2000}")],
        &["`batch`: expected a whole number from 1 to 1024", "found `2000` with batch=2000"],
    );
    changed(
        &[("    duration", "    streams: 65\n    duration")],
        &["`streams`: expected a whole number from 1 to 16"],
    );
    changed(&[("    duration", "    rate: 1000\n    duration")], &["frames per second and stream"]);
    changed(
        &[("control:", "hold: {governer: performance}\ncontrol:")],
        &["`governer` is no setting, and no host tells such a fact", "did you mean `governor`?"],
    );
    changed(&[("    duration", "    rx: xdp\n    duration")], &["`rx`: expected `af_packet`"]);
    changed(&[("[tx.port0, rx.port0]", "[tx.port0, rx]")], &["`between`: expected a port of a host"]);
    changed(
        &[("[tx.port0, rx.port0]", "[tx.port0, tx.port0]")],
        &["expected two ports, found `tx.port0` twice"],
    );
    changed(
        &[("settle: 200ms", "settle: 2m")],
        &["a run sends for 121000 ms with its settling, and the timeout is 60000 ms"],
    );
    changed(&[("settle: 200ms", "settle: 200")], &["`settle`: expected a duration with its unit"]);
}

#[test]
fn rules_are_checked_where_they_stand() {
    let text = |rule: &str| command("{n: [1, 2]}", &["n"], &format!("exclude:\n  - {{when: \"{rule}\"}}\n"));
    let shown = refused(&text("n > ) 2"));
    assert!(shown.contains("this is not a rule") && shown.contains("c.yaml:12:17"), "{shown}");
    let shown = refused(&text("m > 1"));
    assert!(shown.contains("the rule names `m`") && shown.contains("did you mean `n`?"), "{shown}");
    assert!(refused(&text("n / (n - 1) > 0")).contains("cannot be decided with n=1"));
    assert!(refused(&text("n + 1")).contains("expected true or false, found a number"));
    assert!(refused(&text("how == 'slow'")).contains("matches 0 of 4 cells"));
    assert!(warned(&text("how == 'plain' && n == 2")).contains("excludes the control where other arms stay"));
    good(&text("hosts.here.cpu_count < 4"));
}

#[test]
fn a_design_too_small_for_its_family_names_the_blocks_it_needs() {
    let blocks = |count: u32| PACKETS.to_owned() + &format!("blocks: {{count: {count}}}\n");
    let shown = refused(&blocks(4));
    assert!(shown.contains("4 blocks cannot decide 1 comparison") && shown.contains("count: 6"), "{shown}");
    good(&blocks(6));
    good(&(blocks(4) + "pilot: true\n"));
    assert!(warned(&blocks(7)).contains("7 blocks cannot be mirrored in pairs"));
    good(&(PACKETS.to_owned() + "blocks: {count: 7, order: shuffled}\n"));
    let two = blocks(6).replace("{batch: 1}}\n", "{batch: 1}}\n  - {name: two, change: {batch: 2}}\n");
    assert!(refused(&two).contains("count: 8"));
}

#[test]
fn responses_belong_to_the_workload() {
    let with = |responses: &str| PACKETS.to_owned() + &format!("responses: {responses}\n");
    let wrong = |responses: &str, wanted: &str| {
        let shown = refused(&with(responses));
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    };
    wrong("[{name: wall_time}]", "`wall_time` is no response of this workload");
    wrong("[{name: tx_rat}]", "did you mean `tx_rate`?");
    wrong("[{name: tx_rate, unit: pps}]", "`tx_rate` is measured in `frames/s`, found `pps`");
    wrong("[{name: tx_rate, better: lower}]", "`tx_rate` is better when higher");
    wrong("[{name: tx_rate, margin: 2}]", "a percentage");
    wrong("[{name: tx_rate}, {name: tx_rate}]", "given twice");
    wrong("[{name: tx_rate, primary: true}, {name: lost, primary: true}]", "expected one primary response");
    wrong("[]", "at least one");
    let campaign = good(&with("[{name: lost}, {name: tx_rate}]"));
    assert!(campaign.responses[0].primary && !campaign.responses[1].primary);
}

#[test]
fn keys_of_the_other_workload_are_refused() {
    changed(
        &[("workload:", "verify: {output: exact}\nworkload:")],
        &["`verify.output` belongs to a workload of programs"],
    );
    let text = |rest: &str| refused(&command("{n: [1]}", &["n"], rest));
    assert!(text("verify: {frames: 5}\n").contains("`verify.frames` belongs to a `packets` workload"));
    assert!(text("accept: [zero_loss]\n").contains("`zero_loss` needs a `packets` workload"));
    let both = command("{n: [1]}", &["n"], "").replace("on: here,", "on: here, shell: x,");
    assert!(refused(&both).contains("expected one of `run`, `shell` and `tool`, found 2"));
    let none = command("{n: [1]}", &["n"], "")
        .replace("run: [work, \"${how}\", \"${n}\"]", "env: {A: \"${how}${n}\"}");
    assert!(refused(&none).contains("`command` lacks the key `run`"));
}

#[test]
fn a_rule_that_could_not_stop_honestly_is_refused() {
    let with = |until: &str, wanted: &str| {
        let blocks = PACKETS.lines().find(|line| line.starts_with("blocks:")).map(|line| format!("{line}\n"));
        let text = match blocks {
            Some(line) => PACKETS.replace(&line, &format!("blocks: {until}\n")),
            None => format!("{PACKETS}blocks: {until}\n"),
        };
        let shown = refused(&text);
        assert!(shown.contains(wanted), "{wanted:?} is not in:\n{shown}");
    };
    with("{count: 8, until: {halfwidth: 2%, most: 20}}", "at least 10 are needed");
    with("{until: {halfwidth: 2%, most: 10}}", "leave nothing to decide after 10");
    with("{until: {halfwidth: 2%, most: 15}}", "15 blocks cannot be mirrored");
    with("{until: {halfwidth: 2, most: 20}}", "a percentage");
    with("{until: {halfwidth: 2%, of: tx_rat, most: 20}}", "`tx_rat` is no response of this campaign");
    with("{until: {most: 20}}", "lacks the key `halfwidth`");
}
