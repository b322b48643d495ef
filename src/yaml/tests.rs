//! Trees, complaints and quantities, with the cases from public reports.

use super::*;

fn read_text(text: &str) -> (Option<Node>, Vec<Complaint>) {
    let mut out = Vec::new();
    let node = read(&Source::new("a.yaml", text), &mut out);
    (node, out)
}

fn rendered(text: &str, complaints: &[Complaint]) -> String {
    render(complaints, &Source::new("a.yaml", text), false)
}

/// The texts of a list under one key.
fn levels(text: &str) -> Vec<(String, bool)> {
    let (node, out) = read_text(text);
    assert_eq!(out, []);
    let Some(Node { kind: Kind::Mapping(entries), .. }) = node else { panic!("no mapping") };
    let Kind::Sequence(items) = &entries[0].value.kind else { panic!("no list") };
    let text = |node: &Node| match &node.kind {
        Kind::Scalar { text, quoted } => (text.clone(), *quoted),
        other => panic!("no scalar: {other:?}"),
    };
    items.iter().map(text).collect()
}

/// Reads one value with `measure` and gives it, or the complaint as rendered.
fn one<T>(value: &str, measure: impl Fn(&Node, &mut Vec<Complaint>) -> Option<T>) -> Result<T, String> {
    let text = format!("it: {value}\n");
    let (node, mut out) = read_text(&text);
    let Some(Node { kind: Kind::Mapping(entries), .. }) = node else { panic!("no mapping") };
    measure(&entries[0].value, &mut out).ok_or_else(|| rendered(&text, &out))
}

#[test]
fn y01_a_factor_written_twice_names_the_key_and_both_lines() {
    let text = "# keys\nfactors:\n  queues: [1, 2]\n  frame: [64, 1518]\n  queues: [1, 2, 4, 8]\n";
    let (node, out) = read_text(text);
    assert!(node.is_some(), "the rest is still read");
    let shown = rendered(text, &out);
    assert!(shown.contains("the key `queues` is given twice"), "{shown}");
    assert!(shown.contains("a.yaml:5:3") && shown.contains("a.yaml:3:3"), "{shown}");
    assert_eq!(out.len(), 1);
}

#[test]
fn y02_levels_that_look_like_booleans_are_texts_as_typed() {
    let spelled: Vec<String> =
        levels("offload: [on, off, no, NO, y, True]").into_iter().map(|level| level.0).collect();
    assert_eq!(spelled, ["on", "off", "no", "NO", "y", "True"]);
}

#[test]
fn y03_version_1_10_stays_apart_from_1_1() {
    let all = levels("driver: [1.1, 1.10, \"1.10\", 0x10, 012]");
    let expected = [("1.1", false), ("1.10", false), ("1.10", true), ("0x10", false), ("012", false)];
    assert_eq!(all, expected.map(|(text, quoted)| (text.to_owned(), quoted)));
}

#[test]
fn y05_integers_at_the_edge_are_exact_or_refused() {
    let count = |text: &str| one(text, |node, out| node.count("seed", 0..=u64::MAX, out));
    assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
    assert_eq!(count("9007199254740993"), Ok(9_007_199_254_740_993));
    let error = count("18446744073709551616").unwrap_err();
    assert!(error.contains("a.yaml:1:5") && error.contains("18446744073709551615"), "{error}");
}

#[test]
fn y06_misspelt_keys_are_all_refused_with_the_nearest_known_one() {
    let text = "run:\n  repeat: 30\n  time_out: 5s\n  zzz: 1\n";
    let (node, mut out) = read_text(text);
    let root = node.unwrap();
    let fields = Fields::open(&root, root.span, "the file", &["run"], &mut out).unwrap();
    let run = fields.get("run").unwrap();
    Fields::open(&run.value, run.key.span, "`run`", &["repeats", "timeout"], &mut out);
    let shown = rendered(text, &out);
    assert_eq!(out.len(), 3);
    assert!(shown.contains("a.yaml:2:3") && shown.contains("did you mean `repeats`?"), "{shown}");
    assert!(shown.contains("a.yaml:3:3") && shown.contains("did you mean `timeout`?"), "{shown}");
    assert!(shown.contains("known here: `repeats`, `timeout`"), "{shown}");
}

#[test]
fn y09_bombs_of_aliases_and_of_brackets_are_refused_quickly() {
    let mut bomb = "a0: &a0 [x]\n".to_owned();
    for level in 1..=10 {
        let uses = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{uses}]\n"));
    }
    let (node, out) = read_text(&bomb);
    assert!(node.is_none() && out[0].message.contains("too large"), "{out:?}");
    for deep in ["[".repeat(5000), (0..200).map(|at| format!("{}- \n", " ".repeat(at))).collect()] {
        let (node, out) = read_text(&deep);
        assert!(node.is_none() && out.len() == 1, "{out:?}");
    }
    let (node, out) = read_text(&"a".repeat(2 << 20));
    assert!(node.is_none() && out.len() == 1);
}

