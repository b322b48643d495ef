//! A session: events stamped and stored while the spine works.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use indexmap::IndexMap;

use super::failure::{Failure, unwritable};
use super::lab::Opened;
use super::load::{Loaded, digest};
use super::progress::Progress;
use crate::analysis::stopping;
use crate::campaign::{Accept, Order};
use crate::conduct::{Asked, Ended, Preparation, Trial};
use crate::design::estimate::estimate;
use crate::design::plan::Plan;
use crate::evidence::event::{ArmNote, Event, Opening, Session as SessionNote, SessionKind};
use crate::evidence::fold::Evidence;
use crate::model::arm::ArmKind;
use crate::model::verify_rule::OutputRule;
use crate::model::workload::{Stamps, Workload};
use crate::record::{Folder, Writer};

pub struct Session {
    writer: Writer,
    lab: Opened,
    kind: SessionKind,
    beginning: Vec<Event>,
}

impl Session {
    pub fn new(writer: Writer, lab: Opened, kind: SessionKind) -> Session {
        Session { writer, lab, kind, beginning: vec![] }
    }

    /// What there is to say about how it came to begin.
    pub fn beginning_with(self, beginning: Vec<Event>) -> Session {
        Session { beginning, ..self }
    }

    /// Notes who works on what, then does what was asked. The lab is closed when this returns.
    pub fn conduct(
        mut self,
        folder: &Folder,
        campaign_folder: &Path,
        plan: &Plan,
        before: &Evidence,
        asked: Asked,
    ) -> Result<Ended, Failure> {
        let mut writer = self.writer;
        // All that was noted, kept only where it decides how long the trial goes on.
        let evidence = RefCell::new(plan.campaign.blocks.until.is_some().then(|| before.clone()));
        let enough = || evidence.borrow().as_ref().is_none_or(stopping::enough);
        let mut note = |event: Event| {
            let at = now();
            writer.append_event(&at, &event)?;
            if let Some(evidence) = evidence.borrow_mut().as_mut() {
                evidence.apply(&at, event);
            }
            Ok(())
        };
        let unwritable = |e: std::io::Error| unwritable(folder.path(), &e);
        note(Event::Session(SessionNote {
            kind: self.kind,
            command: std::env::args().collect(),
            version: env!("CARGO_PKG_VERSION").into(),
            tool_sha256: self.lab.tool_sha256.clone(),
        }))
        .map_err(unwritable)?;
        for event in std::mem::take(&mut self.beginning) {
            note(event).map_err(unwritable)?;
        }
        for host in std::mem::take(&mut self.lab.notes) {
            note(Event::Host(host)).map_err(unwritable)?;
        }
        for found in std::mem::take(&mut self.lab.found) {
            note(Event::PutBack(found)).map_err(unwritable)?;
        }
        let mut progress = Progress::new();
        let facts: BTreeMap<_, _> = self.lab.facts.clone();
        let trial = Trial {
            plan,
            facts: &facts,
            lab: &mut self.lab.fleet,
            watch: &mut progress,
            note: &mut note,
            before,
            enough: &enough,
            preparation: Preparation::new(campaign_folder, folder.path()),
        };
        let ended = trial.conduct(asked);
        progress.finish();
        ended.map_err(unwritable)
    }
}

/// Now, in UTC, as journals write it.
pub fn now() -> String {
    jiff::Timestamp::now().to_string()
}

/// Now, as folder names have it.
pub fn stamp() -> String {
    jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// What was asked, for the first line of a journal.
pub fn opening(plan: &Plan, record: &str, loaded: &Loaded) -> Opening {
    let campaign = &plan.campaign;
    let estimate = estimate(plan);
    let text = |level: &crate::model::level::Level| level.text.clone();
    Opening {
        record: record.into(),
        hosts_folder: loaded.hosts_folder.display().to_string(),
        campaign_folder: loaded.campaign_folder.display().to_string(),
        campaign_sha256: digest(&loaded.campaign_source),
        hosts_sha256: digest(&loaded.hosts_source),
        dead_ends_sha256: loaded.dead_ends_source.as_ref().map(digest).unwrap_or_default(),
        reattempt: campaign.reattempt.clone(),
        campaign: campaign.name.clone(),
        question: Some(campaign.question.clone()),
        hypothesis: campaign.hypothesis.clone(),
        pilot: campaign.pilot,
        workload: match campaign.workload {
            Workload::Packets(_) => "packets".into(),
            Workload::Command(_) => "command".into(),
        },
        responses: campaign.responses.clone(),
        variables: campaign
            .variables
            .iter()
            .map(|(name, levels)| (name.clone(), levels.iter().map(text).collect()))
            .collect(),
        hard_to_change: campaign.hard_to_change.clone(),
        arms: campaign
            .arms
            .iter()
            .map(|arm| ArmNote {
                kind: arm.kind,
                name: arm.name.clone(),
                // The control has no changes; its settings are what the others change.
                changes: arm
                    .settings
                    .iter()
                    .filter(|(name, _)| arm.kind == ArmKind::Control || arm.changes.contains(name))
                    .map(|(name, level)| (name.clone(), text(level)))
                    .collect::<IndexMap<_, _>>(),
                because: arm.because.clone(),
            })
            .collect(),
        accept: campaign
            .accept
            .iter()
            .map(|rule| match rule {
                Accept::ZeroLoss => "zero_loss".into(),
            })
            .collect(),
        outputs_may_differ: match &campaign.workload {
            Workload::Packets(_) => false,
            Workload::Command(command) => command.verify.output == OutputRule::Ignored,
        },
        values: match &campaign.workload {
            Workload::Packets(_) => IndexMap::new(),
            Workload::Command(command) => {
                let values = command.roles.iter().flat_map(|role| &role.values);
                values.map(|value| (value.name.clone(), value.unit.clone())).collect()
            }
        },
        stamps: match &campaign.workload {
            Workload::Packets(packets) => packets.stamps.map_or("", Stamps::name).into(),
            Workload::Command(_) => String::new(),
        },
        blocks: campaign.blocks.count,
        until: campaign.blocks.until.clone(),
        order: match campaign.blocks.order {
            Order::Forward => "forward".into(),
            Order::Mirrored => "mirrored".into(),
            Order::Shuffled => "shuffled".into(),
        },
        seed: campaign.blocks.seed,
        timeout_ms: campaign.timeout_ms,
        planned_cells: estimate.cells,
        planned_runs: estimate.runs,
        gate: campaign.gate.clone(),
        condition: plan.condition.clone(),
    }
}
