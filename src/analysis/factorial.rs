//! Variables and arms of a trial crossed with each other: analysis of variance on both scales.

use std::collections::BTreeMap;

use super::factor::Factor;
use super::findings::{FactorialFinding, InteractionFinding};
use super::trial::{Cell, Reading, Trial};
use super::{anova, every_pair, two_level};
use crate::model::arm::ArmKind;
use crate::model::outcome::Fate;
use crate::model::scale::Scale;

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

/// A variable, the arm, or a treatment that is made or not, with the number of its levels.
pub struct Varying {
    pub name: String,
    kind: Kind,
    levels: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Variable,
    Arm,
    Treatment,
}

/// What the grid crosses: variables with several levels, and the arm where there are several. Where the
/// treatments are combined in full, each of them is a factor, so that it shows whether their gains add.
pub fn varying(trial: &Trial) -> Vec<Varying> {
    let variables = trial.cells.first().map(|c| c.levels.keys()).into_iter().flatten();
    let variables = variables.map(|name| (name.clone(), Kind::Variable));
    let arms = match treatments(trial) {
        Some(names) => names.into_iter().map(|name| (name.to_owned(), Kind::Treatment)).collect(),
        None => vec![("arm".to_owned(), Kind::Arm)],
    };
    let counted = variables.chain(arms).map(|(name, kind)| {
        let mut found = Varying { name, kind, levels: 0 };
        let mut seen: Vec<&str> = trial.cells.iter().filter_map(|c| level(c, &found)).collect();
        seen.sort_unstable();
        seen.dedup();
        found.levels = seen.len();
        found
    });
    counted.filter(|v| v.levels > 1).collect()
}

/// The treatments of a trial in which the control, each of them, and all combinations of them are live.
fn treatments(trial: &Trial) -> Option<Vec<&str>> {
    let of_kind = |kind: ArmKind| trial.arms.iter().filter(move |arm| arm.kind == kind);
    let names: Vec<&str> = of_kind(ArmKind::Treatment).map(|arm| arm.name.as_str()).collect();
    let mut combined: Vec<Vec<&str>> =
        of_kind(ArmKind::Combination).filter_map(|arm| arm.kind.treatments(&arm.name)).collect();
    combined.iter_mut().for_each(|parts| parts.sort_unstable());
    combined.sort_unstable();
    combined.dedup();
    let made_of_them = combined.iter().flatten().all(|part| names.contains(part));
    let several = u32::try_from(names.len()).ok().filter(|count| *count > 1)?;
    let full = combined.len() + names.len() + 1 == 2_usize.checked_pow(several)?;
    let levels = trial.cells.first().map(|cell| &cell.levels);
    let live = |cell: &Cell| cell.kind.treatments(&cell.arm).is_none() || cell.fate == Fate::Live;
    let own_name = |name: &&str| levels.is_none_or(|levels| !levels.contains_key(*name));
    (full && made_of_them && names.iter().all(own_name) && trial.cells.iter().all(live)).then_some(names)
}

/// The control comes first among the arms, so that comparisons start from it.
fn of(trial: &Trial, varying: &Varying, column: &[&str]) -> Factor {
    let factor = Factor::of(&varying.name, column);
    let control = trial.cells.iter().find(|c| varying.kind == Kind::Arm && c.kind == ArmKind::Control);
    control.map_or(factor.clone(), |c| factor.led_by(&c.arm))
}

/// The level that a cell has of something; None of a cell that is no part of its grid: a twin is the control
/// once more, and an anchor is no level of a treatment.
fn level<'a>(cell: &'a Cell, varying: &Varying) -> Option<&'a str> {
    let parts = cell.kind.treatments(&cell.arm);
    match varying.kind {
        _ if cell.kind == ArmKind::Twin => None,
        Kind::Variable => Some(cell.levels.get(&varying.name).map_or("", |l| l)),
        Kind::Arm => Some(&cell.arm),
        Kind::Treatment => parts.map(|parts| made(parts.contains(&varying.name.as_str()))),
    }
}

/// The levels of a treatment, in this order.
pub fn made(is_made: bool) -> &'static str {
    if is_made { "yes" } else { "no" }
}

