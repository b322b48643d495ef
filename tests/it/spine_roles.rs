//! The order in which roles start, and what of them is asked to end, against a stand-in lab.

use fieldtrial::conduct::{Asked, Stop};
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::model::cell::CellId;
use fieldtrial::model::job::End;
use fieldtrial::model::outcome::Fate;

use crate::spine::{StandIn, TWO_ARMS, fate, plan, report, session, words};

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
    assert_eq!(lab.log[..one], lab.log[one..2 * one], "a run does what its proof does");
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
