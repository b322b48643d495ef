//! Each kind of comparison with a pair that is equal and one that must be refused.

use super::{Answer, Difference, Known, Output, Piece, Texts, answer, confirm, counts, prove};
use crate::model::cell::CellId;
use crate::model::extract::{At, Extract, Written};
use crate::model::job::Captured;
use crate::model::proof::Proof;
use crate::model::verify_rule::{JsonRule, OutputRule};
use crate::model::work_rule::{Units, WorkRule};

/// The account of an output as an agent gives it, but for the sum of line digests, which any sum serves.
fn piece(bytes: &[u8]) -> Piece {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    lines.pop_if(|last| last.is_empty());
    lines.sort_unstable();
    let account = Captured {
        bytes: bytes.len() as u64,
        sha256: crate::model::digest::of_bytes(bytes),
        lines: lines.len() as u64,
        lines_sha256: crate::model::digest::of_bytes(&lines.join(&b'\n')),
        kept: bytes.len() as u64,
    };
    Piece { account, kept: bytes.to_vec() }
}

fn proven(rule: &OutputRule, bytes: &[u8]) -> Result<(Proof, Texts), String> {
    let Answer { facts, near, text } = answer(rule, &piece(bytes))?;
    let mut answer = facts;
    answer.insert("end".into(), "Exited(0)".into());
    let texts = text.map(|text| ("run".to_owned(), text)).into_iter().collect();
    Ok((Proof { answer, near, ..Proof::default() }, texts))
}

/// What a treatment's output is told, beside the control's.
fn compared(rule: &OutputRule, control: &[u8], treatment: &[u8]) -> Result<(), Difference> {
    let (mut known, cell) = (Known::default(), |id: &str| CellId(id.into()));
    let (proof, texts) = proven(rule, control).expect("the control can be read");
    let control = prove(&cell("/control"), proof, texts, None, &mut known).expect("nothing to differ from");
    let (mut proof, texts) =
        proven(rule, treatment).map_err(|reason| Difference { reason, evidence: vec![] })?;
    proof.programs.insert("new".into(), "p2".into());
    prove(&cell("/new"), proof, texts, Some(&control), &mut known).map(drop)
}

fn refused(rule: &OutputRule, control: &[u8], treatment: &[u8]) -> String {
    let found = compared(rule, control, treatment).expect_err("they differ");
    format!("{}\n{}", found.reason, found.evidence.join("\n"))
}

fn ignoring(names: &[&str]) -> OutputRule {
    OutputRule::Fields { ignore: names.iter().map(|name| (*name).to_owned()).collect() }
}

#[test]
fn exact_takes_the_same_bytes_and_shows_the_first_lines_that_differ() {
    assert_eq!(compared(&OutputRule::Exact, b"a\nb\n", b"a\nb\n"), Ok(()));
    let told = refused(&OutputRule::Exact, b"a\nb\n", b"a\nc\n");
    assert!(told.starts_with("it gives another answer than the control"), "{told}");
    assert!(told.contains("output sha256: the control has "), "{told}");
    assert!(told.ends_with("line 2: the control has `b`, this has `c`"), "{told}");
    let told = refused(&OutputRule::Exact, b"a\nb\n", b"a\n");
    assert!(told.contains("output bytes: the control has 4, this has 2"), "{told}");
    assert!(told.ends_with("line 2: the control has `b`, this has no such line"), "{told}");
    let told = refused(&OutputRule::Exact, b"a\nb\n", b"a\nb");
    assert!(told.ends_with("only the end of the last line differs"), "{told}");
}

#[test]
fn fewer_matches_are_told_by_the_name_of_the_field() {
    // Case V01.
    let (control, treatment) = (b"matches=1532 bytes=98304\n", b"matches=1519 bytes=98304\n");
    let told = refused(&OutputRule::Exact, control, treatment);
    assert!(told.ends_with("line 1, matches: the control has 1532, this has 1519"), "{told}");
}

#[test]
fn output_that_is_no_text_is_compared_and_shown_escaped() {
    assert_eq!(compared(&OutputRule::Exact, b"\xff\x00\n", b"\xff\x00\n"), Ok(()));
    let told = refused(&OutputRule::Exact, b"\xff\x1b[2J\n", b"\xfe\n");
    assert!(told.ends_with("line 1: the control has `\\xff\\u{1b}[2J`, this has `\\xfe`"), "{told}");
    assert_eq!(compared(&OutputRule::Lines, b"\xff\r\n", b"\xff"), Ok(()));
    assert_eq!(compared(&ignoring(&["ms"]), b"x=\xff ms=1", b"x=\xff ms=2"), Ok(()));
    assert!(refused(&ignoring(&["ms"]), b"x=\xff ms=1", b"x=\xfe ms=1").contains("x: the control has \\xff"));
    assert_eq!(compared(&OutputRule::Count("a".into()), b"\xffa", b"a\xfe"), Ok(()));
}

