//! Figures of cells: runs in their order, readings inside runs, and distributions.

use serde::Serialize;

use super::number::{Scale, plural};
use super::trail::Trail;
use crate::analysis::findings::CellSummary;
use crate::evidence::event::Sample;
use crate::evidence::fold::Evidence;
use crate::model::arm::ArmKind;
use crate::model::cell::CellId;
use crate::model::outcome::RunOutcome;
use crate::model::response::Better;
use crate::plot::thin::extremes;
use crate::plot::{Chart, Layer, Mark, Side, chart, key};

/// Runs whose readings are drawn in one figure.
const MOST_LINES: usize = 8;
/// Readings of one run that are drawn.
const MOST_READINGS: usize = 120;
const HEIGHT: f64 = 200.0;

/// A figure with its caption and legend.
#[derive(Debug, Serialize)]
pub struct FigureView {
    pub svg: String,
    pub caption: String,
    /// Mark and name of each series.
    pub key: Vec<(String, String)>,
}

/// What the figures of one response have in common.
pub struct Drawn<'t> {
    pub trail: &'t Trail<'t>,
    pub response: &'t str,
    pub better: Better,
    pub scale: &'t Scale,
}

/// Shape and colour of an arm, the same in every figure: 0 is the control.
pub fn series_of(evidence: &Evidence, arm: &str) -> usize {
    let arms = evidence.opening.as_ref().map_or(&[][..], |o| &o.arms);
    let others = arms.iter().filter(|a| a.kind != ArmKind::Control);
    others.map(|a| &a.name).position(|name| name == arm).map_or(0, |i| 1 + i % (crate::plot::svg::SERIES - 1))
}

/// Every run of a cell in the order of the campaign, its control behind, a cut where each block begins.
pub fn in_order(drawn: &Drawn, cell: &CellSummary, control: Option<&CellId>) -> Option<FigureView> {
    let trail = drawn.trail;
    let series = series_of(trail.evidence, &cell.arm);
    let control = control.filter(|control| **control != cell.cell);
    let own = trail.counted(&cell.cell);
    if own.is_empty() {
        return None;
    }
    let mark = |place: &usize| {
        let note = &trail.row(*place).note;
        let observed = note.values.get(drawn.response).copied();
        let outcome = match note.outcome {
            RunOutcome::Measured => String::new(),
            other => format!("{}, ", other.name().replace('_', " ")),
        };
        let told = observed.map_or_else(|| "no value".to_owned(), |v| drawn.scale.with_unit(v));
        Mark {
            x: (*place + 1) as f64,
            y: observed.unwrap_or(f64::NAN),
            label: format!("run {}, block {}: {outcome}{told}", place + 1, note.run.block),
            href: trail.href(*place),
        }
    };
    let counts = |place: &&usize| trail.value(**place, drawn.response).is_some();
    let (counted, others): (Vec<&usize>, Vec<&usize>) = own.iter().partition(counts);
    let thin = |places: Vec<&usize>| -> Vec<Mark> {
        let marks: Vec<Mark> = places.into_iter().map(mark).collect();
        let points: Vec<(f64, f64)> = marks.iter().map(|m| (m.x, m.y)).collect();
        extremes(&points, trail.most_dots()).into_iter().map(|i| marks[i].clone()).collect()
    };
    let (kept, crosses) = (thin(counted), thin(others));
    let behind: Vec<(f64, f64)> = control
        .map_or(&[][..], |control| trail.counted(control))
        .iter()
        .filter_map(|place| Some(((*place + 1) as f64, trail.value(*place, drawn.response)?)))
        .collect();
    let behind: Vec<(f64, f64)> =
        extremes(&behind, trail.most_dots()).into_iter().map(|i| behind[i]).collect();
    let mut blocks: Vec<(f64, String)> = vec![];
    let mut both: Vec<usize> =
        own.iter().chain(control.map_or(&[][..], |c| trail.counted(c))).copied().collect();
    both.sort_unstable();
    for place in both {
        let block = trail.row(place).note.run.block.to_string();
        if blocks.last().is_none_or(|(_, last)| *last != block) {
            blocks.push(((place + 1) as f64 - 0.5, block));
        }
    }
    let shown = kept.len() + crosses.len();
    let thinned = if shown < own.len() {
        format!(" {shown} of {} runs are drawn, the lowest and highest among them.", own.len())
    } else {
        String::new()
    };
    let mut layers = vec![Layer::Cuts(blocks)];
    let mut legend = vec![(key(series), cell.arm.clone())];
    if !behind.is_empty() {
        layers.push(Layer::Line { series: 0, points: behind.clone() });
        layers.push(Layer::Dust { series: 0, points: behind });
        legend.push((key(0), "control".to_owned()));
    }
    layers.push(Layer::Dots { series, marks: kept });
    let said = match crosses.is_empty() {
        true => "",
        false => " A cross is a run that does not count, at what had been observed or at the edge.",
    };
    layers.push(Layer::Crosses(crosses));
    let tick = |v: f64| drawn.scale.tick(v);
    let svg = Chart {
        told: format!(
            "{} of {} in the order of the campaign, {}",
            drawn.response,
            cell.cell,
            plural(own.len() as u64, "run")
        ),
        x: Side {
            name: "run of the campaign".into(),
            log: false,
            tick: &|v| format!("{v}"),
            holds: vec![],
            named: vec![],
        },
        y: Side {
            name: drawn.scale.named(drawn.response),
            log: false,
            tick: &tick,
            holds: vec![],
            named: vec![],
        },
        layers,
        width: chart::NARROW,
        height: HEIGHT,
    }
    .draw()?;
    Some(FigureView {
        svg,
        caption: format!("Every run in its order; lines mark where blocks begin.{said}{thinned}"),
        key: legend,
    })
}

