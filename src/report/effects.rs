//! Effects as rows of a forest plot, every block's own ratio among them.

use std::collections::{BTreeMap, BTreeSet};

use super::trail::{Trail, controls};
use super::view::{EffectView, effect, levels};
use crate::analysis::findings::{Effect, Findings};
use crate::analysis::verdict::ratio;
use crate::model::cell::CellId;
use crate::model::outcome::RunOutcome;
use crate::model::response::Better;
use crate::model::scale::Scale;
use crate::plot::forest::{self, Block, Row};

/// Rows of one response beside the pooled ones; a larger grid has its effects in the table of cells.
const MOST_ROWS: usize = 120;

/// The effects of one response, on an axis that they share.
pub struct Effects {
    /// The axis for the head of the table; None without a number.
    pub axis: Option<String>,
    pub rows: Vec<EffectView>,
    /// Effects that are not among the rows.
    pub left_out: usize,
}

/// Pooled effects first, then those of single grid points: all, or the strongest where they are many.
pub fn effects(trail: &Trail, findings: &Findings, response: &str) -> Effects {
    let of = |e: &&Effect| e.response == response;
    let single: Vec<&Effect> = findings.effects.iter().filter(of).collect();
    let drawn =
        |e: &&Effect| single.len() <= MOST_ROWS || e.cell.as_ref().is_some_and(|cell| trail.is_full(cell));
    let kept: Vec<&Effect> = single.iter().copied().filter(drawn).take(MOST_ROWS).collect();
    let left_out = single.len() - kept.len();
    let shown: Vec<&Effect> = findings.answers.iter().filter(of).chain(kept).collect();
    let controls = controls(findings);
    let rows: Vec<Row> = shown.iter().map(|e| row(trail, &controls, &single, e)).collect();
    let log = shown.iter().all(|e| e.scale != Scale::Linear.word());
    let axis =
        forest::axis(&rows, log).filter(|_| rows.iter().any(|r| r.estimate.is_some() || r.bounds.is_some()));
    let view = |(shown, row): (&&Effect, &Row)| EffectView {
        plot: axis.as_ref().map(|axis| forest::row(row, axis, 4)),
        ..effect(shown)
    };
    let tick = |v: f64| super::number::short(v);
    Effects {
        rows: shown.iter().zip(&rows).map(view).collect(),
        axis: axis.as_ref().map(|axis| forest::scale(axis, &tick)),
        left_out,
    }
}

fn row(trail: &Trail, controls: &BTreeMap<String, &CellId>, single: &[&Effect], effect: &Effect) -> Row {
    let linear = effect.scale == Scale::Linear.word();
    let neutral = if linear { Scale::Linear } else { Scale::Log }.neutral();
    let margin = effect.margin.map(|m| if linear { (-m, m) } else { (1.0 / (1.0 + m), 1.0 + m) });
    let blocks = blocks(trail, controls, single, effect);
    let told = match blocks.len() {
        0 => "no block with both runs".to_owned(),
        1 => format!("one block: {}", blocks[0].label),
        n => format!("{n} blocks, a dot each"),
    };
    Row {
        told,
        estimate: effect.ratio.or(effect.difference),
        interval: effect.interval.map(|i| (i.low, i.high)),
        bounds: effect.bounds.map(|b| (b.low, b.high)),
        margin,
        neutral,
        blocks,
        class: effect.verdict.word().replace(' ', "-"),
        pooled: effect.cell.is_none(),
    }
}

/// What every block says alone: of a pooled effect the mean over its grid points, as in the estimate.
fn blocks(
    trail: &Trail,
    controls: &BTreeMap<String, &CellId>,
    single: &[&Effect],
    effect: &Effect,
) -> Vec<Block> {
    if effect.points == 0 || effect.absent.contains_key("ratio") && effect.bounds.is_none() {
        return vec![];
    }
    let own = |e: &&&Effect| {
        e.arm == effect.arm
            && e.kind == effect.kind
            && e.points > 0
            && effect.cell.as_ref().is_none_or(|cell| e.cell.as_ref() == Some(cell))
    };
    let pairs: Vec<(&CellId, &CellId)> = single
        .iter()
        .filter(own)
        .filter_map(|e| Some((e.cell.as_ref()?, *controls.get(&levels(&e.levels))?)))
        .collect();
    let left_out: BTreeSet<&str> = effect.left_out.iter().map(|l| l.block.as_str()).collect();
    let linear = effect.scale == Scale::Linear.word();
    let block = |number: u32| {
        let mut sum = 0.0;
        for (cell, control) in &pairs {
            let [a, b] = [cell, control].map(|cell| reading(trail, cell, number, effect, linear));
            sum += a? - b?;
        }
        let mean = sum / pairs.len() as f64;
        let value = if linear || mean.is_infinite() { mean } else { mean.exp() };
        let run = pairs.first().and_then(|(cell, _)| trail.in_block(cell, number));
        let what = if pairs.len() > 1 { format!(" over {} grid points", pairs.len()) } else { String::new() };
        let told = if value.is_infinite() { "a run timed out".to_owned() } else { ratio(value) };
        Some(Block {
            value,
            label: format!("block {number}{what}: {told}"),
            href: run.filter(|_| pairs.len() == 1).and_then(|run| trail.href(run)),
        })
    };
    let numbers = trail.evidence.blocks.keys().filter(|n| trail.evidence.is_planned_block(**n));
    let counted = numbers.filter(|n| !left_out.contains(n.to_string().as_str()));
    let found: Vec<Block> = counted.filter_map(|n| block(*n)).filter(|b| !b.value.is_nan()).collect();
    let points: Vec<(f64, f64)> = found.iter().enumerate().map(|(i, b)| (i as f64, b.value)).collect();
    crate::plot::thin::extremes(&points, trail.most_dots()).into_iter().map(|i| found[i].clone()).collect()
}

/// A run's value on the scale of the effect; a run that timed out is the worst there is.
fn reading(trail: &Trail, cell: &CellId, block: u32, effect: &Effect, linear: bool) -> Option<f64> {
    let run = trail.in_block(cell, block)?;
    if trail.row(run).note.outcome == RunOutcome::TimedOut {
        return Some(match effect.better {
            Better::Lower => f64::INFINITY,
            Better::Higher => f64::NEG_INFINITY,
        });
    }
    let scale = if linear { Scale::Linear } else { Scale::Log };
    scale.of(trail.value(run, &effect.response)?)
}
