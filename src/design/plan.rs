//! The plan: every cell and run of a trial, addressed by number and made when asked for.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::exclusion::{Decided, Verdict};
use super::grid::Grid;
use super::order::block_order;
use crate::campaign::{Campaign, work};
use crate::dead_end::DeadEnd;
use crate::model::arm::Arm;
use crate::model::cell::CellId;
use crate::model::facts::Facts;
use crate::model::hosts::{Hosts, PortRef};
use crate::model::workload::Work;

/// A complete, immutable plan. Cells count from 0: point × arms + arm, the control first.
#[derive(Debug, Clone)]
pub struct Plan {
    pub campaign: Campaign,
    pub hosts: Hosts,
    pub grid: Grid,
    /// What was tried before and lost.
    pub dead_ends: Vec<DeadEnd>,
    /// What the hosts are brought into beside what the campaign holds, like `quiet`; empty for nothing.
    pub condition: String,
    rules: Vec<Decided>,
}

/// What rules say of a cell, before any host has been asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    Live,
    Excluded(String),
    Undecided(String),
    Broken(String),
}

impl Plan {
    /// `facts` are the facts last seen of each host; rules over hosts that have none stay undecided.
    pub fn new(campaign: Campaign, hosts: Hosts, facts: &BTreeMap<String, Facts>) -> Plan {
        let grid = Grid::new(campaign.variables.clone());
        let rules = campaign.exclude.iter().map(|e| Decided::new(e, &grid, &campaign.arms, facts)).collect();
        Plan { campaign, hosts, grid, dead_ends: vec![], condition: String::new(), rules }
    }

    /// The same plan, knowing what was tried before and lost.
    pub fn knowing(self, dead_ends: Vec<DeadEnd>) -> Plan {
        Plan { dead_ends, ..self }
    }

    /// The same plan under a condition, which every cell's id then names.
    pub fn under(self, condition: &str) -> Plan {
        Plan { condition: condition.to_owned(), ..self }
    }

    pub fn arms(&self) -> &[Arm] {
        &self.campaign.arms
    }

    pub fn cells(&self) -> u64 {
        self.grid.points().saturating_mul(self.arms().len() as u64)
    }

    pub fn index(&self, point: u64, arm: usize) -> u64 {
        point * self.arms().len() as u64 + arm as u64
    }

    pub fn point_of(&self, cell: u64) -> u64 {
        cell / self.arms().len() as u64
    }

    pub fn arm_of(&self, cell: u64) -> &Arm {
        &self.arms()[(cell % self.arms().len() as u64) as usize]
    }

    /// The cell that this one is compared with.
    pub fn control_of(&self, cell: u64) -> u64 {
        self.index(self.point_of(cell), 0)
    }

    pub fn id(&self, cell: u64) -> CellId {
        let (point, arm) = (self.grid.point_id(self.point_of(cell)), &self.arm_of(cell).name);
        let condition = if self.condition.is_empty() { "" } else { "@" };
        CellId(format!("{point}/{arm}{condition}{}", self.condition))
    }

    /// The cell of an id, if the plan has it.
    pub fn find(&self, id: &str) -> Option<u64> {
        (0..self.cells()).find(|cell| self.id(*cell).0 == id)
    }

    pub fn levels(&self, cell: u64) -> IndexMap<String, String> {
        self.grid.levels(self.point_of(cell)).map(|(n, l)| (n.to_owned(), l.text.clone())).collect()
    }

    /// First rule that excludes the cell wins; without one, a rule that cannot decide shows.
    pub fn decision(&self, cell: u64) -> Decision {
        let (point, arm) = (self.point_of(cell), (cell % self.arms().len() as u64) as usize);
        let mut decision = Decision::Live;
        for rule in &self.rules {
            match rule.verdict(&self.grid, point, arm) {
                Verdict::Exclude => return Decision::Excluded(rule.reason()),
                Verdict::Undecided(why) => decision = Decision::Undecided(format!("{}: {why}", rule.text)),
                Verdict::Broken(why) => return Decision::Broken(format!("{}: {why}", rule.text)),
                Verdict::Keep => {}
            }
        }
        decision
    }

    /// Cells of a block in run order, excluded ones left out.
    pub fn order(&self, block: u32) -> impl Iterator<Item = u64> + '_ {
        let blocks = &self.campaign.blocks;
        let arms = self.arms().len() as u64;
        let hard = |name: &str| self.campaign.hard_to_change.iter().any(|known| known == name);
        let group = |point: u64| match self.campaign.hard_to_change.is_empty() {
            true => 0,
            false => self.grid.corner_of(point, &hard),
        };
        block_order(blocks.order, blocks.seed, block, (self.grid.points(), arms), &group)
            .into_iter()
            .map(move |(point, arm)| point * arms + arm)
            .filter(|cell| self.rules.is_empty() || !matches!(self.decision(*cell), Decision::Excluded(_)))
    }

    /// The work of a cell with every template filled in.
    ///
    /// # Errors
    /// The text of what does not fit, for the user.
    pub fn work(&self, cell: u64) -> Result<Work, String> {
        let point = self.point_of(cell);
        let arm = self.arm_of(cell);
        let lookup = |name: &str| {
            self.grid.level(point, name).or_else(|| arm.settings.get(name)).map(|l| l.text.as_str())
        };
        work::resolve(
            &self.campaign.workload,
            &lookup,
            &|port| self.interface(port),
            self.campaign.blocks.seed,
        )
    }

    /// What the cell holds on its hosts, with every template filled in.
    ///
    /// # Errors
    /// The text of what does not fit, for the user.
    pub fn hold(&self, cell: u64) -> Result<IndexMap<String, String>, String> {
        let (point, arm) = (self.point_of(cell), self.arm_of(cell));
        let lookup = |name: &str| {
            self.grid.level(point, name).or_else(|| arm.settings.get(name)).map(|l| l.text.as_str())
        };
        let held = self.campaign.hold.iter();
        held.map(|(name, template)| Ok((name.clone(), work::filled(template, &lookup)?))).collect()
    }

    /// The queue of each stream of the cell, which has so many, as the setting `stream_queues` takes it;
    /// None where the campaign steers nothing.
    ///
    /// # Errors
    /// The text of what does not fit, for the user.
    pub fn steer(&self, cell: u64, streams: u16) -> Result<Option<String>, String> {
        let Some(steer) = &self.campaign.steer else { return Ok(None) };
        let (point, arm) = (self.point_of(cell), self.arm_of(cell));
        let lookup = |name: &str| {
            self.grid.level(point, name).or_else(|| arm.settings.get(name)).map(|l| l.text.as_str())
        };
        steer.value(streams, &lookup).map(Some)
    }

    pub fn interface(&self, port: &PortRef) -> Option<String> {
        self.hosts.hosts.get(&port.host)?.ports.get(&port.port).map(|p| p.interface.clone())
    }
}
