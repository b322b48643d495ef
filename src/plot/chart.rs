//! A figure with two axes and layers of lines, steps, dots and bands.

use std::fmt::Write;

use super::axis::Axis;
use super::svg::{Svg, at, mark};

/// One side of a chart.
pub struct Side<'t> {
    pub name: String,
    pub log: bool,
    /// How a value is written.
    pub tick: &'t dyn Fn(f64) -> String,
    /// Values that the axis has to hold beside those of the layers.
    pub holds: Vec<f64>,
    /// Names at values instead of ticks.
    pub named: Vec<(f64, String)>,
}

/// One point of a layer of dots.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    pub x: f64,
    pub y: f64,
    pub label: String,
    pub href: Option<String>,
}

/// What a chart draws, in this order. `series` tells shape and colour; 0 is the control.
#[derive(Debug, Clone)]
pub enum Layer {
    /// A shaded range of x.
    Band {
        from: f64,
        to: f64,
        name: String,
    },
    /// Lines across at values of x, each with a name below the upper edge.
    Cuts(Vec<(f64, String)>),
    /// A line across at a value of y.
    Level {
        at: f64,
        series: usize,
    },
    /// A line through points; a value that is no number breaks it.
    Line {
        series: usize,
        points: Vec<(f64, f64)>,
    },
    /// The same as stairs: each value holds until the next x.
    Steps {
        series: usize,
        points: Vec<(f64, f64)>,
    },
    /// Small dots without names, for many or for what stands behind.
    Dust {
        series: usize,
        points: Vec<(f64, f64)>,
    },
    Dots {
        series: usize,
        marks: Vec<Mark>,
    },
    /// What does not count, at its value where that lies on the axis; beyond it or without one at the edge.
    Crosses(Vec<Mark>),
    /// Words beside a point.
    Note {
        x: f64,
        y: f64,
        text: String,
    },
}

/// A figure with what it shows.
pub struct Chart<'t> {
    /// What a reader without eyes for it hears.
    pub told: String,
    pub x: Side<'t>,
    pub y: Side<'t>,
    pub layers: Vec<Layer>,
    pub width: f64,
    pub height: f64,
}

/// Width at which a figure fits a phone; wider screens have several in a row.
pub const NARROW: f64 = 340.0;
const TOP: f64 = 30.0;
const RIGHT: f64 = 12.0;
const BOTTOM: f64 = 34.0;
/// Of a digit of the ticks, in the widest of the usual fonts.
const LETTER: f64 = 7.0;
/// Height of a line of words.
const LINE: f64 = 12.0;

