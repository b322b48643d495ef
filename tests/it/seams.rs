//! Where the spine meets what hosts and people do at the wrong moment.

use fieldtrial::conduct::{Asked, Ended, Stop, Watch};
use fieldtrial::evidence::event::RunNote;
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::model::cell::{CellId, RunKey};
use fieldtrial::model::job::End;
use fieldtrial::model::outcome::{Fate, RunOutcome};
use serde_json::json;

use crate::spine::{
    HOSTS, PACKET_HOSTS, PACKETS, StandIn, TWO_ARMS, fate, outcomes, packet_report, plan, plan_on, report,
    session, watched, words,
};

/// Asks to stop once a run has ended.
struct OneRun(Stop);
impl Watch for OneRun {
    fn proving(&mut self, _cells: u64) {}
    fn proven(&mut self, _cell: &CellId, _refusal: Option<&str>) {}
    fn measuring(&mut self, _runs: u64) {}
    fn run_began(&mut self, _run: &RunKey) {}
    fn run_ended(&mut self, _note: &RunNote) {
        self.0 = Stop::AfterRun;
    }
    fn stop(&self) -> Stop {
        self.0
    }
}

#[test]
fn a_host_lost_while_a_failed_pass_is_being_ended_ends_the_session_at_once() {
    let plan = plan_on(&format!("{PACKETS}timeout: 7s\n"), PACKET_HOSTS);
    let mut lab = StandIn::new(|_, spec, job| {
        let mut report = packet_report(spec, 100, 100);
        if job == 8 {
            report.end = End::Signalled(9);
        }
        Ok(report)
    });
    lab.lost_on_stop = Some("rx".into());
    let mut evidence = Evidence::default();
    let ended = session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert!(matches!(&ended, Ended::Lost(why) if why.contains("cable")), "not after a long wait: {ended:?}");
    assert_eq!(evidence.runs[0].note.outcome, RunOutcome::Interrupted);
}

#[test]
fn a_request_to_stop_ends_a_rerun_after_the_run_under_way() {
    let plan = plan(TWO_ARMS);
    let mut lab = StandIn::new(|_, spec, _| Ok(report(spec, &words(spec)[0], "same")));
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    let runs = evidence.runs.len();
    let ended = watched(&plan, &mut lab, &mut evidence, Asked::Again(1), &mut OneRun(Stop::No));
    assert_eq!((ended, evidence.runs.len()), (Ended::Stopped, runs + 1));
}

#[test]
fn a_rerun_of_a_cell_that_turns_out_refused_does_not_measure_its_control_alone() {
    let plan = plan(TWO_ARMS);
    let mut lab = StandIn::new(|_, spec, _| {
        let tool = &words(spec)[0];
        Ok(report(spec, tool, if tool == "new" { "half" } else { "whole" }))
    });
    // Stopped before any cell was decided.
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::AfterRun);
    session(&plan, &mut lab, &mut evidence, Asked::Again(1), Stop::No);
    assert_eq!(fate(&evidence, "/new"), Fate::Refused);
    assert!(evidence.runs.is_empty() && evidence.blocks.is_empty(), "{:?}", outcomes(&evidence));
}

#[test]
fn a_counter_that_went_backward_accuses_no_frame_of_not_leaving() {
    let plan = plan_on(PACKETS, PACKET_HOSTS);
    let mut lab = StandIn::new(|_, spec, _| {
        let mut report = packet_report(spec, 100, 100);
        if let Some(result) = report.result.as_mut().filter(|_| words(spec)[0] == "packet-send") {
            result["left_total"] = json!(40);
            result["counter_backward"] = json!(true);
        }
        Ok(report)
    });
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert_eq!(evidence.sums().by_outcome["measured"], 2, "the receiver saw every frame exactly once");
    assert!(evidence.runs[0].note.absent["tx_rate"].contains("backward"));
}

#[test]
fn a_timed_run_whose_tool_gave_no_result_is_not_measured() {
    let plan = plan_on(&PACKETS.replace("accept: [zero_loss]\n", ""), PACKET_HOSTS);
    let mut lab = StandIn::new(|_, spec, job| {
        let mut report = packet_report(spec, 100, 100);
        if job == 5 {
            report.result = None;
        }
        Ok(report)
    });
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert_eq!(evidence.runs[0].note.outcome, RunOutcome::Rejected);
    assert_eq!(evidence.runs[1].note.outcome, RunOutcome::Measured);
}

#[test]
fn a_requirement_called_like_a_port_still_holds() {
    let hosts = HOSTS.replace("h1: {ssh: h1}", "h1: {ssh: h1, require: {port speed: 'cpu_count >= 2'}}");
    let plan = plan_on(TWO_ARMS, &hosts);
    let mut lab = StandIn::new(|_, _, _| panic!("its host tells no cpu_count, so nothing is started"));
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert_eq!(evidence.sums().refused, 2);
}

#[test]
fn a_request_to_stop_ends_before_the_next_job() {
    let plan = plan(TWO_ARMS);
    let mut lab = StandIn::new(|_, spec, _| Ok(report(spec, &words(spec)[0], "same")));
    let mut evidence = Evidence::default();
    assert_eq!(session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::AfterRun), Ended::Stopped);
    assert!(lab.log.is_empty());
    assert!(!evidence.complete);
}
