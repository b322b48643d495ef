//! Values in an order, with the levels that they keep and the places where a level changes.

use super::figures::FigureView;
use super::number::{Scale, plural};
use crate::analysis::change_point::{ChangePoint, ChangePoints, step};
use crate::plot::{Chart, Layer, Mark, Side, chart, key};

/// Of a figure with many stops; one with few fits a phone.
const WIDEST: f64 = 720.0;
/// Room for the name of one stop.
const STOP: f64 = 56.0;
const HEIGHT: f64 = 240.0;

/// One place of the order.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    pub name: String,
    /// None where there is none; a cross stands for it then.
    pub value: Option<f64>,
    /// The readings that the value is of, where there are several.
    pub replicates: Vec<f64>,
    /// Kind of its mark, an index into the names of kinds.
    pub kind: usize,
    /// What a pointer at the mark reads.
    pub told: String,
    pub href: Option<String>,
}

/// A row of values.
pub struct Along<'a> {
    /// What stands along the axis: `release`, `record`.
    pub of: &'a str,
    pub response: &'a str,
    pub scale: &'a Scale,
    pub stops: Vec<Stop>,
    /// Changes name their places by the names of stops.
    pub found: &'a ChangePoints,
    /// Series of a mark and what it stands for; those that no stop is of are left out of the legend.
    pub kinds: &'a [(usize, &'a str)],
    pub caption: &'a str,
}

