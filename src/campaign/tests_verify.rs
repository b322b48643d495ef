//! Proof, values and units of work in campaign files.

use super::tests::*;
use crate::model::extract::{At, Extract, Range, ValueRule, Written};
use crate::model::response::Better;
use crate::model::verify_rule::{JsonRule, OutputRule};
use crate::model::work_rule::Units;
use crate::model::workload::{CommandDeclared, Workload};

fn text(inside: &str, rest: &str) -> String {
    let command = command("{n: [1]}", &["n"], rest);
    command.replace("work, \"${how}\", \"${n}\"]}", &format!("work, \"${{how}}\", \"${{n}}\"]{inside}}}"))
}

fn read_command(text: &str) -> CommandDeclared {
    match good(text).workload {
        Workload::Command(declared) => *declared,
        Workload::Packets(_) => panic!("no command"),
    }
}

#[test]
fn every_kind_of_comparison_is_read() {
    let of = |output: &str| read_command(&text("", &format!("verify: {{output: {output}}}\n"))).verify.output;
    assert_eq!(of("lines"), OutputRule::Lines);
    assert_eq!(of("any_order"), OutputRule::AnyOrder);
    assert_eq!(
        of("{fields: {ignore: [elapsed_ms]}}"),
        OutputRule::Fields { ignore: vec!["elapsed_ms".into()] }
    );
    let rule = JsonRule { ignore: vec!["/runs/*/ms".into()], tolerance: vec![("/rate".into(), 0.01)] };
    assert_eq!(of("{json: {ignore: [/runs/*/ms], tolerance: {/rate: 1%}}}"), OutputRule::Json(rule));
    assert_eq!(of("{count: 'matches=(\\d+)'}"), OutputRule::Count("matches=(\\d+)".into()));
}

#[test]
fn a_comparison_that_would_compare_nothing_is_refused() {
    let of = |output: &str| refused(&text("", &format!("verify: {{output: {output}}}\n")));
    assert!(of("{json: {ignore: ['']}}").contains("the whole document would be ignored"));
    assert!(of("{json: {ignore: [elapsed]}}").contains("expected a JSON pointer"));
    assert!(of("{json: {tolerance: {/rate: 1}}}").contains("a percentage"));
    assert!(of("{count: '(a)(b)'}").contains("with one group"));
    assert!(of("{count: '('}").contains("a regular expression"));
    assert!(of("{fields: {ignore: ['a=b']}}").contains("the name in `name=value`"));
    assert!(of("{fields: {}, count: x}").contains("one of `fields`, `json` and `count`"));
    assert!(of("exakt").contains("did you mean `exact`"));
}

#[test]
fn values_are_responses_with_a_unit_and_a_direction() {
    let values = ", values: {rate: {json: /end/bps, unit: bit/s, better: higher, intervals: {json: /i/*}}, \
                  hits: {pattern: 'matches=(\\d+)', from: {file: out/log}, unit: matches, better: higher, range: 0..9}}";
    let text = text(values, "responses: [{name: rate, margin: 2%}, {name: hits}, {name: wall_time}]\n");
    let expected = [
        ValueRule {
            name: "rate".into(),
            unit: "bit/s".into(),
            better: Better::Higher,
            extract: Extract { from: Written::Stdout, at: At::Json("/end/bps".into()) },
            range: Range { above_zero: true, ..Range::default() },
            intervals: Some(At::Json("/i/*".into())),
        },
        ValueRule {
            name: "hits".into(),
            unit: "matches".into(),
            better: Better::Higher,
            extract: Extract {
                from: Written::File("out/log".into()),
                at: At::Pattern("matches=(\\d+)".into()),
            },
            range: Range { low: Some(0.0), high: Some(9.0), above_zero: false },
            intervals: None,
        },
    ];
    assert_eq!(read_command(&text).roles[0].values, expected);
    let responses = good(&text).responses;
    let told: Vec<(&str, &str)> = responses.iter().map(|r| (r.name.as_str(), r.unit.as_str())).collect();
    assert_eq!(told, [("rate", "bit/s"), ("hits", "matches"), ("wall_time", "s")]);
    assert!(responses[0].primary);
}

