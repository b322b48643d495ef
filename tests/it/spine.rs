//! The spine against a stand-in lab without clock or network: the order of side effects, and what becomes of every run.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::Duration;

use fieldtrial::analysis::stopping;
use fieldtrial::campaign;
use fieldtrial::conduct::lab::{JobId, Lab, LabError, LabEvent};
use fieldtrial::conduct::{Asked, Ended, Preparation, Stop, Trial, Watch};
use fieldtrial::design::plan::Plan;
use fieldtrial::evidence::event::{Event, Session, SessionKind};
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::inventory;
use fieldtrial::model::cell::{CellId, RunKey};
use fieldtrial::model::change::{Applications, PutBack, Wanted};
use fieldtrial::model::facts::Facts;
use fieldtrial::model::job::{Captured, End, FileId, JobReport, JobSpec, Program};
use fieldtrial::model::outcome::{Fate, RunOutcome};
use fieldtrial::yaml::Source;
use serde_json::json;

use crate::spine_hold::{Silent, StandInHosts};

type Act = Box<dyn FnMut(&str, &JobSpec, u64) -> Result<JobReport, LabError>>;

/// Answers every job at once by the given act; keeps the order of everything.
pub struct StandIn {
    pub act: Act,
    next: u64,
    events: VecDeque<LabEvent>,
    /// Roles that end when they are told something.
    waiting: Vec<(JobId, JobReport)>,
    pub log: Vec<String>,
    pub hosts: StandInHosts,
    /// A host that is lost when anything is to be stopped.
    pub lost_on_stop: Option<String>,
}

impl StandIn {
    pub fn new(act: impl FnMut(&str, &JobSpec, u64) -> Result<JobReport, LabError> + 'static) -> StandIn {
        let (events, log) = (VecDeque::new(), vec![]);
        StandIn {
            act: Box::new(act),
            next: 0,
            events,
            waiting: vec![],
            log,
            hosts: StandInHosts::default(),
            lost_on_stop: None,
        }
    }

    fn end(&mut self, job: JobId, end: End) {
        if let Some(at) = self.waiting.iter().position(|(waiting, _)| *waiting == job) {
            let (job, report) = self.waiting.remove(at);
            self.events.push_back(LabEvent::Ended { job, report: Box::new(JobReport { end, ..report }) });
        }
    }
}

impl Lab for StandIn {
    fn start(&mut self, host: &str, spec: JobSpec) -> Result<JobId, LabError> {
        self.next += 1;
        let job = JobId(self.next);
        self.log.push(format!("start {host} {}", words(&spec).join(" ")));
        let report = (self.act)(host, &spec, self.next)?;
        let listens = spec.speaks_events && words(&spec)[0] != "packet-send";
        if listens && report.end == End::Exited(0) {
            self.events.push_back(LabEvent::Said { job, event: json!({"event": "ready"}) });
            self.waiting.push((job, report));
        } else {
            if let Some(why) = report.result.as_ref().filter(|result| result["event"] == "fault") {
                self.events.push_back(LabEvent::Said { job, event: why.clone() });
            }
            self.events.push_back(LabEvent::Ended { job, report: Box::new(report) });
        }
        Ok(job)
    }
    fn tell(&mut self, job: JobId, line: &str) -> Result<(), LabError> {
        self.log.push(format!("tell {line}"));
        self.end(job, End::Exited(0));
        Ok(())
    }
    fn stop(&mut self, job: JobId) -> Result<(), LabError> {
        self.log.push("stop".into());
        if let Some(host) = self.lost_on_stop.take() {
            self.events.push_back(LabEvent::Lost { host: host.clone(), why: "cable".into() });
            return Err(LabError::Lost { host, why: "cable".into() });
        }
        self.end(job, End::Stopped);
        Ok(())
    }
    fn signal(&mut self, job: JobId, signal: i32) -> Result<(), LabError> {
        self.log.push(format!("signal {signal}"));
        self.end(job, End::Signalled(signal));
        Ok(())
    }
    fn next(&mut self, _wait: Duration) -> Option<LabEvent> {
        self.events.pop_front()
    }
    fn heads(&mut self, _job: JobId, _most: usize) -> Result<(Vec<u8>, Vec<u8>), LabError> {
        Ok((b"some output\n".to_vec(), vec![]))
    }
    fn file(&mut self, _job: JobId, _number: u32, _most: usize) -> Result<Vec<u8>, LabError> {
        Ok(vec![])
    }
    fn forget(&mut self, _job: JobId) {}
    fn have(&mut self, host: &str, sha256: &str, name: &str) -> Result<Option<String>, LabError> {
        self.hosts.have(host, sha256, name)
    }
    fn upload(&mut self, host: &str, _: &Path, sha256: &str, name: &str) -> Result<String, LabError> {
        self.hosts.upload(&mut self.log, host, sha256, name)
    }
    fn keep(&mut self, job: JobId, _: Option<&str>, pattern: &str) -> Result<FileId, LabError> {
        self.log.push(format!("keep {pattern} of {}", job.0));
        Ok(FileId { path: format!("/store/{}/{pattern}", job.0), bytes: 1, sha256: format!("{:064}", job.0) })
    }
    fn clear(&mut self, job: JobId) -> Result<(), LabError> {
        self.log.push(format!("clear {}", job.0));
        Ok(())
    }
    fn apply(&mut self, host: &str, settings: &[Wanted]) -> Result<Applications, LabError> {
        self.hosts.apply(&mut self.log, host, settings)
    }
    fn put_back(&mut self, host: &str) -> Result<PutBack, LabError> {
        self.hosts.put_back(&mut self.log, host)
    }
    fn look(&mut self, host: &str, _ports: &BTreeMap<String, String>) -> Result<Facts, LabError> {
        Ok(self.hosts.look(host))
    }
}