impl Chart<'_> {
    /// The finished figure; None where no layer has a value.
    pub fn draw(&self) -> Option<String> {
        let (xs, ys): (Vec<f64>, Vec<f64>) = self.layers.iter().flat_map(values).unzip();
        let floor = (self.height - BOTTOM, TOP);
        let y = Axis::over(ys.into_iter().chain(self.y.holds.iter().copied()), self.y.log, floor)?;
        let marks = labels(&self.y, &y, 4);
        let widest = marks.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let left = (widest as f64 * LETTER + 10.0).clamp(24.0, self.width / 2.0);
        let wall = (left, self.width - RIGHT);
        let x = Axis::over(xs.into_iter().chain(self.x.holds.iter().copied()), self.x.log, wall)?;
        let mut svg = Svg::new(self.width, self.height);
        self.frame(&mut svg, &x, &y, &marks);
        let mut notes = vec![];
        for layer in &self.layers {
            match layer {
                Layer::Note { x: px, y: py, text } => {
                    self.note(&mut svg, (x.at(*px), y.at(*py)), text, &mut notes)
                }
                layer => self.layer(&mut svg, layer, &x, &y),
            }
        }
        Some(svg.finish("chart", &self.told))
    }

    fn frame(&self, svg: &mut Svg, x: &Axis, y: &Axis, marks: &[(f64, String)]) {
        let (left, right) = (x.at(x.ends().0), self.width - RIGHT);
        let bottom = self.height - BOTTOM;
        for (value, text) in marks {
            svg.line("grid", (left, y.at(*value)), (right, y.at(*value)));
            svg.text("r", (left - 5.0, y.at(*value) + 3.5), text);
        }
        svg.line("base", (left, bottom), (right, bottom));
        let mut free = f64::NEG_INFINITY;
        for (value, text) in labels(&self.x, x, 5) {
            let (at, half) = (x.at(value), LETTER * text.chars().count() as f64 / 2.0);
            svg.line("tick", (at, bottom), (at, bottom + 4.0));
            let at = at.min(self.width - half - 1.0);
            if at - half > free {
                svg.text("m", (at, bottom + 15.0), &text);
                free = at + half + 4.0;
            }
        }
        svg.text("l name", (0.0, 10.0), &self.y.name);
        svg.text("r name", (right, self.height - 4.0), &self.x.name);
    }

    /// Words beside a point, above those that stand there already.
    fn note(&self, svg: &mut Svg, (px, py): (f64, f64), text: &str, taken: &mut Vec<(f64, f64)>) {
        let (class, dx) = if px > self.width / 2.0 { ("r in", -7.0) } else { ("l in", 7.0) };
        let wide = LETTER * text.chars().count() as f64;
        let (x, mut y) = (px + dx, py - 6.0);
        while taken.iter().any(|(other, height)| (other - x).abs() < wide && (height - y).abs() < LINE) {
            y -= LINE;
        }
        taken.push((x, y));
        svg.text(class, (x, y), text);
    }

    fn layer(&self, svg: &mut Svg, layer: &Layer, x: &Axis, y: &Axis) {
        let bottom = self.height - BOTTOM;
        let class = |kind: &str, series: &usize| format!("{kind} s{}", series % super::svg::SERIES);
        match layer {
            Layer::Band { from, to, name } => {
                svg.rect("settle", (x.at(*from), TOP), (x.at(*to) - x.at(*from), bottom - TOP));
                svg.text("l in", (x.at(*from) + 1.0, TOP - 4.0), name);
            }
            Layer::Cuts(cuts) => {
                let mut free = f64::NEG_INFINITY;
                for (value, name) in cuts {
                    let at = x.at(*value);
                    svg.line("cut", (at, TOP), (at, bottom));
                    if at > free {
                        svg.text("l in", (at - 2.0, TOP - 4.0), name);
                        free = at + LETTER * name.chars().count() as f64 + 4.0;
                    }
                }
            }
            Layer::Level { at, series } => {
                let (left, right) = (x.at(x.ends().0), self.width - RIGHT);
                svg.line(&class("level", series), (left, y.at(*at)), (right, y.at(*at)));
            }
            Layer::Line { series, points } => svg.path(&class("run", series), &through(points, x, y, false)),
            Layer::Steps { series, points } => {
                svg.path(&class("run", series), &through(points, x, y, true));
                // Shapes tell curves apart for eyes that colours do not.
                let mut solid = points.iter().filter(|p| p.0.is_finite() && p.1.is_finite());
                let middle = solid.clone().count() / 2;
                if let Some((px, py)) = solid.nth(middle) {
                    svg.raw(&mark(*series, x.at(*px), y.at(*py)));
                }
            }
            Layer::Dust { series, points } => {
                let mut d = String::new();
                for (px, py) in points.iter().filter(|p| p.1.is_finite()) {
                    let _ = write!(d, "M{} {}h0", at(x.at(*px)), at(y.at(*py)));
                }
                svg.path(&class("dust", series), &d);
            }
            Layer::Dots { series, marks } => {
                for dot in marks {
                    svg.labelled(dot.href.as_deref(), &dot.label, &mark(*series, x.at(dot.x), y.at(dot.y)));
                }
            }
            Layer::Crosses(marks) => {
                for cross in marks {
                    let py = if cross.y.is_nan() { TOP } else { y.at(cross.y) };
                    let (px, py) = (at(x.at(cross.x)), at(py.clamp(TOP + 5.0, bottom - 5.0)));
                    let drawn = format!("<path class=\"gone\" d=\"M{px} {py}m-3-3l6 6m0-6l-6 6\"/>");
                    svg.labelled(cross.href.as_deref(), &cross.label, &drawn);
                }
            }
            Layer::Note { .. } => {}
        }
    }
}

fn labels(side: &Side, axis: &Axis, wanted: usize) -> Vec<(f64, String)> {
    if side.named.is_empty() {
        axis.ticks(wanted).into_iter().map(|v| (v, (side.tick)(v))).collect()
    } else {
        side.named.clone()
    }
}

/// Values that decide how far the axes reach; those that are no number decide nothing.
fn values(layer: &Layer) -> Vec<(f64, f64)> {
    match layer {
        Layer::Band { from, to, .. } => vec![(*from, f64::NAN), (*to, f64::NAN)],
        Layer::Cuts(cuts) => cuts.iter().map(|(x, _)| (*x, f64::NAN)).collect(),
        Layer::Level { at, .. } => vec![(f64::NAN, *at)],
        Layer::Line { points, .. } | Layer::Steps { points, .. } | Layer::Dust { points, .. } => {
            points.clone()
        }
        Layer::Dots { marks, .. } => marks.iter().map(|m| (m.x, m.y)).collect(),
        // A run that does not count must not flatten those that do.
        Layer::Crosses(marks) => marks.iter().map(|m| (m.x, f64::NAN)).collect(),
        Layer::Note { .. } => vec![],
    }
}

fn through(points: &[(f64, f64)], x: &Axis, y: &Axis, stairs: bool) -> String {
    let mut d = String::new();
    let mut broken = true;
    for (px, py) in points {
        if !px.is_finite() || !py.is_finite() {
            broken = true;
            continue;
        }
        let (px, py) = (at(x.at(*px)), at(y.at(*py)));
        let _ = match (broken, stairs) {
            (true, _) => write!(d, "M{px} {py}"),
            (false, true) => write!(d, "H{px}V{py}"),
            (false, false) => write!(d, "L{px} {py}"),
        };
        broken = false;
    }
    d
}