#[test]
fn lines_may_end_otherwise_and_must_stand_in_the_same_order() {
    assert_eq!(compared(&OutputRule::Lines, b"a\nb\n", b"a\r\nb"), Ok(()));
    assert_ne!(compared(&OutputRule::Exact, b"a\nb\n", b"a\r\nb"), Ok(()));
    let told = refused(&OutputRule::Lines, b"a\nb\n", b"b\na\n");
    assert!(told.contains("line 1: the control has `a`, this has `b`"), "{told}");
}

#[test]
fn any_order_takes_the_same_lines_and_counts_each_of_them() {
    // Case V08.
    assert_eq!(compared(&OutputRule::AnyOrder, b"a\nb\nc\n", b"b\na\nc\n"), Ok(()));
    assert_ne!(compared(&OutputRule::Exact, b"a\nb\nc\n", b"b\na\nc\n"), Ok(()), "order counts by default");
    let told = refused(&OutputRule::AnyOrder, b"a\nb\n", b"a\na\nb\n");
    assert!(told.contains("output lines: the control has 2, this has 3"), "{told}");
    assert!(told.ends_with("only this has `a` (once more)"), "{told}");
}

#[test]
fn named_fields_may_differ_and_no_other() {
    // Case V02.
    let (control, treatment) = (b"hash=ab12 elapsed_ms=31\n", b"hash=ab12 elapsed_ms=29\n");
    assert_eq!(compared(&ignoring(&["elapsed_ms"]), control, treatment), Ok(()));
    let told = refused(&OutputRule::Exact, control, treatment);
    assert!(told.ends_with("line 1, elapsed_ms: the control has 31, this has 29"), "{told}");
    let told = refused(&ignoring(&["elapsed_ms"]), control, b"hash=ab13 elapsed_ms=29\n");
    assert!(told.ends_with("line 1, hash: the control has ab12, this has ab13"), "{told}");
    let told = proven(&ignoring(&["elapsed_ms", "hash"]), control).unwrap_err();
    assert!(told.contains("nothing would be compared"), "{told}");
}