pub fn words(spec: &JobSpec) -> Vec<String> {
    match &spec.program {
        Program::Argv(words) | Program::Tool(words) => words.clone(),
        Program::Shell(text) => vec![text.clone()],
    }
}

pub fn report(spec: &JobSpec, program: &str, output: &str) -> JobReport {
    let captured =
        Captured { bytes: output.len() as u64, sha256: output.into(), kept: 1, ..Captured::default() };
    JobReport {
        argv: words(spec),
        program: Some(FileId { path: "/p".into(), bytes: 1, sha256: program.into() }),
        inputs: vec![],
        end: End::Exited(0),
        wall_ns: 1_000_000,
        user_ns: Some(1),
        system_ns: Some(1),
        peak_rss_bytes: Some(1),
        read_bytes: Some(1),
        written_bytes: Some(1),
        stdout: captured,
        stderr: Captured::default(),
        result: None,
        left_behind: 0,
        isolation: "pid-namespace".into(),
        figures: Default::default(),
        cpus: None,
        cache: None,
        files: vec![],
    }
}

pub const HOSTS: &str = "hosts:\n  h1: {ssh: h1}\n  h2: {ssh: h2}\n";

pub fn plan(campaign_text: &str) -> Plan {
    plan_on(campaign_text, HOSTS)
}

pub fn plan_on(campaign_text: &str, hosts_text: &str) -> Plan {
    let parsed = campaign::parse(&Source::new("c.yaml", campaign_text));
    let hosts = inventory::parse(&Source::new("h.yaml", hosts_text));
    let campaign = parsed.campaign.unwrap_or_else(|| panic!("{:?}", parsed.complaints));
    Plan::new(campaign, hosts.hosts.unwrap_or_else(|| panic!("{:?}", hosts.complaints)), &BTreeMap::new())
}

/// One session: its events are folded into `evidence`.
pub fn session(plan: &Plan, lab: &mut StandIn, evidence: &mut Evidence, asked: Asked, stop: Stop) -> Ended {
    watched(plan, lab, evidence, asked, &mut Silent(stop))
}

pub fn watched(
    plan: &Plan,
    lab: &mut StandIn,
    evidence: &mut Evidence,
    asked: Asked,
    watch: &mut dyn Watch,
) -> Ended {
    let facts = ["h1", "h2", "tx", "rx"]
        .map(|h| (h.to_owned(), BTreeMap::from([("ports".to_owned(), json!({"port0": {"present": true}}))])))
        .into();
    let before = evidence.clone();
    let evidence = RefCell::new(evidence);
    let enough = || stopping::enough(&evidence.borrow());
    let mut clock = 0;
    let mut note = |event: Event| {
        clock += 1;
        evidence.borrow_mut().apply(&format!("t{clock}"), event);
        Ok(())
    };
    let kind = match asked {
        Asked::Rest if before.sessions.is_empty() => SessionKind::Run,
        Asked::Rest => SessionKind::Resume,
        Asked::Again(_) => SessionKind::Rerun,
    };
    let started = Session { kind, command: vec![], version: "0".into(), tool_sha256: "0".into() };
    note(Event::Session(started)).unwrap();
    let preparation = Preparation::default();
    let (note, before, enough) = (&mut note, &before, &enough);
    let trial = Trial { plan, facts: &facts, lab, watch, note, before, enough, preparation };
    trial.conduct(asked).unwrap()
}

