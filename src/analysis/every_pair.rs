//! Every two-way interaction of a grid, square by square, on both scales.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::factor::Factor;
use super::interaction::{Interaction, of_blocks, of_cells};
use crate::model::scale::Scale;

/// Most squares of one pair of factors that are listed; the analysis of variance covers all.
const MOST_SQUARES: usize = 200;

/// The interactions of two factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    pub first: String,
    pub second: String,
    pub squares: Vec<Square>,
    /// Squares beyond the limit that are not listed.
    pub left_out: u64,
}

/// The first level of two factors against one other level of each, on both scales.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Square {
    /// Reference and changed level of the first factor.
    pub first: [String; 2],
    pub second: [String; 2],
    pub log: Interaction,
    pub linear: Interaction,
}

/// Values of one corner, by block and by levels of the factors that are not in the square.
type Corner = BTreeMap<(usize, Vec<usize>), Vec<f64>>;

/// All pairs of factors. `margin` is relative; on the linear scale it is of the mean of the corner
/// that neither change touches.
pub fn interactions(y: &[f64], factors: &[Factor], block: Option<&Factor>, margin: Option<f64>) -> Vec<Pair> {
    let pairs = (0..factors.len()).flat_map(|a| (a + 1..factors.len()).map(move |b| (a, b)));
    pairs.map(|pair| of_pair(y, factors, block, margin, pair)).collect()
}

fn of_pair(
    y: &[f64],
    factors: &[Factor],
    block: Option<&Factor>,
    margin: Option<f64>,
    (a, b): (usize, usize),
) -> Pair {
    let mut corners: BTreeMap<(usize, usize), Corner> = BTreeMap::new();
    for (i, value) in y.iter().enumerate() {
        let rest = (0..factors.len()).filter(|f| *f != a && *f != b).map(|f| factors[f].codes[i]).collect();
        let corner = corners.entry((factors[a].codes[i], factors[b].codes[i])).or_default();
        corner.entry((block.map_or(0, |block| block.codes[i]), rest)).or_default().push(*value);
    }
    corners.values_mut().flat_map(BTreeMap::values_mut).for_each(|values| values.sort_by(f64::total_cmp));
    let (rows, columns) = (factors[a].levels.len().max(1) - 1, factors[b].levels.len().max(1) - 1);
    let none = Corner::new();
    let square = |(i, j): (usize, usize)| {
        let at = |i: usize, j: usize| corners.get(&(i, j)).unwrap_or(&none);
        let corners = [at(0, 0), at(i, 0), at(0, j), at(i, j)];
        let level = |f: usize, code: usize| factors[f].levels[code].clone();
        Square {
            first: [level(a, 0), level(a, i)],
            second: [level(b, 0), level(b, j)],
            log: judge(corners, block.is_some(), Scale::Log, margin),
            linear: judge(corners, block.is_some(), Scale::Linear, margin),
        }
    };
    let squares = (1..=rows).flat_map(|i| (1..=columns).map(move |j| (i, j))).take(MOST_SQUARES).map(square);
    Pair {
        first: factors[a].name.clone(),
        second: factors[b].name.clone(),
        squares: squares.collect(),
        left_out: (rows * columns).saturating_sub(MOST_SQUARES) as u64,
    }
}

fn judge(corners: [&Corner; 4], in_blocks: bool, scale: Scale, margin: Option<f64>) -> Interaction {
    // Only what all four corners have can be compared without the others' levels getting in between.
    let shared: Vec<&(usize, Vec<usize>)> =
        corners[0].keys().filter(|key| corners[1..].iter().all(|corner| corner.contains_key(key))).collect();
    let reference: Vec<f64> = shared.iter().flat_map(|key| corners[0][*key].iter().copied()).collect();
    let margin = match scale {
        Scale::Log => margin,
        Scale::Linear => margin.map(|m| m * (reference.iter().sum::<f64>() / reference.len() as f64).abs()),
    };
    if !in_blocks {
        let strata: Vec<[Vec<f64>; 4]> =
            shared.iter().map(|key| corners.map(|corner| corner[*key].clone())).collect();
        return of_cells(&strata, scale, margin);
    }
    let blocks: BTreeSet<usize> = shared.iter().map(|key| key.0).collect();
    let rows: Vec<[f64; 4]> = blocks
        .into_iter()
        .map(|block| {
            corners.map(|corner| {
                let runs = shared.iter().filter(|key| key.0 == block).map(|key| mean(&corner[*key], scale));
                mean(&runs.collect::<Vec<_>>(), scale)
            })
        })
        .collect();
    of_blocks(&rows, scale, margin)
}

/// Geometric on the log scale; a value without a logarithm stays what it is, for the judge to tell.
fn mean(values: &[f64], scale: Scale) -> f64 {
    let n = values.len() as f64;
    match scale {
        Scale::Log if values.iter().all(|v| *v > 0.0) => {
            (values.iter().map(|v| v.ln()).sum::<f64>() / n).exp()
        }
        Scale::Log => values.iter().copied().fold(f64::INFINITY, f64::min),
        Scale::Linear => values.iter().sum::<f64>() / n,
    }
}
