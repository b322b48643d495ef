//! What a right file becomes.

use super::tests::*;
use crate::model::arm::ArmKind;
use crate::model::role::{Invocation, ResolvedProgram};
use crate::model::verify_rule::OutputRule;
use crate::model::workload::{LoadDeclared, Work, Workload};

#[test]
fn what_is_left_out_has_its_documented_default() {
    let campaign = good(PACKETS);
    assert_eq!(campaign.blocks, Blocks { count: 10, until: None, order: Order::Mirrored, seed: 1 });
    assert_eq!((campaign.timeout_ms, campaign.max_cells, campaign.pilot), (60_000, 10_000, false));
    assert_eq!((campaign.accept.len(), campaign.exclude.len(), campaign.hold.len()), (0, 0, 0));
    let response = &campaign.responses[0];
    assert_eq!((response.name.as_str(), response.primary, response.margin), ("tx_rate", true, None));
    assert_eq!(campaign.arms[0].name, "control");
    let packets = good(
        &PACKETS.replace("    settle: 200ms\n", "").replace("    batch: ${batch}", "    batch: \"${batch}\""),
    );
    let Workload::Packets(declared) = packets.workload else { panic!() };
    assert_eq!((declared.settle.as_str(), declared.streams.as_str()), ("5s", "1"));
    assert_eq!(declared.load, LoadDeclared::Steady("max".into()));
    assert_eq!(
        (declared.tx.as_str(), declared.both_ways.as_str(), declared.stamps),
        ("af_packet", "false", None)
    );
    assert_eq!(declared.proof_frames, 10_000);
    let Workload::Command(declared) = good(&command("{n: [1]}", &["n"], "")).workload else { panic!() };
    let role = &declared.roles[0];
    assert_eq!(
        (declared.verify.output.clone(), role.stdin.clone(), role.cwd.clone(), role.timed),
        (OutputRule::Exact, None, None, true)
    );
    assert_eq!(role.program, Invocation::Argv(vec!["work".into(), "${how}".into(), "${n}".into()]));
}

#[test]
fn a_campaign_needs_neither_variables_nor_treatments() {
    let text = "campaign: one\nquestion: How long?\nhosts: h.yaml\ncontrol: {}\nworkload:\n  command: {on: here, run: [\"true\"]}\n";
    let campaign = good(text);
    assert!(campaign.variables.is_empty());
    assert_eq!(campaign.arms.len(), 1);
    assert_eq!(campaign.responses[0].name, "wall_time");
}

#[test]
fn a_line_of_words_is_a_program_and_commands_run_here_where_no_hosts_are_named() {
    let text = "campaign: one\nquestion: How long?\ncontrol: {set: {text: \"say 'a b'\"}}\nworkload:\n  command: {on: here, run: \"${text} c\"}\n";
    let campaign = good(text);
    assert_eq!(campaign.hosts, None);
    let Workload::Command(declared) = &campaign.workload else { panic!() };
    assert_eq!(declared.roles[0].program, Invocation::Line("${text} c".into()));
    let lookup = |_: &str| Some("say 'a b'");
    let resolved = work::resolve(&campaign.workload, &lookup, &|_| None, 1);
    let Ok(Work::Command(resolved)) = resolved else { panic!("{resolved:?}") };
    assert_eq!(
        resolved.roles[0].program,
        ResolvedProgram::Argv(["say", "a b", "c"].map(String::from).to_vec())
    );
}

#[test]
fn combine_all_makes_every_set_of_treatments_in_order() {
    let text = command("{n: [1]}", &["n"], "combine: all\n")
        .replace("set: {how: plain}", "set: {how: plain, x: 0, y: 0}")
        .replace("  - {name: fast, change: {how: fast}}\n", "  - {name: a, change: {how: fast}}\n  - {name: b, change: {x: 1}}\n  - {name: c, change: {y: 1}}\n")
        .replace("run: [work", "run: [work, \"${x}${y}\"");
    let campaign = good(&text);
    let names: Vec<&str> = campaign.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["control", "a", "b", "c", "a+b", "a+c", "b+c", "a+b+c"]);
    let all = campaign.arms.last().unwrap();
    assert_eq!(
        (all.kind, all.changes.as_slice()),
        (ArmKind::Combination, ["how", "x", "y"].map(String::from).as_slice())
    );
    assert_eq!(all.settings["how"].text, "fast");
    let one = good(&text.replace("combine: all", "combine: [[c, a]]"));
    assert_eq!(one.arms.last().unwrap().name, "a+c");
    assert_eq!(one.arms.len(), 5);
}

#[test]
fn an_anchor_is_an_arm_outside_the_family() {
    let anchors = "anchors:\n  - {name: old, set: {how: older}, because: release 1}\n";
    let campaign = good(&command("{n: [1]}", &["n"], &format!("{anchors}blocks: {{count: 6}}\n")));
    let anchor = campaign.arms.last().unwrap();
    assert_eq!((anchor.kind, anchor.changes.as_slice()), (ArmKind::Anchor, ["how".to_owned()].as_slice()));
    assert_eq!(anchor.because.as_deref(), Some("release 1"));
}