pub fn outcomes(evidence: &Evidence) -> BTreeMap<(String, u32, u32), RunOutcome> {
    let key = |r: &RunKey| (r.cell.0.clone(), r.block, r.attempt);
    evidence.runs.iter().map(|r| (key(&r.note.run), r.note.outcome)).collect()
}

pub fn fate(evidence: &Evidence, cell: &str) -> Fate {
    evidence.cells[&CellId(cell.into())].fate
}

pub const TWO_ARMS: &str = "
campaign: c
question: q?
hosts: h.yaml
pilot: true
control: {set: {tool: old}}
treatments: [{name: new, change: {tool: new}}]
workload: {command: {on: h1, run: ['${tool}', scan]}}
blocks: {count: 2, order: forward}
";

#[test]
fn every_proof_comes_before_the_first_timed_run_and_the_control_first() {
    let plan = plan(TWO_ARMS);
    let mut lab = StandIn::new(|_, spec, _| Ok(report(spec, &words(spec)[0], "same")));
    let mut evidence = Evidence::default();
    assert_eq!(session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No), Ended::Complete);
    assert_eq!(
        lab.log,
        ["old", "new", "old", "new", "old", "new"].map(|tool| format!("start h1 {tool} scan")),
        "two proofs, then two blocks"
    );
    assert_eq!(evidence.proofs.len(), 2);
    let sums = evidence.sums();
    assert_eq!((sums.live, sums.runs, sums.by_outcome["measured"]), (2, 4, 4));
}

#[test]
fn an_arm_with_another_answer_is_refused_and_never_timed() {
    let plan = plan(TWO_ARMS);
    let mut lab = StandIn::new(|_, spec, _| {
        let tool = &words(spec)[0];
        Ok(report(spec, tool, if tool == "new" { "half" } else { "whole" }))
    });
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert_eq!(fate(&evidence, "/new"), Fate::Refused);
    let note = &evidence.cells[&CellId("/new".into())];
    assert_eq!(note.stage.as_deref(), Some("proof"));
    assert!(
        note.evidence.iter().any(|l| l.contains("output sha256: the control has whole, this has half")),
        "{note:?}"
    );
    assert_eq!(lab.log.iter().filter(|l| l.contains("new")).count(), 1, "its proof and nothing else");
    assert_eq!(evidence.sums().by_outcome["measured"], 2, "the control still runs");
}

#[test]
fn the_same_command_doing_half_the_work_on_another_host_is_refused() {
    let text = TWO_ARMS
        .replace("on: h1", "on: '${host}'")
        .replace("control:", "variables: {host: [h1, h2]}\ncontrol:");
    let plan = plan(&text);
    let mut lab = StandIn::new(|host, spec, _| {
        let program = format!("{}{}", words(spec)[0], if host == "h2" { " tampered" } else { "" });
        Ok(report(spec, &program, "same output"))
    });
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert_eq!(fate(&evidence, "host=h1/control"), Fate::Live);
    assert_eq!(fate(&evidence, "host=h2/control"), Fate::Refused);
    assert_eq!(fate(&evidence, "host=h2/new"), Fate::Refused);
    let reason = evidence.cells[&CellId("host=h2/control".into())].reason.clone().unwrap();
    assert!(reason.contains("another program than in host=h1/control"), "{reason}");
}

#[test]
fn a_run_that_answers_otherwise_than_its_proof_is_rejected_however_fast() {
    let plan = plan(TWO_ARMS);
    let mut lab = StandIn::new(|_, spec, job| {
        Ok(report(spec, &words(spec)[0], if job == 4 { "wrong" } else { "same" }))
    });
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert_eq!(outcomes(&evidence)[&("/new".into(), 1, 1)], RunOutcome::Rejected);
    assert_eq!(evidence.sums().by_outcome["measured"], 3);
}

