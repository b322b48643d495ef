//! Declared rules, decided once for each combination of the names they refer to.

use std::collections::BTreeMap;

use serde_json::Value;

use super::grid::Grid;
use crate::campaign::Exclusion;
use crate::model::arm::Arm;
use crate::model::facts::Facts;
use crate::rule::Scope;

/// What a rule says of one cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Keep,
    Exclude,
    /// It refers to facts of a host that were never seen, or that the host does not tell.
    Undecided(String),
    /// It could not be evaluated.
    Broken(String),
}

/// One rule with its verdicts over the combinations that it can tell apart.
#[derive(Debug, Clone)]
pub struct Decided {
    pub text: String,
    pub because: Option<String>,
    names: Vec<String>,
    by_arm: bool,
    arms: usize,
    verdicts: Vec<Verdict>,
}

impl Decided {
    /// Evaluates a rule over the grid's corners. `facts` are those last seen, by host.
    pub fn new(exclusion: &Exclusion, grid: &Grid, arms: &[Arm], facts: &BTreeMap<String, Facts>) -> Decided {
        let names: Vec<String> = exclusion.rule.names().iter().cloned().collect();
        let by_arm = names.iter().any(|n| arms.iter().any(|a| a.settings.contains_key(n)));
        let hosts = names.iter().any(|n| n == "hosts").then(|| host_values(facts));
        let named = |n: &str| names.iter().any(|m| m == n);
        let mut verdicts = Vec::new();
        for point in grid.corners(&named) {
            for arm in arms.iter().take(if by_arm { arms.len() } else { 1 }) {
                let mut scope = Scope::default();
                for (name, level) in grid.levels(point).filter(|(n, _)| named(n)) {
                    scope.level(name, &level.scalar());
                }
                for (name, level) in arm.settings.iter().filter(|(n, _)| named(n)) {
                    scope.level(name, &level.scalar());
                }
                if let Some(hosts) = &hosts {
                    scope.value("hosts", hosts);
                }
                verdicts.push(match exclusion.rule.eval(&scope) {
                    Ok(true) => Verdict::Exclude,
                    Ok(false) => Verdict::Keep,
                    Err(why) if hosts.is_some() => Verdict::Undecided(why),
                    Err(why) => Verdict::Broken(why),
                });
            }
        }
        Decided {
            text: exclusion.rule.text().to_owned(),
            because: exclusion.because.clone(),
            names,
            by_arm,
            arms: arms.len(),
            verdicts,
        }
    }

    pub fn verdict(&self, grid: &Grid, point: u64, arm: usize) -> &Verdict {
        let named = |n: &str| self.names.iter().any(|m| m == n);
        let corner = grid.corner_of(point, &named) as usize;
        let index = if self.by_arm { corner * self.arms + arm } else { corner };
        &self.verdicts[index]
    }

    /// The rule as a reason, with its words.
    pub fn reason(&self) -> String {
        match &self.because {
            Some(because) => format!("{}: {because}", self.text),
            None => self.text.clone(),
        }
    }
}

fn host_values(facts: &BTreeMap<String, Facts>) -> Value {
    Value::Object(
        facts
            .iter()
            .map(|(host, facts)| (host.clone(), Value::Object(facts.clone().into_iter().collect())))
            .collect(),
    )
}
