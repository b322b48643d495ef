//! The shapes in which `flow-rules` answers, for programs and for people.

use serde::Serialize;

use crate::nic::flow_bytes::text;
use crate::nic::flow_plan::{FlowTable, Plan, Step, is_ours};
use crate::nic::rxnfc::Rxnfc;

/// The whole table of a port.
#[derive(Debug, Serialize)]
pub struct Listing {
    event: &'static str,
    port: String,
    driver: String,
    /// None where the driver does not tell.
    queues: Option<u32>,
    /// Places in the table.
    capacity: u32,
    rules: Vec<Listed>,
}

#[derive(Debug, Serialize)]
struct Listed {
    location: u32,
    /// In the words of `--rule` where these suffice.
    rule: String,
    /// Whether it steers a stream of ours.
    ours: bool,
}

/// What was changed, or would be.
#[derive(Debug, Serialize)]
pub struct Changes {
    event: &'static str,
    port: String,
    /// False for a plan.
    done: bool,
    inserted: Vec<String>,
    replaced: Vec<Replaced>,
    removed: Vec<String>,
    kept: Vec<String>,
    /// Somebody else's, left alone.
    foreign: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Replaced {
    was: String,
    now: String,
}

impl Listing {
    #[must_use]
    pub fn new(port: &str, table: &FlowTable) -> Self {
        let mut rules: Vec<Listed> = table
            .rules
            .iter()
            .map(|rule| Listed { location: rule.location(), rule: text(rule), ours: is_ours(rule) })
            .collect();
        rules.sort_by_key(|listed| listed.location);
        let (port, driver) = (port.to_owned(), table.driver.clone());
        Self { event: "flow_rules", port, driver, queues: table.queues, capacity: table.capacity, rules }
    }

    #[must_use]
    pub fn plain(&self) -> String {
        let queues =
            self.queues.map_or_else(|| "an unknown number of".to_owned(), |queues| queues.to_string());
        let head = format!(
            "{}: driver {}, {queues} receive queues, {} of {} places taken",
            self.port,
            if self.driver.is_empty() { "unknown" } else { &self.driver },
            self.rules.len(),
            self.capacity
        );
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        for listed in &self.rules {
            table.add_row([if listed.ours { "ours" } else { "foreign" }, &listed.rule]);
        }
        if self.rules.is_empty() { head } else { format!("{head}\n{table}") }
    }
}

impl Changes {
    #[must_use]
    pub fn new(port: &str, plan: &Plan, done: bool) -> Self {
        let texts = |rules: &[Rxnfc]| rules.iter().map(text).collect();
        let mut changes = Self {
            event: "result",
            port: port.to_owned(),
            done,
            inserted: Vec::new(),
            replaced: Vec::new(),
            removed: Vec::new(),
            kept: texts(&plan.kept),
            foreign: texts(&plan.foreign),
        };
        for step in &plan.steps {
            match step {
                Step::Remove(was) => changes.removed.push(text(was)),
                Step::Insert(now) => changes.inserted.push(text(now)),
                Step::Replace { was, now } => {
                    changes.replaced.push(Replaced { was: text(was), now: text(now) });
                }
            }
        }
        changes
    }

    #[must_use]
    pub fn plain(&self) -> String {
        let rows = |mark: &'static str, rules: &[String]| -> Vec<String> {
            rules.iter().map(|rule| format!("{mark} {rule}")).collect()
        };
        let mut lines = rows("removed ", &self.removed);
        for Replaced { was, now } in &self.replaced {
            lines.push(format!("replaced {was}\n      by {now}"));
        }
        lines.extend(rows("inserted", &self.inserted));
        lines.extend(rows("kept    ", &self.kept));
        lines.extend(rows("foreign ", &self.foreign));
        if lines.is_empty() {
            lines.push("no rules".to_owned());
        }
        if !self.done {
            lines.insert(0, "a plan; nothing is changed yet:".to_owned());
        }
        lines.join("\n")
    }
}
