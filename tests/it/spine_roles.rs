//! The order in which roles start, and what of them is asked to end, against a stand-in lab.

use fieldtrial::conduct::{Asked, Ended, Stop};
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::model::cell::CellId;
use fieldtrial::model::job::End;
use fieldtrial::model::outcome::{Fate, RunOutcome};

use crate::spine::{StandIn, TWO_ARMS, fate, outcomes, plan, report, session, words};

#[test]
fn a_missing_program_costs_one_check_and_no_run() {
    // Case E08.
    let plan = plan(TWO_ARMS);
    let mut lab = StandIn::new(|_, spec, _| {
        let mut report = report(spec, &words(spec)[0], "same");
        if words(spec)[0] == "new" {
            report.end = End::NotStarted("no such program: new".into());
        }
        Ok(report)
    });
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert_eq!(fate(&evidence, "/new"), Fate::Refused);
    assert!(evidence.cells[&CellId("/new".into())].reason.as_ref().unwrap().contains("no such program"));
    assert_eq!(lab.log.iter().filter(|l| l.contains("new")).count(), 1);
}

#[test]
fn our_deadline_is_a_timeout_and_a_status_of_124_is_a_failure() {
    // Case E03, and T07: the limit is never a result.
    let plan = plan(TWO_ARMS);
    let mut lab = StandIn::new(|_, spec, job| {
        let mut report = report(spec, &words(spec)[0], "same");
        match (job > 2, words(spec)[0].as_str()) {
            (true, "old") => report.end = End::TimedOut,
            (true, _) => report.end = End::Exited(124),
            _ => {}
        }
        Ok(report)
    });
    let mut evidence = Evidence::default();
    assert_eq!(session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No), Ended::Complete);
    let outcomes = outcomes(&evidence);
    assert_eq!(outcomes[&("/control".into(), 1, 1)], RunOutcome::TimedOut);
    assert_eq!(outcomes[&("/new".into(), 1, 1)], RunOutcome::Failed);
    let row = &evidence.runs[0].note;
    assert!(row.reason.as_ref().unwrap().contains("still running after 60 s"), "{row:?}");
    assert!(row.values.contains_key("wall_time"), "what had been observed is kept");
}

/// What is done in the proof of a campaign of one cell with these roles, without hosts and arguments.
fn proof_of(roles: &str) -> Vec<String> {
    let text = format!(
        "campaign: c\nquestion: q?\nhosts: h.yaml\npilot: true\ncontrol: {{}}\nworkload:\n  roles:\n{roles}\
         blocks: {{count: 2, order: forward}}\n"
    );
    let plan = plan(&text);
    let mut lab = StandIn::new(|_, spec, _| Ok(report(spec, "p", "same")));
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert_eq!(fate(&evidence, "/control"), Fate::Live, "{:?}", evidence.cells);
    let one = lab.log.len() / 3;
    let starts = |log: &[String]| log.iter().filter(|l| !l.starts_with("clear")).cloned().collect::<Vec<_>>();
    let (proof, run) = lab.log.split_at(one);
    assert_eq!(starts(proof), starts(&run[..one]), "a run does what its proof does");
    lab.log[..one].to_vec()
}

#[test]
fn roles_start_rank_by_rank_and_the_longest_lived_ends_last() {
    let log = proof_of(
        "    client: {on: h2, after: [proxy], run: [client]}
    server: {on: h1, tool: [server], ends: {with: proxy}}
    proxy: {on: h1, after: server, tool: [proxy], ends: {with: client, signal: INT}}
",
    );
    let expected = ["start h1 server", "start h1 proxy", "start h2 client", "signal 2", "signal 15"];
    assert_eq!(log, expected);
}

#[test]
fn phases_come_in_their_order_and_the_window_opens_when_all_are_prepared() {
    let log = proof_of(
        "    b: {on: h1, run: [b], setup: {run: [make-b]}, warmup: 2, teardown: {run: [clean-b]}}
    a: {on: h2, run: [a], warmup: {run: [warm-a]}, invocations: 2, teardown: {run: [clean-a]}}
",
    );
    let starts =
        ["h1 make-b", "h2 warm-a", "h1 b", "h1 b", "h1 b", "h2 a", "h2 a", "h2 clean-a", "h1 clean-b"];
    let mut expected = starts.map(|start| format!("start {start}")).to_vec();
    expected.extend(["clear 1".to_owned(), "clear 2".to_owned()]);
    assert_eq!(log, expected);
}

#[test]
fn a_setup_that_is_part_of_each_request_comes_before_every_invocation() {
    let log =
        proof_of("    a: {on: h1, run: [a], setup: {run: [make], as: each}, warmup: 1, invocations: 2}\n");
    assert_eq!(log[..6], ["make", "a", "make", "a", "make", "a"].map(|word| format!("start h1 {word}")));
}

#[test]
fn teardown_comes_whatever_became_of_the_work() {
    let text = TWO_ARMS.replace("on: h1,", "on: h1, setup: {run: [make]}, teardown: {run: [clean]},");
    let plan = plan(&text);
    let mut lab = StandIn::new(|_, spec, _| {
        let mut report = report(spec, &words(spec)[0], "same");
        if words(spec)[0] == "new" {
            report.end = End::Exited(3);
        }
        Ok(report)
    });
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert_eq!(fate(&evidence, "/new"), Fate::Refused);
    let of_new = lab.log.iter().position(|line| line == "start h1 new scan").unwrap();
    assert_eq!(lab.log[of_new + 1], "start h1 clean", "{:?}", lab.log);
}

#[test]
fn programs_are_built_and_brought_once_before_anything_is_proven() {
    // This folder's own files stand for artifacts; the stand-in keeps none of their bytes.
    let text = "
campaign: c
question: q?
hosts: h.yaml
pilot: true
variables: {host: [h1, h2]}
control: {set: {file: Cargo.toml, flag: a}}
treatments: [{name: other, change: {file: README.md}}, {name: built, change: {flag: b}}]
workload:
  roles:
    server:
      on: h1
      build: {run: [make, '${flag}']}
      artifact: {build: 'out/*'}
      tool: [server, '${artifact}']
      ends: {with: client}
    client: {on: '${host}', after: server, run: [sh, '${artifact}'], artifact: {path: '${file}'}}
blocks: {count: 2, order: forward}
";
    let plan = plan(text);
    let mut lab = StandIn::new(|_, spec, _| Ok(report(spec, "p", "same")));
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert!(evidence.cells.values().all(|cell| cell.fate == Fate::Live), "{:?}", evidence.cells);
    let first_work = lab.log.iter().position(|line| line.starts_with("start h1 server")).unwrap();
    let before: Vec<&str> = lab.log[..first_work].iter().map(String::as_str).collect();
    let expected = [
        "start h1 make a",
        "keep out/* of 1",
        "clear 1",
        "upload Cargo.toml to h1",
        "upload README.md to h1",
        "start h1 make b",
        "keep out/* of 2",
        "clear 2",
        "upload Cargo.toml to h2",
        "upload README.md to h2",
    ];
    assert_eq!(before, expected);
    let after = &lab.log[first_work..];
    assert!(!after.iter().any(|line| line.contains("make") || line.starts_with("upload")), "{after:?}");
    assert!(after[0].starts_with("start h1 server /store/1/out/*"), "{after:?}");
    assert_eq!((evidence.builds.len(), evidence.artifacts.len()), (2, 6));
}
