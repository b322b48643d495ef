//! Interactions: the square that two changes make, its four corners, and what became of their work.

use serde::Serialize;

use super::number::Scale as Unit;
use super::number::short;
use super::view::anchor;
use crate::analysis::every_pair::{Pair, Square};
use crate::analysis::factorial::made;
use crate::analysis::findings::{CellSummary, Findings};
use crate::analysis::interaction::{Adds, Interaction};
use crate::model::scale::Scale;
use crate::model::work_counts::WorkCounts;
use crate::plot::{Chart, Layer, Mark, Side, chart, key};

/// Squares that are drawn; `findings.json` has all.
const MOST_SQUARES: usize = 12;
/// Cells of a corner that are named.
const MOST_CELLS: usize = 4;

/// The interactions of one response.
#[derive(Debug, Serialize)]
pub struct CrossingsView {
    pub response: String,
    pub squares: Vec<SquareView>,
    pub left_out: usize,
}

/// Two changes, each without and with the other.
#[derive(Debug, Serialize)]
pub struct SquareView {
    pub title: String,
    /// `yes`, `no` or `unknown`: do the gains add?
    pub adds: String,
    pub class: String,
    pub sentence: String,
    /// The same on the other scale.
    pub other: String,
    pub plot: Option<String>,
    pub key: Vec<(String, String)>,
    pub unit: String,
    pub corners: Vec<CornerView>,
    pub has_work: bool,
}

/// One corner of a square.
#[derive(Debug, Serialize)]
pub struct CornerView {
    pub first: String,
    pub second: String,
    /// Blocks in the comparison.
    pub n: u64,
    pub median: String,
    /// Outcomes of all of its runs.
    pub runs: String,
    /// Address and id of its cells, where they are few enough to name.
    pub cells: Vec<(String, String)>,
    /// Success, timeout, transport error and wrong answer of its units of work.
    pub work: Option<[u64; 4]>,
}

/// Squares of the primary responses, those whose gains do not add first.
pub fn crossings(findings: &Findings, unit_of: &dyn Fn(&str) -> Unit) -> Vec<CrossingsView> {
    let primary = findings.interactions.iter().filter(|i| findings.family.responses.contains(&i.response));
    let view = |found: &crate::analysis::findings::InteractionFinding| {
        let scale = scale(findings, &found.response);
        let mut squares: Vec<(&Pair, &Square)> =
            found.pairs.iter().flat_map(|pair| pair.squares.iter().map(move |s| (pair, s))).collect();
        squares.sort_by_key(|(_, s)| match on(s, scale).adds {
            Adds::DoNotAdd => 0,
            Adds::Add => 1,
            Adds::Unknown => 2,
        });
        let all = squares.len() + found.pairs.iter().map(|p| p.left_out as usize).sum::<usize>();
        let unit = unit_of(&found.response);
        let drawn = squares.iter().take(MOST_SQUARES);
        let squares: Vec<SquareView> =
            drawn.map(|(pair, s)| square(findings, pair, s, &found.response, scale, &unit)).collect();
        CrossingsView { response: found.response.clone(), left_out: all - squares.len(), squares }
    };
    primary.map(view).filter(|v| !v.squares.is_empty()).collect()
}

/// On which the answers of a response are judged.
pub fn scale(findings: &Findings, response: &str) -> Scale {
    let linear =
        |e: &crate::analysis::findings::Effect| e.response == response && e.scale == Scale::Linear.word();
    if findings.answers.iter().any(linear) { Scale::Linear } else { Scale::Log }
}

fn on(square: &Square, scale: Scale) -> &Interaction {
    match scale {
        Scale::Log => &square.log,
        Scale::Linear => &square.linear,
    }
}

