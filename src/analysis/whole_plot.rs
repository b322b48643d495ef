//! What a trial says about variables that were set once for a group of runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::anova::Row;
use super::factorial::{Gathered, Varying, gather, varying};
use super::findings::FactorialFinding;
use super::split_plot::{SplitPlot, split};
use super::trial::Trial;
use super::verdict::p_text;
use crate::model::scale::Scale;

/// One response on one scale, where variables were hard to change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SplitPlotFinding {
    pub response: String,
    /// `linear` or `log`.
    pub scale: String,
    /// The variables that were set once for a group of runs.
    pub hard: Vec<String>,
    /// Runs that are not in the model because they have no value; timeouts are among them.
    pub not_used: u64,
    pub found: Option<SplitPlot>,
    pub sentence: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// Judges what was hard to change by the groups, on both scales. Nothing where nothing was, or where it
/// had one level.
pub fn split_plots(trial: &Trial, blocks: &[u32]) -> Vec<SplitPlotFinding> {
    let names = varying(trial);
    let is_hard = |varying: &Varying| trial.hard_to_change.contains(&varying.name);
    let hard: Vec<usize> = (0..names.len()).filter(|at| is_hard(&names[*at])).collect();
    if hard.is_empty() {
        return vec![];
    }
    let one = |response: usize, scale: Scale| {
        let mut not_used = 0;
        let found = gather(trial, blocks, response, scale, &names, &mut not_used).and_then(
            |Gathered { y, factors, block, group }| {
                split(&y, &factors, &hard, &group, block.as_ref(), factors.len())
            },
        );
        let hard: Vec<String> = hard.iter().map(|at| names[*at].name.clone()).collect();
        let sentence = match &found {
            Ok(found) => format!("{}{}", found.sentence, tests(found, &hard, scale)),
            Err(why) => format!("{} cannot be judged by its settings: {why}.", hard.join(", ")),
        };
        let absent = found.as_ref().err().map(|why| ("found".to_owned(), why.clone()));
        SplitPlotFinding {
            response: trial.responses[response].name.clone(),
            scale: scale.word().to_owned(),
            hard,
            not_used,
            found: found.ok(),
            sentence,
            absent: absent.into_iter().collect(),
        }
    };
    let both = |response| [Scale::Linear, Scale::Log].map(|scale| one(response, scale));
    (0..trial.responses.len()).flat_map(both).collect()
}

/// The tests of the hard variables alone, in words.
fn tests(found: &SplitPlot, hard: &[String], scale: Scale) -> String {
    let alone = |row: &&Row| matches!(row.factors.as_slice(), [only] if hard.contains(only));
    let words = |row: &Row| {
        let p = row.type2.p.map(p_text).or(row.type2.p_below.map(|p| format!("below {}", p_text(p))))?;
        Some(format!("{} p {p}", row.term))
    };
    let rows = found.groups.iter().flat_map(|table| &table.terms);
    let all: Vec<String> = rows.filter(alone).filter_map(words).collect();
    if all.is_empty() {
        String::new()
    } else {
        format!(" On the {} scale: {}.", scale.word(), all.join(", "))
    }
}

/// Says at every factorial with a variable that was hard to change which table to read for it.
pub fn warn(factorials: &mut [FactorialFinding], found: &[SplitPlotFinding]) {
    let Some(first) = found.first() else { return };
    let hard = first.hard.join(", ");
    for anova in factorials.iter_mut().filter_map(|f| f.anova.as_mut()) {
        anova.notes.push(format!(
            "{hard} was set once for a group of runs. Lines of {hard} alone take runs for independent here and are too sure; \
             those under `split_plots` are judged by the settings."
        ));
    }
}