#[test]
fn nothing_is_added_to_a_record_when_the_work_is_no_longer_the_same() {
    let plan = plan(TWO_ARMS);
    let mut lab = StandIn::new(|_, spec, _| Ok(report(spec, &words(spec)[0], "same")));
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    let measured = evidence.runs.len();
    for (program, answer, said) in [("rebuilt", "same", "another one"), ("", "new", "another answer")] {
        let mut lab = StandIn::new(|_, spec, _| {
            let own = words(spec)[0].clone();
            Ok(report(spec, if program.is_empty() { &own } else { program }, answer))
        });
        let ended = session(&plan, &mut lab, &mut evidence, Asked::Again(1), Stop::No);
        assert!(matches!(&ended, Ended::Changed(why) if why.contains(said)), "{ended:?}");
        assert_eq!(evidence.runs.len(), measured, "no run was made");
        assert!(evidence.complete, "the trial itself is as complete as before");
    }
    let mut lab = StandIn::new(|_, spec, _| Ok(report(spec, &words(spec)[0], "same")));
    assert_eq!(session(&plan, &mut lab, &mut evidence, Asked::Again(1), Stop::No), Ended::Complete);
    assert_eq!(evidence.runs.len(), measured + 2, "as it was, it is measured again");
}

#[test]
fn a_lost_host_leaves_an_interrupted_run_and_resume_runs_exactly_the_rest() {
    // Case U01: started is not finished.
    let plan = plan(TWO_ARMS);
    let mut lab = StandIn::new(|host, spec, job| {
        if job == 5 {
            return Err(LabError::Lost { host: host.into(), why: "cable".into() });
        }
        Ok(report(spec, &words(spec)[0], "same"))
    });
    let mut evidence = Evidence::default();
    assert!(matches!(session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No), Ended::Lost(_)));
    assert!(!evidence.complete);
    assert_eq!(outcomes(&evidence)[&("/control".into(), 2, 1)], RunOutcome::Interrupted);

    let mut lab = StandIn::new(|_, spec, _| Ok(report(spec, &words(spec)[0], "same")));
    assert_eq!(session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No), Ended::Complete);
    assert_eq!(lab.log.len(), 4, "two proofs again, then the two missing runs");
    assert_eq!(outcomes(&evidence)[&("/control".into(), 2, 2)], RunOutcome::Measured);
    let sums = evidence.sums();
    assert_eq!((sums.runs, sums.by_outcome["measured"], sums.added_attempts), (4, 4, 1));

    let mut lab = StandIn::new(|_, _, _| panic!("nothing is left to run"));
    assert_eq!(session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No), Ended::Complete);
}

#[test]
fn a_rerun_is_a_new_block_with_its_control_and_the_first_runs_stay() {
    let plan = plan(TWO_ARMS);
    let mut lab = StandIn::new(|_, spec, _| Ok(report(spec, &words(spec)[0], "same")));
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    let first = outcomes(&evidence);
    let cell = plan.find("/new").unwrap();
    session(&plan, &mut lab, &mut evidence, Asked::Again(cell), Stop::No);
    let after = outcomes(&evidence);
    assert!(first.iter().all(|(key, outcome)| after[key] == *outcome));
    let added: Vec<_> = after.keys().filter(|key| !first.contains_key(key)).collect();
    assert_eq!(added, [&("/control".to_owned(), 3, 1), &("/new".to_owned(), 3, 1)]);
    assert_eq!(evidence.blocks[&3].rerun_of, Some(CellId("/new".into())));
    let sums = evidence.sums();
    assert_eq!((sums.runs, sums.added_attempts), (4, 2), "added attempts are counted beside");
    assert!(evidence.complete);
}

pub const PACKETS: &str = "
campaign: p
question: q?
hosts: h.yaml
pilot: true
control: {set: {batch: 64}}
treatments: [{name: one, change: {batch: 1}}]
workload: {packets: {between: [tx.port0, rx.port0], frame_size: 64, batch: '${batch}', duration: 1s}}
verify: {frames: 100}
accept: [zero_loss]
blocks: {count: 1, order: forward}
";
pub const PACKET_HOSTS: &str = "
hosts:
  tx: {transport: netns, ports: {port0: {interface: a}}}
  rx: {transport: netns, ports: {port0: {interface: b}}}
links: [[tx.port0, rx.port0]]
";