fn square(
    findings: &Findings,
    pair: &Pair,
    square: &Square,
    response: &str,
    scale: Scale,
    unit: &Unit,
) -> SquareView {
    let other = if scale == Scale::Log { Scale::Linear } else { Scale::Log };
    let found = on(square, scale);
    let corners = [(0, 0), (1, 0), (0, 1), (1, 1)];
    let cells = |(a, b): (usize, usize)| -> Vec<&CellSummary> {
        let has = |cell: &CellSummary, factor: &str, level: &str| match cell.levels.get(factor) {
            Some(own) => own == level,
            None if factor == "arm" => cell.arm == level,
            None => {
                let parts = cell.kind.treatments(&cell.arm);
                parts.is_some_and(|parts| made(parts.contains(&factor)) == level)
            }
        };
        let fits = |c: &&CellSummary| {
            has(c, &pair.first, &square.first[a]) && has(c, &pair.second, &square.second[b])
        };
        findings.cells.iter().filter(fits).collect()
    };
    let corner = |((a, b), found): ((usize, usize), &crate::analysis::interaction::Corner)| {
        let cells = cells((a, b));
        let mut outcomes = std::collections::BTreeMap::new();
        for (name, n) in cells.iter().flat_map(|c| &c.outcomes) {
            *outcomes.entry(name.clone()).or_insert(0) += n;
        }
        let work: Vec<WorkCounts> = cells.iter().filter_map(|c| c.work).collect();
        let sum = |of: fn(&WorkCounts) -> u64| work.iter().map(of).fold(0_u64, u64::saturating_add);
        CornerView {
            first: format!("{}={}", pair.first, square.first[a]),
            second: format!("{}={}", pair.second, square.second[b]),
            n: found.n,
            median: found.median.map_or("none".to_owned(), |m| unit.text(m)),
            runs: super::cells::counts(&outcomes),
            cells: match cells.len() {
                0..=MOST_CELLS => cells.iter().map(|c| (anchor(&c.cell), c.cell.0.clone())).collect(),
                _ => vec![],
            },
            work: (!work.is_empty()).then(|| {
                [sum(|w| w.success), sum(|w| w.timeout), sum(|w| w.transport_error), sum(|w| w.wrong_answer)]
            }),
        }
    };
    let views: Vec<CornerView> = corners.into_iter().zip(&found.corners).map(corner).collect();
    let (adds, class) = match found.adds {
        Adds::Add => ("gains add", "equivalent"),
        Adds::DoNotAdd => ("gains do not add", "not-comparable"),
        Adds::Unknown => ("unknown", "inconclusive"),
    };
    let estimate = found.estimate.filter(|_| scale == Scale::Log).map(short);
    SquareView {
        title: format!(
            "{} {} → {} with {} {} → {}",
            pair.first, square.first[0], square.first[1], pair.second, square.second[0], square.second[1]
        ),
        adds: adds.to_owned(),
        class: class.to_owned(),
        sentence: found.sentence.clone(),
        other: on(square, other).sentence.clone(),
        plot: plot(pair, square, found, response, scale, unit, estimate),
        key: (0..2).map(|b| (key(b), format!("{}={}", pair.second, square.second[b]))).collect(),
        unit: unit.heading.clone(),
        has_work: views.iter().any(|c| c.work.is_some()),
        corners: views,
    }
}

/// Two lines: parallel ones add on the scale of the figure.
fn plot(
    pair: &Pair,
    square: &Square,
    found: &Interaction,
    response: &str,
    scale: Scale,
    unit: &Unit,
    estimate: Option<String>,
) -> Option<String> {
    let height = |a: usize, b: usize| found.corners.get(a + 2 * b).and_then(|c| c.median).unwrap_or(f64::NAN);
    let mut layers = vec![];
    for b in 0..2 {
        let points: Vec<(f64, f64)> = (0..2).map(|a| (a as f64, height(a, b))).collect();
        let marks = points.iter().enumerate().map(|(a, (x, y))| {
            let n = found.corners.get(a + 2 * b).map_or(0, |c| c.n);
            let label = format!(
                "{}={}, {}={}: {}, n = {n}",
                pair.first,
                square.first[a],
                pair.second,
                square.second[b],
                unit.with_unit(*y)
            );
            Mark { x: *x, y: *y, label, href: None }
        });
        let notes =
            points.iter().enumerate().filter(|(_, p)| p.1.is_finite()).map(|(a, (x, y))| Layer::Note {
                x: *x,
                y: *y,
                text: format!("n = {}", found.corners.get(a + 2 * b).map_or(0, |c| c.n)),
            });
        let marks = marks.filter(|m| m.y.is_finite()).collect();
        let notes: Vec<Layer> = notes.collect();
        layers.extend([Layer::Line { series: b, points }, Layer::Dots { series: b, marks }]);
        layers.extend(notes);
    }
    let tick = |v: f64| unit.tick(v);
    let named = (0..2).map(|a| (a as f64, square.first[a].clone())).collect();
    let log = scale == Scale::Log;
    let told = format!(
        "{response} at the four corners of {} and {}{}; parallel lines mean that gains add",
        pair.first,
        pair.second,
        estimate.map_or(String::new(), |e| format!(
            ", both together {e} times the product of the single changes"
        ))
    );
    Chart {
        told,
        x: Side { name: pair.first.clone(), log: false, tick: &tick, holds: vec![-0.25, 1.25], named },
        y: Side {
            name: unit.named(response) + if log { ", log axis" } else { "" },
            log,
            tick: &tick,
            holds: vec![],
            named: vec![],
        },
        layers,
        width: chart::NARROW,
        height: 220.0,
    }
    .draw()
}