impl Along<'_> {
    /// The figure; None where no stop has a value.
    pub fn figure(&self) -> Option<FigureView> {
        let place = |name: &str| self.stops.iter().position(|stop| stop.name == name);
        let known = self.stops.iter().filter(|stop| stop.value.is_some()).count();
        let cut = |change: &ChangePoint| {
            let (before, after) = (place(&change.after)?, place(&change.name)?);
            Some(((before + after) as f64 / 2.0, step(change.change).replace('-', "−")))
        };
        let cuts: Vec<(f64, String)> = self.found.changes.iter().filter_map(cut).collect();
        let mut layers: Vec<Layer> = self.levels(&cuts);
        layers.push(Layer::Cuts(cuts));
        let mut legend = vec![];
        for (kind, (series, name)) in self.kinds.iter().enumerate() {
            let own = || self.stops.iter().enumerate().filter(|(_, stop)| stop.kind == kind);
            if own().next().is_none() {
                continue;
            }
            let dust = own().flat_map(|(at, stop)| stop.replicates.iter().map(move |v| (at as f64, *v)));
            layers.push(Layer::Dust { series: *series, points: dust.collect() });
            let mark = |(at, stop): (usize, &Stop)| Mark {
                x: at as f64,
                y: stop.value.unwrap_or(f64::NAN),
                label: stop.told.clone(),
                href: stop.href.clone(),
            };
            let (valued, empty): (Vec<_>, Vec<_>) = own().partition(|(_, stop)| stop.value.is_some());
            layers.push(Layer::Dots { series: *series, marks: valued.into_iter().map(mark).collect() });
            layers.push(Layer::Crosses(empty.into_iter().map(mark).collect()));
            legend.push((key(*series), (*name).to_owned()));
        }
        let tick = |value: f64| self.scale.tick(value);
        let names = self.stops.iter().enumerate().map(|(at, stop)| (at as f64, stop.name.clone()));
        let svg = Chart {
            told: format!(
                "{} along {}: {}",
                self.response,
                plural(known as u64, self.of),
                self.found.sentence
            ),
            x: Side {
                name: self.of.to_owned(),
                log: false,
                tick: &tick,
                holds: vec![],
                named: names.collect(),
            },
            y: Side {
                name: self.scale.named(self.response),
                log: self.far_apart(),
                tick: &tick,
                holds: vec![],
                named: vec![],
            },
            layers,
            width: (60.0 + STOP * self.stops.len() as f64).clamp(chart::NARROW, WIDEST),
            height: HEIGHT,
        }
        .draw()
        .filter(|_| known > 0)?;
        let crosses = if known < self.stops.len() { " A cross has no value." } else { "" };
        Some(FigureView { svg, caption: format!("{}{crosses}", self.caption), key: legend })
    }

    /// Whether small steps would vanish beside large ones on an even axis.
    fn far_apart(&self) -> bool {
        let values = || self.stops.iter().flat_map(|stop| stop.value.iter().chain(&stop.replicates)).copied();
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        low > 0.0 && high / low > 20.0
    }

    /// A line at each level, from where it begins to where the next one does.
    fn levels(&self, cuts: &[(f64, String)]) -> Vec<Layer> {
        let changes = &self.found.changes;
        let Some(first) = changes.first().filter(|_| cuts.len() == changes.len()) else { return vec![] };
        let heights = std::iter::once(first.old_level).chain(changes.iter().map(|change| change.new_level));
        let begin = std::iter::once(0.0).chain(cuts.iter().map(|cut| cut.0));
        let last = self.stops.len().saturating_sub(1) as f64;
        let end = cuts.iter().map(|cut| cut.0).chain([last]);
        let line =
            |((from, to), height)| Layer::Line { series: 0, points: vec![(from, height), (to, height)] };
        begin.zip(end).zip(heights).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::change_point::Search;
    use crate::analysis::history::change_points;

    #[test]
    fn every_stop_is_a_mark_and_a_step_is_a_cut_between_two_with_a_line_at_both_levels() {
        let values: Vec<(String, f64)> = (0..12)
            .map(|i| (format!("r{i:02}"), if i < 6 { 100.0 } else { 70.0 } + f64::from(i % 3)))
            .collect();
        let found = change_points(&values, &Search::default());
        assert_eq!(found.changes.len(), 1, "{found:?}");
        let mut stops: Vec<Stop> = values
            .iter()
            .map(|(name, value)| Stop { name: name.clone(), value: Some(*value), ..Stop::default() })
            .collect();
        stops[3].value = None;
        stops[3].told = "r03 was refused".into();
        let scale = Scale::of(values.iter().map(|v| v.1), "s");
        let along = |stops: Vec<Stop>| {
            let kinds = [(0, "record"), (3, "published")];
            Along {
                of: "record",
                response: "wall_time",
                scale: &scale,
                stops,
                found: &found,
                kinds: &kinds,
                caption: "One mark for each record.",
            }
            .figure()
        };
        let figure = along(stops.clone()).expect("a figure");
        assert_eq!(figure.svg.matches("<circle").count(), 11);
        assert_eq!(figure.svg.matches("class=\"gone\"").count(), 1, "a value that is not there is shown");
        assert!(figure.svg.contains("r03 was refused") && figure.caption.ends_with("A cross has no value."));
        assert_eq!(figure.svg.matches("class=\"run s0\"").count(), 2, "both levels: {}", figure.svg);
        assert_eq!(figure.svg.matches("class=\"cut\"").count(), 1);
        assert!(
            figure.svg.contains(">−29") || figure.svg.contains(">−30"),
            "its size is told: {}",
            figure.svg
        );
        assert_eq!(figure.key.len(), 1, "no record is published: {:?}", figure.key);
        let x = |mark: &str| -> f64 {
            mark.split("cx=\"")
                .nth(1)
                .and_then(|r| r.split('"').next())
                .expect("x")
                .parse()
                .expect("a number")
        };
        let marks: Vec<f64> =
            figure.svg.split("<circle").skip(1).map(|m| x(&format!("<circle{m}"))).collect();
        assert!(marks.windows(2).all(|pair| pair[0] < pair[1]), "in their order: {marks:?}");
        stops.iter_mut().for_each(|stop| stop.value = None);
        assert!(along(stops).is_none());
        assert!(along(vec![]).is_none());
    }
}