/// Readings inside the runs of a cell over time, the settle time shaded.
pub fn inside(
    drawn: &Drawn,
    cell: &CellSummary,
    unit_of: &dyn Fn(&str) -> Option<String>,
) -> Option<FigureView> {
    let trail = drawn.trail;
    let series = series_of(trail.evidence, &cell.arm);
    let samples = |place: usize| trail.row(place).note.samples.as_slice();
    let own = trail.counted(&cell.cell);
    let any = own.iter().flat_map(|place| samples(*place));
    let metric: &str = match any.clone().any(|s| *s.metric == *drawn.response) {
        true => drawn.response,
        false => &any.clone().next()?.metric,
    };
    let readings =
        |place: usize| -> Vec<&Sample> { samples(place).iter().filter(|s| *s.metric == *metric).collect() };
    let with: Vec<usize> = own.iter().copied().filter(|place| readings(*place).len() > 1).collect();
    let mean = |place: &usize| {
        let of = readings(*place);
        of.iter().map(|s| s.value).sum::<f64>() / of.len() as f64
    };
    let means: Vec<(f64, f64)> = with.iter().map(|place| (*place as f64, mean(place))).collect();
    let chosen: Vec<usize> = extremes(&means, MOST_LINES).into_iter().map(|i| with[i]).collect();
    let all = || chosen.iter().flat_map(|place| readings(*place));
    let scale = match metric == drawn.response {
        true => drawn.scale.clone(),
        false => Scale::of(all().map(|s| s.value), &unit_of(metric).unwrap_or_default()),
    };
    let seconds = |ns: u64| ns as f64 / 1e9;
    let settle = all().filter(|s| s.settling).map(|s| s.at_ns).max();
    let after =
        all().filter(|s| !s.settling && settle.is_some_and(|end| s.at_ns > end)).map(|s| s.at_ns).min();
    let mut layers = vec![];
    if let Some(end) = settle {
        let to = after.map_or(seconds(end), |after| (seconds(end) + seconds(after)) / 2.0);
        layers.push(Layer::Band { from: 0.0, to, name: "settling, not counted".into() });
    }
    let mut thinned = 0;
    for place in &chosen {
        let points: Vec<(f64, f64)> = readings(*place).iter().map(|s| (seconds(s.at_ns), s.value)).collect();
        let kept = extremes(&points, MOST_READINGS);
        thinned += usize::from(kept.len() < points.len());
        let points: Vec<(f64, f64)> = kept.into_iter().map(|i| points[i]).collect();
        layers.push(Layer::Line { series, points: points.clone() });
        layers.push(Layer::Dust { series, points });
    }
    let tick = |v: f64| scale.tick(v);
    let svg = Chart {
        told: format!("{metric} over time inside {} of {}", plural(chosen.len() as u64, "run"), cell.cell),
        x: Side {
            name: "seconds since its start".into(),
            log: false,
            tick: &super::number::short,
            holds: vec![0.0],
            named: vec![],
        },
        y: Side { name: scale.named(metric), log: false, tick: &tick, holds: vec![], named: vec![] },
        layers,
        width: chart::NARROW,
        height: HEIGHT,
    }
    .draw()?;
    let which = if chosen.len() < with.len() {
        format!("{} of {} runs, the slowest and fastest among them", chosen.len(), with.len())
    } else {
        "every run a line".to_owned()
    };
    let fewer = if thinned > 0 { " Long runs are thinned to their extremes." } else { "" };
    let caption = format!(
        "Inside the runs: {which}.{fewer} Samples are no replicates; all of them are in samples.csv."
    );
    Some(FigureView { svg, caption, key: vec![(key(series), cell.arm.clone())] })
}