#[test]
fn everything_declared_arrives() {
    let text = command(
        "{n: [1, 2, 3], host: [a, b]}",
        &["n", "host"],
        "hold: {governor: performance, cpu_count: 7}
exclude:
  - {when: n > 2 && how == 'fast', because: too slow}
  - {when: hosts.here.cpu_count < 2}
blocks: {count: 8, order: shuffled, seed: 18446744073709551615}
timeout: 1h5m2s
pilot: true
max_cells: 100
expect: {timed_out: ['n=3,*/fast'], failed: [x]}
verify: {output: any_order}
responses:
  - {name: peak_rss, margin: 5%}
  - {name: wall_time, unit: s, better: lower, primary: true}
",
    )
    .replace(
        "on: here, ",
        "on: here, env: {A: \"${n}\"}, cwd: /tmp, stdin: /etc/hosts, inputs: [/etc/hosts], ",
    );
    let campaign = good(&text);
    assert_eq!(campaign.hold["cpu_count"], "7");
    assert_eq!(campaign.exclude[0].because.as_deref(), Some("too slow"));
    assert_eq!(campaign.exclude[1].rule.text(), "hosts.here.cpu_count < 2");
    assert_eq!(campaign.blocks, Blocks { count: 8, until: None, order: Order::Shuffled, seed: u64::MAX });
    assert_eq!((campaign.timeout_ms, campaign.pilot, campaign.max_cells), (3_902_000, true, 100));
    assert_eq!(campaign.expect.timed_out, ["n=3,*/fast"]);
    let responses: Vec<_> =
        campaign.responses.iter().map(|each| (each.name.as_str(), each.primary, each.margin)).collect();
    assert_eq!(responses, [("peak_rss", false, Some(0.05)), ("wall_time", true, None)]);
    let Workload::Command(declared) = &campaign.workload else { panic!() };
    assert_eq!(
        (declared.verify.output.clone(), declared.roles[0].env["A"].as_str()),
        (OutputRule::AnyOrder, "${n}")
    );
    let span = campaign.places.of("exclude.1.when");
    assert_eq!(&text[span.start..span.end], "hosts.here.cpu_count < 2");
    let count = campaign.places.of("blocks.count");
    assert_eq!(&text[count.start..count.end], "count");
    assert_eq!(campaign.places.of("blocks.nothing.here"), campaign.places.of("blocks"));
}

#[test]
fn a_million_cells_are_read_quickly_once_the_cap_is_lifted() {
    let levels =
        |from: u32| (from..from + 1000).map(|level| level.to_string()).collect::<Vec<_>>().join(", ");
    let variables = format!("{{a: [{}], b: [{}]}}", levels(0), levels(0));
    let shown = refused(&command(&variables, &["a", "b"], "exclude: [{when: a + b > 1990}]\n"));
    assert!(
        shown.contains("the grid has 2000000 cells, and at most 10000")
            && shown.contains("max_cells: 2000000"),
        "{shown}"
    );
    let campaign =
        good(&command(&variables, &["a", "b"], "max_cells: 2000000\nexclude: [{when: a > 990}]\n"));
    assert_eq!(campaign.variables["b"].len(), 1000);
}

#[test]
fn the_control_measured_again_is_an_arm_of_its_own_and_no_complaint() {
    let campaign =
        good(&format!("{PACKETS}aa: true\n").replace("  set: {batch", "  name: old\n  set: {batch"));
    let names: Vec<(&str, ArmKind)> = campaign.arms.iter().map(|arm| (arm.name.as_str(), arm.kind)).collect();
    let wanted = [("old", ArmKind::Control), ("one", ArmKind::Treatment), ("old-again", ArmKind::Twin)];
    assert_eq!(names, wanted);
    assert_eq!(campaign.arms[2].settings, campaign.arms[0].settings);
    assert_eq!(good(&format!("{PACKETS}aa: false\n")).arms.len(), 2);
    let taken = refused(&format!("{PACKETS}aa: true\n").replace("name: one", "name: control-again"));
    assert!(taken.contains("the A/A arm is called `control-again`, and so is another arm"), "{taken}");
}

#[test]
fn a_response_has_its_scale_and_a_margin_on_it() {
    use crate::model::scale::Scale;
    let text = |of: &str| format!("{PACKETS}responses: [{{name: tx_rate, {of}}}]\n");
    let read = |of: &str| {
        let response = good(&text(of)).responses.remove(0);
        (response.scale, response.margin)
    };
    assert_eq!(read("scale: linear, margin: 2500.5"), (Scale::Linear, Some(2500.5)));
    assert_eq!(read("scale: log, margin: 2%"), (Scale::Log, Some(0.02)));
    assert_eq!(read("margin: 2%"), (Scale::Log, Some(0.02)));
    assert!(refused(&text("scale: linear, margin: 2%")).contains("in the unit of the response"));
    assert!(refused(&text("margin: 2500")).contains("a percentage"));
    let until = "blocks: {until: {halfwidth: 2%, most: 20}}\n";
    let both = refused(&(text("scale: linear") + until));
    assert!(both.contains("`tx_rate` is judged by differences"), "{both}");
    let rule = good(&format!("{PACKETS}{until}")).blocks.until.expect("a rule");
    assert_eq!((rule.of.as_str(), rule.halfwidth, rule.most), ("tx_rate", 0.02, 20));
}
