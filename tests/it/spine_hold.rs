//! What the spine does with held settings and moving facts, against hosts that only remember.

use std::collections::{BTreeMap, VecDeque};

use fieldtrial::conduct::lab::LabError;
use fieldtrial::conduct::{Asked, Ended, Stop, Watch};
use fieldtrial::evidence::event::RunNote;
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::model::cell::{CellId, RunKey};
use fieldtrial::model::change::{Applications, Applied, PutBack, Unfit, Wanted};
use fieldtrial::model::facts::Facts;
use fieldtrial::model::outcome::{Fate, RunOutcome};
use serde_json::json;

use crate::spine::{StandIn, TWO_ARMS, fate, outcomes, plan, report, session, words};

/// Watches without a word.
pub struct Silent(pub Stop);
impl Watch for Silent {
    fn proving(&mut self, _cells: u64) {}
    fn proven(&mut self, _cell: &CellId, _refusal: Option<&str>) {}
    fn measuring(&mut self, _runs: u64) {}
    fn run_began(&mut self, _run: &RunKey) {}
    fn run_ended(&mut self, _note: &RunNote) {}
    fn stop(&self) -> Stop {
        self.0
    }
}

/// Settings of hosts that begin as `?`, and moving facts that are told one after the other.
#[derive(Default)]
pub struct StandInHosts {
    settings: BTreeMap<(String, String), String>,
    /// A value that no host takes, from this application on.
    pub refuses: Option<(String, usize)>,
    applications: usize,
    /// Host and path of what was uploaded.
    artifacts: Vec<(String, String)>,
    /// What cannot be put back.
    pub stuck: Vec<String>,
    /// Facts of each look; the last one stays.
    pub looks: VecDeque<Facts>,
}

impl StandInHosts {
    pub fn apply(
        &mut self,
        log: &mut Vec<String>,
        host: &str,
        settings: &[Wanted],
    ) -> Result<Applications, LabError> {
        self.applications += 1;
        let mut done = Applications::default();
        for Wanted { setting, interface, value } in settings {
            if self.refuses.as_ref().is_some_and(|(bad, from)| bad == value && self.applications >= *from) {
                let why = "too much".to_owned();
                done.refused = Some(Unfit { setting: setting.clone(), interface: interface.clone(), why });
                break;
            }
            let place = (host.to_owned(), setting.clone());
            let was = self.settings.insert(place, value.clone()).unwrap_or("?".into());
            if was != *value {
                log.push(format!("set {host} {setting} {value}"));
            }
            let applied =
                Applied { setting: setting.clone(), interface: interface.clone(), was, now: value.clone() };
            done.applied.push(applied);
        }
        Ok(done)
    }

    pub fn have(&self, host: &str, sha256: &str, name: &str) -> Result<Option<String>, LabError> {
        let path = format!("/store/{sha256}/{name}");
        Ok(self.artifacts.contains(&(host.to_owned(), path.clone())).then_some(path))
    }

    pub fn upload(
        &mut self,
        log: &mut Vec<String>,
        host: &str,
        sha256: &str,
        name: &str,
    ) -> Result<String, LabError> {
        log.push(format!("upload {name} to {host}"));
        let path = format!("/store/{sha256}/{name}");
        self.artifacts.push((host.to_owned(), path.clone()));
        Ok(path)
    }

    pub fn put_back(&mut self, log: &mut Vec<String>, host: &str) -> Result<PutBack, LabError> {
        log.push(format!("put back {host}"));
        self.settings.retain(|(known, _), _| known != host);
        Ok(PutBack { stuck: self.stuck.clone(), ..PutBack::default() })
    }

    pub fn look(&mut self, _host: &str) -> Facts {
        match self.looks.len() {
            0 => Facts::new(),
            1 => self.looks[0].clone(),
            _ => self.looks.pop_front().unwrap_or_default(),
        }
    }
}

fn held(hold: &str) -> String {
    TWO_ARMS.replace("workload:", &format!("hold: {hold}\nworkload:"))
}

fn quiet_lab() -> StandIn {
    StandIn::new(|_, spec, _| Ok(report(spec, &words(spec)[0], "same")))
}

#[test]
fn a_held_setting_is_there_before_the_first_proof_and_put_back_after_the_last_run() {
    let plan = plan(&held("{governor: performance}"));
    let (mut lab, mut evidence) = (quiet_lab(), Evidence::default());
    assert_eq!(session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No), Ended::Complete);
    assert_eq!(lab.log.first().unwrap(), "set h1 governor performance");
    assert_eq!(lab.log.last().unwrap(), "put back h1");
    let sets = lab.log.iter().filter(|line| line.starts_with("set ")).count();
    assert_eq!((sets, evidence.settings.len()), (1, 1), "once, and noted once: {:?}", lab.log);
    assert_eq!(evidence.settings[0].1.applied.was, "?");
}

#[test]
fn a_setting_that_a_treatment_changes_is_brought_about_for_each_cell() {
    let words = held("{governor: '${tool}'}").replace("'${tool}', scan", "work, scan");
    let plan = plan(&words);
    let (mut lab, mut evidence) = (quiet_lab(), Evidence::default());
    assert_eq!(session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No), Ended::Complete);
    let both = ["set h1 governor old", "start h1 work scan", "set h1 governor new", "start h1 work scan"];
    let expected: Vec<&str> = both.iter().cycle().take(12).copied().chain(["put back h1"]).collect();
    assert_eq!(lab.log, expected, "two proofs and two blocks");
}

