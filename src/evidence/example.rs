//! Made-up evidence for tests, built through the same events that a journal holds.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::json;

use super::event::*;
use super::fold::Evidence;
use crate::model::arm::ArmKind;
use crate::model::cell::{CellId, RunKey};
use crate::model::job::{Captured, End, JobReport};
use crate::model::outcome::{Fate, RunOutcome};
use crate::model::response::{Better, Response};

/// A CSV text as its heading and its rows.
pub struct Table {
    heading: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn of(text: &str) -> Table {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let heading = reader.headers().expect("a heading").iter().map(str::to_owned).collect();
        let rows = reader.records().map(|r| r.expect("a row").iter().map(str::to_owned).collect()).collect();
        Table { heading, rows }
    }

    /// One field by the number of its row and the name of its column.
    pub fn at(&self, row: usize, column: &str) -> &str {
        let place = self.heading.iter().position(|name| name == column);
        &self.rows[row][place.unwrap_or_else(|| panic!("no column {column} in {:?}", self.heading))]
    }

    /// A whole column.
    pub fn column(&self, name: &str) -> Vec<&str> {
        (0..self.rows.len()).map(|row| self.at(row, name)).collect()
    }
}

/// A record under construction; every event gets a time one second after the one before.
pub struct Record {
    pub evidence: Evidence,
    /// What was pushed, in this order.
    pub events: Vec<Event>,
    seconds: u32,
}

/// A measured run with one metric, `wall_time`.
pub fn run(cell: &str, block: u32, wall_time: f64) -> RunNote {
    RunNote {
        run: RunKey { cell: CellId(cell.into()), block, attempt: 1 },
        position: 1,
        outcome: RunOutcome::Measured,
        reason: None,
        values: BTreeMap::from([("wall_time".to_owned(), wall_time)]),
        absent: BTreeMap::new(),
        samples: vec![],
        work: None,
        cautions: BTreeMap::new(),
        roles: vec![role("run", "h1", "/usr/bin/scan --fast corpus", End::Exited(0))],
        proof: None,
        elapsed_ns: 1_000_000_000,
    }
}

/// What a role did, with nothing remarkable about it.
pub fn role(role: &str, host: &str, command: &str, end: End) -> RoleNote {
    RoleNote {
        role: role.into(),
        host: host.into(),
        command: command.into(),
        report: JobReport {
            argv: vec!["/usr/bin/scan".into()],
            program: None,
            inputs: vec![],
            end,
            wall_ns: 1_000_000,
            user_ns: Some(500_000),
            system_ns: None,
            peak_rss_bytes: None,
            read_bytes: None,
            written_bytes: None,
            stdout: Captured::default(),
            stderr: Captured::default(),
            result: None,
            left_behind: 0,
            isolation: "pid-namespace".into(),
            figures: Default::default(),
            cpus: None,
            cache: None,
            files: vec![],
        },
        phase: Default::default(),
        stdout_head: String::new(),
        stderr_head: String::new(),
    }
}

/// A response in seconds, lower is better, with a margin of 2 %.
pub fn wall_time() -> Response {
    Response {
        name: "wall_time".into(),
        unit: "s".into(),
        better: Better::Lower,
        scale: Default::default(),
        margin: Some(0.02),
        primary: true,
    }
}

/// `k=v,k=v/arm`.
pub fn cell_id(levels: &[(&str, &str)], arm: &str) -> CellId {
    let text: Vec<String> = levels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    CellId(format!("{}/{arm}", text.join(",")))
}

impl Record {
    /// A record of `blocks` blocks with a control `old` and the given other arms, opened and with
    /// its first session begun on host h1, kernel 6.1.
    pub fn open(arms: &[(&str, ArmKind)], blocks: u32) -> Record {
        let mut arms: Vec<ArmNote> = arms
            .iter()
            .map(|(name, kind)| ArmNote {
                kind: *kind,
                name: (*name).into(),
                changes: IndexMap::from([("scan".to_owned(), (*name).to_owned())]),
                because: Some("one read less".into()),
            })
            .collect();
        arms.insert(
            0,
            ArmNote { kind: ArmKind::Control, name: "old".into(), changes: IndexMap::new(), because: None },
        );
        let opening = Opening {
            dead_ends_sha256: String::new(),
            reattempt: IndexMap::new(),
            record: "2026-11-30T10-00-00Z".into(),
            hosts_folder: "/lab".into(),
            campaign_folder: String::new(),
            campaign_sha256: String::new(),
            hosts_sha256: String::new(),
            campaign: "scan".into(),
            question: Some("Is the new scanner faster at the same matches?".into()),
            hypothesis: Some("At least 1.2x.".into()),
            pilot: false,
            workload: "command".into(),
            responses: vec![wall_time()],
            variables: IndexMap::from([("size".to_owned(), vec!["1".to_owned(), "8".to_owned()])]),
            hard_to_change: vec![],
            arms,
            accept: vec![],
            condition: String::new(),
            outputs_may_differ: false,
            values: IndexMap::new(),
            stamps: String::new(),
            blocks,
            order: "mirrored".into(),
            seed: 1,
            timeout_ms: 60_000,
            planned_cells: 0,
            until: None,
            planned_runs: 0,
            gate: Default::default(),
        };
        let mut record = Record { evidence: Evidence::default(), events: vec![], seconds: 0 };
        record.push(Event::Opened(Box::new(opening)));
        record.session(SessionKind::Run, "6.1", "aa11");
        record
    }