#[test]
fn y11_only_plain_digits_are_a_count() {
    let count = |text: &str| one(text, |node, out| node.count("repeats", 1..=1000, out));
    for wrong in ["1e3", "1_000", "3.0", "\"5\"", "-1", "4294967296", "0", "0x10", "010", "~", "[5]", "+5"] {
        let error = count(wrong).expect_err(wrong);
        assert!(error.contains("a.yaml:1:5") && error.contains("expected a"), "{wrong}: {error}");
    }
    assert_eq!(count("5"), Ok(5));
}

#[test]
fn y13_durations_and_sizes_need_their_unit() {
    let duration = |text: &str| one(text, |node, out| node.duration_ms("timeout", 1..=86_400_000, out));
    assert_eq!(duration("1h5m2s"), Ok(3_902_000));
    assert_eq!(duration("200ms"), Ok(200));
    for wrong in ["30", "0s", "-5s", "5us", "25h", "s", "1.5"] {
        let error = duration(wrong).expect_err(wrong);
        assert!(error.contains("a.yaml:1:5") && error.contains("with its unit"), "{wrong}: {error}");
    }
    assert_eq!(quantity::bytes("64KiB"), Ok(65_536));
    assert_eq!(quantity::bytes("10MB"), Ok(10_000_000));
    for wrong in ["64K", "64", "64k", "KiB", "-1B", "20000000000GB"] {
        assert!(quantity::bytes(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn percents_and_rates_need_their_sign() {
    assert_eq!(quantity::percent("2%"), Ok(0.02));
    assert_eq!(quantity::rate("200000/s"), Ok(Some(200_000.0)));
    assert_eq!(quantity::rate("max"), Ok(None));
    for wrong in ["2", "0%", "100%", "-1%", "1e1%", "NaN%"] {
        assert!(quantity::percent(wrong).is_err(), "{wrong}");
    }
    for wrong in ["200000", "0/s", "fast", "1e5/s", "inf/s"] {
        assert!(quantity::rate(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn aliases_stand_for_the_whole_value_and_are_placed_where_they_are_used() {
    let text = "a: &x [1, 2]\nb: *x\n";
    let (node, out) = read_text(text);
    assert_eq!(out, []);
    let Kind::Mapping(entries) = node.unwrap().kind else { panic!() };
    assert_eq!(entries[0].value.kind, entries[1].value.kind);
    assert_eq!(&text[entries[1].value.span.start..entries[1].value.span.end], "*x");
}

#[test]
fn what_is_not_plain_yaml_is_refused_with_its_place() {
    for (text, wanted) in [
        ("", "empty"),
        ("# only a comment\n", "empty"),
        ("a: 1\n---\nb: 2\n", "second"),
        ("a: [1, 2\n", "not YAML"),
        ("a: 1\n b: 2\n", "not YAML"),
        ("a:\n\tb: 1\n", "not YAML"),
        ("a: *nobody\n", "not YAML"),
        ("a: !int 1\n", "tags"),
        ("[a]: 1\n", "name as key"),
        ("x: &x {a: 1}\ny:\n  <<: *x\n", "merge keys"),
        ("a: &a [*a]\n", "contains it"),
    ] {
        let (_, out) = read_text(text);
        assert!(has_errors(&out), "{text:?}");
        let shown = rendered(text, &out);
        assert!(shown.contains(wanted) && shown.contains("a.yaml:"), "{text:?}: {shown}");
    }
}

#[test]
fn the_usual_slips_of_yaml_are_told_with_what_mends_them() {
    for (text, place, wanted) in [
        ("a: b\n\tc: d\n", "a.yaml:2:1", "spaces"),
        ("a: {b: c ${d} e}\n", "a.yaml:1:", "\"${name}\""),
        ("a: b: c\n", "a.yaml:1:", "quotes"),
    ] {
        let (_, out) = read_text(text);
        let shown = rendered(text, &out);
        assert!(shown.contains(place) && shown.contains(wanted), "{text:?}: {shown}");
    }
}

#[test]
fn places_count_characters_and_programs_get_the_same_ones() {
    let text = "é: {ü: 1, ü: 2}\r\nb: 1\r\n";
    let (_, out) = read_text(text);
    let source = Source::new("a.yaml", text);
    let json = to_json(&out, &source);
    assert_eq!((json[0]["line"].as_u64(), json[0]["column"].as_u64()), (Some(1), Some(11)));
    assert_eq!(json[0]["related"][0]["column"], 5);
    assert_eq!(json[0]["severity"], "error");
    assert_eq!(source.position(text.len()), (3, 1));
}

#[test]
fn only_the_lines_complained_about_are_shown() {
    let text = "a: 1\nsecret: hunter2\na: 2\n";
    let (_, out) = read_text(text);
    let shown = rendered(text, &out);
    assert!(shown.contains("a: 2") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_place_inside_a_scalar_is_found_when_the_spelling_is_plain() {
    let text = "when: streams > ) 7\n";
    let (node, _) = read_text(text);
    let Kind::Mapping(entries) = node.unwrap().kind else { panic!() };
    let span = entries[0].value.inside(10, text);
    assert_eq!(&text[span.start..span.end], ")");
}