#[test]
fn json_is_compared_by_what_it_says() {
    let exactly = OutputRule::Json(JsonRule::default());
    assert_eq!(compared(&exactly, br#"{"a": 1, "b": [2.0]}"#, b"{\"b\": [2],\n \"a\": 1}"), Ok(()));
    let told = refused(&exactly, br#"{"a": {"n": 1}}"#, br#"{"a": {"n": 2}}"#);
    assert!(told.ends_with("line 1: the control has `/a/n: 1`, this has `/a/n: 2`"), "{told}");
    assert!(refused(&exactly, br#"{"a": 1}"#, b"a: 1").contains("no JSON document"));
    assert_ne!(compared(&exactly, br#"{"n": 9007199254740992}"#, br#"{"n": 9007199254740993}"#), Ok(()));

    let rule = OutputRule::Json(JsonRule {
        ignore: vec!["/ms".into(), "/runs/*/ms".into()],
        tolerance: vec![("/rate".into(), 0.01)],
    });
    let control = br#"{"ms": 5, "rate": 1000, "n": 3, "runs": [{"ms": 1, "k": 1}]}"#;
    let near = br#"{"ms": 7, "rate": 1009.5, "n": 3, "runs": [{"ms": 2, "k": 1}]}"#;
    assert_eq!(compared(&rule, control, near), Ok(()));
    let told = refused(&rule, control, br#"{"ms": 5, "rate": 1011, "n": 3, "runs": [{"ms": 1, "k": 1}]}"#);
    assert!(
        told.ends_with("output /rate: the control has 1000, this has 1011, which is more than 1 % away"),
        "{told}"
    );
    let told = refused(&rule, control, br#"{"ms": 5, "n": 3, "runs": [{"ms": 1, "k": 1}]}"#);
    assert!(told.contains("output /rate: the control has 1000, this has (absent)"), "{told}");
    assert!(proven(&rule, br#"{"rate": "fast"}"#).unwrap_err().contains("no number"));
    let all = OutputRule::Json(JsonRule { ignore: vec!["/*".into()], tolerance: vec![] });
    assert!(proven(&all, control).unwrap_err().contains("nothing would be compared"));
}

#[test]
fn a_run_may_be_as_far_from_the_control_as_a_proof_and_no_farther() {
    let rule = OutputRule::Json(JsonRule { ignore: vec![], tolerance: vec![("/rate".into(), 0.01)] });
    let (mut known, cell) = (Known::default(), |id: &str| CellId(id.into()));
    let at = |rate: u32| proven(&rule, format!("{{\"rate\": {rate}}}").as_bytes()).expect("a rate");
    let (proof, texts) = at(1000);
    let control = prove(&cell("/control"), proof, texts, None, &mut known).expect("the control");
    let (mut proof, texts) = at(1009);
    proof.programs.insert("new".into(), "p2".into());
    let new = prove(&cell("/new"), proof, texts, Some(&control), &mut known).expect("near enough");
    let run = |rate| confirm(&new, &at(rate).0, &Texts::new());
    assert_ne!(run(1018), Ok(()), "near its proof, and too far from the control");
    assert!(run(1018).unwrap_err().evidence.len() == 1, "{:?}", run(1018));
}

#[test]
fn a_count_is_how_often_a_pattern_is_found_or_the_number_in_its_group() {
    let found = OutputRule::Count("match".into());
    assert_eq!(compared(&found, b"match a\nmatch b\n", b"match x match y"), Ok(()));
    let told = refused(&found, b"match a\nmatch b\n", b"match a\n");
    assert!(told.ends_with("count of `match`: the control has 2, this has 1"), "{told}");
    assert!(proven(&found, b"nothing").unwrap_err().contains("nowhere in its output"));
    let number = OutputRule::Count(r"matches=(\d+)".into());
    assert_eq!(compared(&number, b"matches=1532 in 3 ms", b"matches=1532 in 2 ms"), Ok(()));
    assert_ne!(compared(&number, b"matches=1532", b"matches=1519"), Ok(()));
}

#[test]
fn an_output_that_was_not_fetched_whole_is_refused_by_who_must_read_it_and_taken_by_its_digest() {
    let cut = Piece { kept: b"head".to_vec(), ..piece(b"head and tail") };
    for rule in [
        OutputRule::Lines,
        ignoring(&["x"]),
        OutputRule::Json(JsonRule::default()),
        OutputRule::Count("h".into()),
    ] {
        let told = answer(&rule, &cut).unwrap_err();
        assert!(told.contains("13 bytes could not be fetched"), "{rule:?}: {told}");
    }
    for rule in [OutputRule::Exact, OutputRule::AnyOrder] {
        assert!(answer(&rule, &cut).is_ok(), "{rule:?}");
    }
    let mut short = Piece { kept: b"head".to_vec(), ..piece(b"head and toil") };
    short.account.bytes = 13;
    let texts = |piece: &Piece| answer(&OutputRule::Exact, piece).unwrap().text.unwrap();
    let told = super::first_lines::differing(("the control", &texts(&cut)), ("this", &texts(&short)));
    assert_eq!(told, ["their first 4 bytes are equal; they differ after that"]);
}

#[test]
fn ignored_compares_nothing_of_the_output() {
    assert_eq!(compared(&OutputRule::Ignored, b"a", b"b"), Ok(()));
}

#[test]
fn four_fates_add_up_to_the_declared_units_or_the_run_does_not_count() {
    let at = |name: &str| Some(Extract { from: Written::Stdout, at: At::Json(format!("/{name}")) });
    let rule = WorkRule {
        of: None,
        units: Units::Declared("40".into()),
        success: at("ok"),
        timeout: at("late"),
        transport_error: at("broken"),
        wrong_answer: None,
    };
    let told =
        |text: &str| counts(&rule, 40, &Output { stdout: piece(text.as_bytes()), ..Output::default() });
    let seed = told(r#"{"ok": 5, "late": 35, "broken": 0}"#).expect("they add up");
    assert_eq!((seed.success, seed.timeout, seed.declared), (5, 35, 40));
    let error = told(r#"{"ok": 5, "late": 34, "broken": 0}"#).unwrap_err();
    assert!(
        error.contains("5 done, 34 timed out")
            && error.contains("are 39 units of work, and 40 were declared"),
        "{error}"
    );
    assert!(told(r#"{"ok": 40, "late": 0}"#).unwrap_err().contains("no count of transport_error"));
    assert!(told(r#"{"ok": 39.5, "late": 0, "broken": 0}"#).unwrap_err().contains("39.5 is no count"));
}