/// A receiver that sees `seen` of `sent` frames.
pub fn packet_report(spec: &JobSpec, sent: u64, seen: u64) -> JobReport {
    let mut report = report(spec, "tool", "");
    let digest = words(spec).iter().any(|w| w == "--digest").then_some("d");
    report.result = Some(if words(spec)[0] == "nic-counters" {
        json!({"event": "result", "interface": "a", "kernel": {}, "driver": {}, "backward": [], "kernel_log": {"lines": []}})
    } else if words(spec)[0] == "packet-receive" {
        json!({"event": "result", "streams": {"0": {"received": seen, "intact": seen, "lost": sent - seen,
            "duplicated": 0, "reordered": 0, "corrupted": 0, "digest": digest}}, "foreign": 0, "kernel_drops": 0,
            "rx_rate": {"per_second": seen}, "buckets": []})
    } else {
        json!({"event": "result", "streams": {"0": {"handed": sent, "digest": digest}},
            "left": {"per_second": sent}, "handed": {"per_second": sent}, "buckets": [], "counter_backward": false})
    });
    report
}

#[test]
fn the_sender_starts_on_readiness_and_the_receiver_is_told_what_was_sent() {
    let plan = plan_on(PACKETS, PACKET_HOSTS);
    let mut lab = StandIn::new(|_, spec, _| Ok(packet_report(spec, 100, 100)));
    let mut evidence = Evidence::default();
    assert_eq!(session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No), Ended::Complete);
    assert!(lab.log[0].starts_with("start rx packet-receive"), "{:?}", lab.log);
    assert!(lab.log[1].starts_with("start tx packet-send"));
    assert_eq!(lab.log[2], r#"tell {"sent":{"0":100}}"#);
    assert!(lab.log[1].contains("--frames 100 --digest"), "the proof counts and digests");
    // Four proofs' jobs and two words, then the timed run: receiver, both counters, sender, three words.
    let timed: Vec<&str> = lab.log[6..10].iter().map(|line| line.split(" --").next().unwrap()).collect();
    let expected =
        ["start rx packet-receive", "start tx nic-counters", "start rx nic-counters", "start tx packet-send"];
    assert_eq!(timed, expected, "counters stand before the first frame, and after the sockets");
    assert!(lab.log[9].contains("--duration 1000ms"), "the timed run is timed: {:?}", lab.log);
    assert_eq!(lab.log[10..13].iter().filter(|line| line.starts_with("tell ")).count(), 3, "{:?}", lab.log);
    assert_eq!(evidence.sums().by_outcome["measured"], 2);
    assert_eq!(evidence.runs[0].note.values["tx_rate"], 100.0);
}

#[test]
fn one_lost_frame_rejects_the_run_and_keeps_its_numbers() {
    let plan = plan_on(PACKETS, PACKET_HOSTS);
    // Jobs 1 to 4 are the proofs; job 5 is the receiver of the first timed run, 8 its sender.
    let mut lab = StandIn::new(|_, spec, job| Ok(packet_report(spec, 100, if job == 5 { 99 } else { 100 })));
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    let row = &evidence.runs[0].note;
    assert_eq!(row.outcome, RunOutcome::Rejected);
    assert_eq!(row.values["lost"], 1.0);
    assert!(row.reason.as_ref().unwrap().contains("zero_loss"), "{row:?}");
    assert_eq!(evidence.runs[1].note.outcome, RunOutcome::Measured);
}

#[test]
fn a_link_that_loses_frames_in_the_proof_is_never_timed() {
    let plan = plan_on(PACKETS, PACKET_HOSTS);
    let mut lab = StandIn::new(|_, spec, _| Ok(packet_report(spec, 100, 99)));
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert_eq!(evidence.sums().refused, 2);
    assert!(evidence.runs.is_empty());
}

#[test]
fn whichever_role_dies_first_ends_the_other_and_names_itself() {
    let plan = plan_on(PACKETS, PACKET_HOSTS);
    let mut lab = StandIn::new(|_, spec, job| {
        let mut report = packet_report(spec, 100, 100);
        if job == 8 {
            report.end = End::Signalled(9);
        }
        Ok(report)
    });
    let mut evidence = Evidence::default();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    let row = &evidence.runs[0].note;
    assert_eq!(row.outcome, RunOutcome::Failed);
    assert!(row.reason.as_ref().unwrap().contains("send on tx: killed by signal 9"), "{row:?}");
    assert!(lab.log.iter().any(|l| l == "stop"), "the receiver is ended");
}
