//! Variables and arms of a trial crossed with each other: analysis of variance on both scales.

use std::collections::BTreeMap;

use super::anova;
use super::factor::Factor;
use super::findings::FactorialFinding;
use super::trial::{Cell, Reading, Scale, Trial};

/// Most combinations of levels that a model is fitted to.
const MOST_COMBINATIONS: usize = 512;

/// Analyses every response over all levels that vary, on the linear and on the logarithmic scale.
/// Nothing where nothing varies.
pub fn analyse(trial: &Trial, blocks: &[u32]) -> Vec<FactorialFinding> {
    let names = varying(trial);
    if names.is_empty() {
        return vec![];
    }
    let per_response = |response: usize| {
        [Scale::Linear, Scale::Log].map(|scale| one(trial, blocks, response, scale, &names))
    };
    (0..trial.responses.len()).flat_map(per_response).collect()
}

/// A variable, or the arm, with the number of its levels.
struct Varying {
    name: String,
    is_arm: bool,
    levels: usize,
}

fn varying(trial: &Trial) -> Vec<Varying> {
    let variables = trial.cells.first().map(|c| c.levels.keys()).into_iter().flatten();
    let columns = variables.map(|name| (name.clone(), false)).chain([("arm".to_owned(), true)]);
    let counted = columns.map(|(name, is_arm)| {
        let mut seen: Vec<&str> = trial.cells.iter().map(|c| level(c, &name, is_arm)).collect();
        seen.sort_unstable();
        seen.dedup();
        Varying { name, is_arm, levels: seen.len() }
    });
    counted.filter(|v| v.levels > 1).collect()
}

fn level<'a>(cell: &'a Cell, name: &str, is_arm: bool) -> &'a str {
    if is_arm { &cell.arm } else { cell.levels.get(name).map_or("", |l| l) }
}

fn one(trial: &Trial, blocks: &[u32], response: usize, scale: Scale, names: &[Varying]) -> FactorialFinding {
    let mut found = FactorialFinding {
        response: trial.responses[response].name.clone(),
        scale: scale.word().to_owned(),
        factors: names.iter().map(|v| v.name.clone()).collect(),
        not_used: 0,
        anova: None,
        absent: BTreeMap::new(),
    };
    let combinations = names.iter().map(|v| v.levels).fold(1usize, usize::saturating_mul);
    let fitted = match combinations > MOST_COMBINATIONS {
        true => Err(format!(
            "{combinations} combinations of levels are more than the {MOST_COMBINATIONS} that a model is fitted to"
        )),
        false => gather(trial, blocks, response, scale, names, &mut found.not_used)
            .and_then(|(y, factors, block)| anova::analyse(&y, &factors, block.as_ref(), factors.len())),
    };
    match fitted {
        Ok(anova) => found.anova = Some(anova),
        Err(why) => {
            found.absent.insert("anova".to_owned(), why);
        }
    }
    found
}

type Observations = (Vec<f64>, Vec<Factor>, Option<Factor>);

/// Measured values with their levels; the others are counted.
fn gather(
    trial: &Trial,
    blocks: &[u32],
    response: usize,
    scale: Scale,
    names: &[Varying],
    not_used: &mut u64,
) -> Result<Observations, String> {
    let mut y = vec![];
    let mut labels: Vec<Vec<&str>> = names.iter().map(|_| vec![]).collect();
    let mut of_block: Vec<&str> = vec![];
    for cell in &trial.cells {
        for run in blocks.iter().flat_map(|b| cell.in_block(*b)) {
            let Reading::Value(value) = run.readings[response] else {
                *not_used += 1;
                continue;
            };
            let on = scale.of(value);
            y.push(on.ok_or_else(|| format!("{value} of {} has no logarithm", cell.id))?);
            of_block.push(&trial.blocks[run.block as usize].label);
            for (varying, column) in names.iter().zip(&mut labels) {
                column.push(level(cell, &varying.name, varying.is_arm));
            }
        }
    }
    let factors: Vec<Factor> =
        names.iter().zip(&labels).map(|(varying, column)| Factor::of(&varying.name, column)).collect();
    let block = Factor::of("block", &of_block);
    Ok((y, factors, (block.levels.len() > 1).then_some(block)))
}