fn one(trial: &Trial, blocks: &[u32], response: usize, scale: Scale, names: &[Varying]) -> FactorialFinding {
    let mut found = FactorialFinding {
        response: trial.responses[response].name.clone(),
        scale: scale.word().to_owned(),
        factors: names.iter().map(|v| v.name.clone()).collect(),
        not_used: 0,
        anova: None,
        two_level: None,
        absent: BTreeMap::new(),
    };
    let gathered = gather(trial, blocks, response, scale, names, &mut found.not_used);
    let fitted = gathered.and_then(|Gathered { y, factors, block, .. }| {
        let block = block.as_ref();
        found.two_level = two_level::effects(&y, &factors, block)
            .map_err(|why| {
                found.absent.insert("two_level".to_owned(), why);
            })
            .ok();
        anova::analyse(&y, &factors, block, factors.len())
    });
    match fitted {
        Ok(anova) => found.anova = Some(anova),
        Err(why) => {
            found.absent.insert("anova".to_owned(), why.clone());
            found.absent.insert("two_level".to_owned(), why);
        }
    }
    found
}

/// All two-way interactions of every response. Nothing where fewer than two factors vary.
pub fn interactions(trial: &Trial, blocks: &[u32]) -> Vec<InteractionFinding> {
    let names = varying(trial);
    if names.len() < 2 {
        return vec![];
    }
    let one = |response: usize| {
        let asked = &trial.responses[response];
        let mut absent = BTreeMap::new();
        let gathered = gather(trial, blocks, response, Scale::Linear, &names, &mut 0);
        // The margin of a linear analysis is in the unit, and interactions take a relative one.
        let margin = asked.margin.filter(|_| asked.scale == Scale::Log);
        let pairs =
            gathered.map(|of| every_pair::interactions(&of.y, &of.factors, of.block.as_ref(), margin));
        let pairs = pairs.unwrap_or_else(|why| {
            absent.insert("pairs".to_owned(), why);
            vec![]
        });
        InteractionFinding { response: asked.name.clone(), pairs, absent }
    };
    (0..trial.responses.len()).map(one).collect()
}

/// Measured values with their levels.
pub struct Gathered {
    pub y: Vec<f64>,
    pub factors: Vec<Factor>,
    /// None where there is only one.
    pub block: Option<Factor>,
    /// The settings that runs shared: stretches of a block in which nothing that is hard to change changed,
    /// or what the data themselves name.
    pub group: Factor,
}

/// Measured values with their levels; the others are counted.
pub fn gather(
    trial: &Trial,
    blocks: &[u32],
    response: usize,
    scale: Scale,
    names: &[Varying],
    not_used: &mut u64,
) -> Result<Gathered, String> {
    let combinations = names.iter().map(|v| v.levels).fold(1usize, usize::saturating_mul);
    if combinations > MOST_COMBINATIONS {
        return Err(format!(
            "{combinations} combinations of levels are more than the {MOST_COMBINATIONS} that a model is fitted to"
        ));
    }
    let mut y = vec![];
    let mut labels: Vec<Vec<&str>> = names.iter().map(|_| vec![]).collect();
    let mut of_block: Vec<&str> = vec![];
    let mut of_group: Vec<String> = vec![];
    let hard: Vec<&Varying> = names.iter().filter(|v| trial.hard_to_change.contains(&v.name)).collect();
    for cell in &trial.cells {
        let Some(own) = names.iter().map(|v| level(cell, v)).collect::<Option<Vec<&str>>>() else { continue };
        for run in blocks.iter().flat_map(|b| cell.in_block(*b)) {
            let Reading::Value(value) = run.readings[response] else {
                *not_used += 1;
                continue;
            };
            let on = scale.of(value);
            y.push(on.ok_or_else(|| format!("{value} of {} has no logarithm", cell.id))?);
            let block = &trial.blocks[run.block as usize].label;
            of_block.push(block);
            of_group.push(match (&run.group, hard.is_empty()) {
                (_, true) => String::new(),
                (Some(named), _) => named.to_string(),
                // A session that went on with a block set everything again.
                (None, _) => {
                    hard.iter().fold(format!("block {block}, session {}", run.session + 1), |group, v| {
                        format!("{group}, {} {}", v.name, level(cell, v).unwrap_or_default())
                    })
                }
            });
            for (level, column) in own.iter().zip(&mut labels) {
                column.push(*level);
            }
        }
    }
    let factors: Vec<Factor> =
        names.iter().zip(&labels).map(|(varying, column)| of(trial, varying, column)).collect();
    let block = Factor::of("block", &of_block);
    let group = Factor::of("setting", &of_group);
    Ok(Gathered { y, factors, block: (block.levels.len() > 1).then_some(block), group })
}