    /// Applies one event.
    pub fn push(&mut self, event: Event) {
        self.seconds += 1;
        let at = format!("2026-11-30T10:{:02}:{:02}Z", self.seconds / 60, self.seconds % 60);
        self.events.push(event.clone());
        self.evidence.apply(&at, event);
    }

    /// A session on host h1.
    pub fn session(&mut self, kind: SessionKind, kernel: &str, tool: &str) {
        let command = vec!["fieldtrial".into(), "run".into(), "scan.yaml".into()];
        self.push(Event::Session(Session {
            kind,
            command,
            version: "0.1.0".into(),
            tool_sha256: tool.into(),
        }));
        let facts = BTreeMap::from([
            ("kernel".to_owned(), json!(kernel)),
            ("cpu_count".to_owned(), json!(2)),
            ("load_1m".to_owned(), json!(0.01 * f64::from(self.seconds))),
            ("ports".to_owned(), json!({"p0": {"driver": "veth", "mtu": 1500}})),
        ]);
        self.push(Event::Host(HostNote {
            host: "h1".into(),
            transport: "local".into(),
            isolation: "pid-namespace".into(),
            lease: 1,
            facts,
        }));
    }

    /// Decides one cell; `against` is stage, reason and evidence where it is not live.
    pub fn cell(
        &mut self,
        levels: &[(&str, &str)],
        arm: &str,
        fate: Fate,
        against: Option<(&str, &str, &str)>,
    ) -> CellId {
        let cell = cell_id(levels, arm);
        let kind = self.evidence.opening.as_ref().and_then(|o| o.arms.iter().find(|a| a.name == arm));
        let kind = kind.map_or(ArmKind::Treatment, |a| a.kind);
        self.push(Event::Cell(CellNote {
            cell: cell.clone(),
            arm: arm.into(),
            kind,
            levels: levels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            fate,
            stage: against.map(|a| a.0.to_owned()),
            reason: against.map(|a| a.1.to_owned()),
            evidence: against.map(|a| vec![a.2.to_owned()]).unwrap_or_default(),
        }));
        if let Some(opening) = self.evidence.opening.as_mut() {
            opening.planned_cells = self.evidence.cells.len() as u64;
        }
        cell
    }

    /// Begins a block.
    pub fn block(&mut self, block: u32, rerun_of: Option<&CellId>, order: &[&CellId]) {
        let order = order.iter().map(|c| (*c).clone()).collect();
        self.push(Event::Block(BlockNote { block, rerun_of: rerun_of.cloned(), order }));
    }

    /// Begins and ends one run.
    pub fn run(&mut self, note: RunNote) {
        self.push(Event::RunBegan { run: note.run.clone(), position: note.position });
        self.push(Event::RunEnded(Box::new(note)));
    }

    /// A run that took `seconds`.
    pub fn measured(&mut self, cell: &CellId, block: u32, seconds: f64) {
        self.run(run(&cell.0, block, seconds));
    }

    /// A run with another outcome than measured.
    pub fn ended(&mut self, cell: &CellId, block: u32, outcome: RunOutcome, reason: &str) {
        let mut note = run(&cell.0, block, 1.0);
        note.values.clear();
        note.outcome = outcome;
        note.reason = Some(reason.into());
        self.run(note);
    }

    /// One grid point, control and one treatment `new`, a block per pair of values.
    pub fn pairs(control: &[f64], treatment: &[f64]) -> Record {
        let mut record = Record::open(&[("new", ArmKind::Treatment)], control.len() as u32);
        let old = record.cell(&[("size", "1")], "old", Fate::Live, None);
        let new = record.cell(&[("size", "1")], "new", Fate::Live, None);
        for (i, (c, t)) in control.iter().zip(treatment).enumerate() {
            let block = i as u32 + 1;
            record.block(block, None, &[&old, &new]);
            record.measured(&old, block, *c);
            record.measured(&new, block, *t);
        }
        record
    }
}