/// The distribution of every arm at one grid point; a run that timed out counts, where it has a bound.
pub fn distribution(drawn: &Drawn, cells: &[&CellSummary]) -> Option<FigureView> {
    let trail = drawn.trail;
    let (mut layers, mut legend) = (vec![], vec![]);
    let mut bounds = 0;
    for cell in cells {
        let runs = trail.counted(&cell.cell);
        let mut values: Vec<f64> =
            runs.iter().filter_map(|place| trail.value(*place, drawn.response)).collect();
        values.sort_unstable_by(f64::total_cmp);
        let Some(first) = values.first().copied() else { continue };
        let summary = cell.responses.iter().find(|r| r.response == drawn.response);
        let has_bounds = summary.is_some_and(|r| r.timed_out > 0);
        let timed_out =
            |place: &&usize| has_bounds && trail.row(**place).note.outcome == RunOutcome::TimedOut;
        let late = runs.iter().filter(timed_out).count();
        bounds += late;
        let below = if drawn.better == Better::Higher { late } else { 0 };
        let all = (values.len() + late) as f64;
        let mut points = vec![(first, below as f64 / all)];
        points.extend(values.iter().enumerate().map(|(i, v)| (*v, (below + i + 1) as f64 / all)));
        let points: Vec<(f64, f64)> =
            extremes(&points, trail.most_dots()).into_iter().map(|i| points[i]).collect();
        let series = series_of(trail.evidence, &cell.arm);
        layers.push(Layer::Steps { series, points });
        legend.push((key(series), format!("{}, n = {}", cell.arm, values.len() + late)));
    }
    let tick = |v: f64| drawn.scale.tick(v);
    let place = cells.first().map(|c| super::view::levels(&c.levels)).unwrap_or_default();
    let svg = Chart {
        told: format!("share of runs at or below each {} at {place}, a curve for each arm", drawn.response),
        x: Side {
            name: drawn.scale.named(drawn.response),
            log: false,
            tick: &tick,
            holds: vec![],
            named: vec![],
        },
        y: Side {
            name: "share of runs".into(),
            log: false,
            tick: &|v| format!("{:.0} %", 100.0 * v),
            holds: vec![0.0, 1.0],
            named: vec![],
        },
        layers,
        width: chart::NARROW,
        height: HEIGHT,
    }
    .draw()?;
    let beyond = if bounds > 0 { " Runs that timed out count and lie beyond the curve's end." } else { "" };
    Some(FigureView {
        svg,
        caption: format!("Distribution (ECDF) of the runs of each arm.{beyond}"),
        key: legend,
    })
}