#[test]
fn what_is_hard_to_change_is_set_once_for_its_cells_and_again_for_every_block() {
    let text = held("{governor: '${speed}'}")
        .replace(
            "control:",
            "variables: {speed: [slow, fast], size: [a, b]}\nhard_to_change: [speed]\ncontrol:",
        )
        .replace("scan]", "'${size}']")
        .replace("forward", "mirrored");
    let plan = plan(&text);
    let (mut lab, mut evidence) = (quiet_lab(), Evidence::default());
    assert_eq!(session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No), Ended::Complete);
    let timed: Vec<&String> = lab.log.iter().skip_while(|line| !line.starts_with("put back")).collect();
    let kinds: String = timed.iter().map(|line| &line[..2]).collect::<Vec<_>>().join(" ");
    let block = "pu se st st st st se st st st st";
    assert_eq!(kinds, format!("{block} {block} pu"), "{timed:?}");
    let levels: Vec<&str> = timed
        .iter()
        .filter(|line| line.starts_with("set"))
        .filter_map(|line| line.rsplit(' ').next())
        .collect();
    assert_eq!((levels[0], levels[1]), (levels[3], levels[2]), "the second block runs backwards: {levels:?}");
}

#[test]
fn a_host_that_does_not_take_a_setting_refuses_the_cells_that_need_it() {
    let plan = plan(&held("{governor: '${tool}'}"));
    let (mut lab, mut evidence) = (quiet_lab(), Evidence::default());
    lab.hosts.refuses = Some(("new".into(), 0));
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert_eq!((fate(&evidence, "/control"), fate(&evidence, "/new")), (Fate::Live, Fate::Refused));
    let note = &evidence.cells[&CellId("/new".into())];
    assert_eq!(note.stage.as_deref(), Some("host"));
    let reason = note.reason.as_deref().unwrap();
    assert_eq!(reason, "a host cannot be prepared: h1: governor: too much");
    assert_eq!(outcomes(&evidence).len(), 2, "the control alone is measured");
}

#[test]
fn a_setting_lost_between_proof_and_run_fails_the_run_and_names_the_reason() {
    let plan = plan(&held("{governor: '${tool}'}"));
    let (mut lab, mut evidence) = (quiet_lab(), Evidence::default());
    lab.hosts.refuses = Some(("new".into(), 3));
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    let failed: Vec<_> = evidence.runs.iter().filter(|r| r.note.outcome == RunOutcome::Failed).collect();
    assert_eq!(failed.len(), 2);
    assert!(failed[0].note.reason.as_deref().unwrap().ends_with("governor: too much"));
}

#[test]
fn hosts_are_put_back_however_a_session_ends_and_what_is_stuck_is_kept() {
    let plan = plan(&held("{governor: performance}"));
    let (mut lab, mut evidence) = (quiet_lab(), Evidence::default());
    lab.hosts.stuck = vec!["governor was powersave: it burns".into()];
    let ended = session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::AfterRun);
    assert_eq!(ended, Ended::Stopped);
    assert!(!lab.log.iter().any(|line| line.starts_with("put back")), "nothing was set yet: {:?}", lab.log);
    let mut seen = 0;
    let mut lab = StandIn::new(move |_, spec, _| {
        seen += 1;
        if seen > 1 {
            panic!("stopped before")
        }
        Ok(report(spec, "p", "same"))
    });
    lab.hosts.stuck = vec!["governor was powersave: it burns".into()];
    lab.hosts.refuses = Some(("performance".into(), 2));
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    assert_eq!(lab.log.last().unwrap(), "put back h1");
    assert_eq!(evidence.stuck()["h1"], ["governor was powersave: it burns".to_owned()]);
}

#[test]
fn a_fact_that_moves_between_blocks_is_an_event_and_a_caution() {
    let plan = plan(TWO_ARMS);
    let (mut lab, mut evidence) = (quiet_lab(), Evidence::default());
    let facts = |limit: u64, ports: serde_json::Value| {
        Facts::from([("freq_max_khz".to_owned(), json!(limit)), ("ports".to_owned(), ports)])
    };
    lab.hosts.looks = [
        facts(3000, json!({"port0": {"speed_mbps": 10000}})),
        facts(3000, json!({"port0": {"speed_mbps": 10000}})),
        facts(2000, json!({"port0": {}})),
    ]
    .into();
    session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    let told: Vec<String> = evidence
        .changes
        .iter()
        .map(|(_, c)| format!("{} {}: {} → {} after {}", c.host, c.fact, c.was, c.now, c.after))
        .collect();
    assert_eq!(told, ["h1 freq_max_khz: 3000 → 2000 after 2", "h1 port0.speed_mbps: 10000 → absent after 2"]);
    let findings = fieldtrial::analysis::judge::judge(&evidence);
    let caution = findings.cautions.iter().find(|c| c.contains("freq_max_khz")).expect("a caution");
    assert!(caution.contains("3000") && caution.contains("2000") && caution.contains("block 2"), "{caution}");
}