#[test]
fn a_value_that_says_too_little_is_refused() {
    let of = |value: &str| refused(&text(&format!(", values: {{{value}}}"), ""));
    assert!(of("rate: {json: /a, better: higher}").contains("lacks the key `unit`"));
    assert!(of("rate: {json: /a, unit: x}").contains("lacks the key `better`"));
    assert!(of("rate: {unit: x, better: lower}").contains("lacks `json` or `pattern`"));
    assert!(of("rate: {pattern: 'rate=', unit: x, better: lower}").contains("expected one group"));
    assert!(of("wall_time: {json: /a, unit: s, better: lower}").contains("is measured already"));
    assert!(of("rate: {json: /a, unit: x, better: lower, range: 9..0}").contains("a range like"));
    assert!(
        of("rate: {json: /a, unit: x, better: lower, from: {file: ../x}}")
            .contains("below the working folder")
    );
    let other = text(", values: {hits: {json: /a, unit: x, better: lower}}", "responses: [{name: hitz}]\n");
    assert!(refused(&other).contains("did you mean `hits`"));
    let unit =
        text(", values: {hits: {json: /a, unit: x, better: lower}}", "responses: [{name: hits, unit: y}]\n");
    assert!(refused(&unit).contains("is measured in `x`, found `y`"));
}

#[test]
fn effects_are_about_the_work_and_not_about_time() {
    let of = |effects: &str| text("", &format!("verify: {{effects: [{effects}]}}\n"));
    let rule = read_command(&of("bytes_read <= 1MiB, 'page_faults < 50 && bytes_written == 0'")).verify;
    assert_eq!(rule.effects, ["bytes_read <= 1MiB", "page_faults < 50 && bytes_written == 0"]);
    assert!(refused(&of("wall_time < 1")).contains("no figure that an effect can be asserted on"));
    assert!(refused(&of("rchar <= 1MiB")).contains("write `bytes_read`"));
    assert!(refused(&of("byte_read <= 1MiB")).contains("did you mean `bytes_read`"));
    assert!(refused(&of("'bytes_read <= '")).contains("a condition like"));
    let packets = PACKETS.to_owned() + "verify: {effects: [bytes_read <= 1MiB]}\n";
    assert!(refused(&packets).contains("`verify.effects` belongs to a workload of programs"));
}

#[test]
fn typed_units_prove_nothing_without_a_count_of_what_was_done() {
    let with = |work: &str| {
        let own = text("", "");
        own.replace("\"]}\n", &format!("\"]}}\n  work: {work}\n")) + "responses: [{name: useful_rate}]\n"
    };
    let declared = read_command(&with("{units: 40, success: {json: /ok}, timeout: {json: /late}}"));
    let work = declared.work.expect("units of work");
    assert_eq!(work.units, Units::Declared("40".into()));
    assert!(work.success.is_some() && work.timeout.is_some() && work.wrong_answer.is_none());
    assert!(refused(&with("{units: 40}")).contains("a typed number proves nothing"));
    assert!(refused(&with("{success: {json: /ok}}")).contains("lacks `units` or `counted`"));
    assert!(refused(&with("{units: many, success: {json: /ok}}")).contains("a whole number"));
    let counted = read_command(&with("{counted: {run: [wc, -l, /data], pattern: '^(\\d+)'}}")).work;
    assert!(
        matches!(counted.map(|work| work.units), Some(Units::Counted { by: Some(argv), .. }) if argv.len() == 3)
    );
    let without = text("", "responses: [{name: useful_rate}]\n");
    assert!(refused(&without).contains("needs units of work that are counted"));
}
