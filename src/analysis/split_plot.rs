//! Hard-to-change variables: what is set once per group of runs is judged by the groups, not by the runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::accurate::sum;
use super::anova::{Anova, analyse};
use super::factor::Factor;

/// Two tables: of variables that need a reboot or the like, and of those that do not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SplitPlot {
    /// Hard-to-change variables, from one mean for each group of runs under one setting.
    pub groups: Option<Anova>,
    /// All others, with their interactions with hard ones, inside the groups.
    pub runs: Option<Anova>,
    /// Groups of runs.
    pub settings: u64,
    pub sentence: String,
    pub notes: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

impl SplitPlot {
    /// Whether no setting was made twice, so that its level and what it happened to be cannot be told apart.
    pub fn is_confounded(&self) -> bool {
        self.groups.as_ref().is_none_or(|table| table.residual.df == 0)
    }
}

/// Splits the analysis. `hard` are places in `factors`; `group` tells which setting each run belongs
/// to, and a hard variable has one level in each. Both tables are those of the textbook where groups
/// are equally large; where not, groups count alike.
pub fn split(
    y: &[f64],
    factors: &[Factor],
    hard: &[usize],
    group: &Factor,
    block: Option<&Factor>,
    order: usize,
) -> Result<SplitPlot, String> {
    if y.len() != group.codes.len() {
        return Err(format!("expected a group for each of {} runs, found {}", y.len(), group.codes.len()));
    }
    let mut members: Vec<Vec<usize>> = vec![vec![]; group.levels.len()];
    for (i, code) in group.codes.iter().enumerate() {
        members[*code].push(i);
    }
    members.retain(|runs| !runs.is_empty());
    for factor in hard.iter().map(|f| &factors[*f]).chain(block) {
        if let Some(runs) =
            members.iter().find(|runs| runs.iter().any(|i| factor.codes[*i] != factor.codes[runs[0]]))
        {
            return Err(format!(
                "expected one level of {} in each group of runs, found several in group {}",
                factor.name, group.levels[group.codes[runs[0]]]
            ));
        }
    }
    let means: Vec<f64> =
        members.iter().map(|runs| sum(runs.iter().map(|i| y[*i])) / runs.len() as f64).collect();
    let of_groups = |factor: &Factor| Factor {
        codes: members.iter().map(|runs| factor.codes[runs[0]]).collect(),
        ..factor.clone()
    };
    let hard_factors: Vec<Factor> = hard.iter().map(|f| of_groups(&factors[*f])).collect();
    let mut absent = BTreeMap::new();
    let groups = analyse(&means, &hard_factors, block.map(of_groups).as_ref(), order);
    let groups = kept(groups, "groups", &mut absent);
    // A group holds its block, and all that is hard, so both are in the additive term.
    let runs = kept(analyse(y, factors, Some(group), order), "runs", &mut absent).map(|mut table| {
        let names: Vec<&String> = hard.iter().map(|f| &factors[*f].name).collect();
        table.terms.retain(|row| !row.factors.iter().all(|name| names.contains(&name)));
        table.notes.retain(|note| !note.starts_with("Some terms have fewer"));
        table
    });
    let names = hard.iter().map(|f| factors[*f].name.as_str()).collect::<Vec<_>>().join(", ");
    let confounded = groups.as_ref().is_none_or(|table| table.residual.df == 0);
    let sentence = match confounded {
        true => format!(
            "The effect of {names} is confounded with the setting: each of {} settings was made once, so what a reboot or a new \
             queue count changes by itself cannot be told from it. Next step: set each level again in another block.",
            members.len()
        ),
        false => format!(
            "{names} is judged by {} settings, not by {} runs: runs under one setting share what that setting happened to be.",
            members.len(),
            y.len()
        ),
    };
    let mut notes = vec![];
    if members.iter().any(|runs| runs.len() != members[0].len()) {
        notes.push(
            "Groups are not equally large; each counts alike for the variables that were set once a group."
                .to_owned(),
        );
    }
    Ok(SplitPlot { groups, runs, settings: members.len() as u64, sentence, notes, absent })
}

fn kept(found: Result<Anova, String>, name: &str, absent: &mut BTreeMap<String, String>) -> Option<Anova> {
    found.map_err(|why| absent.insert(name.to_owned(), why)).ok()
}
