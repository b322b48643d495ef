//! Effects with their intervals as lines of text on one axis.

use std::fmt::Write;

use super::look::{Look, column, wrapped};
use super::view::levels;
use crate::analysis::findings::{Effect, Findings};
use crate::analysis::verdict::{between, ratio};
use crate::model::scale::Scale::Linear;

/// Lines that are drawn; the page has all.
const MOST_LINES: usize = 60;
/// Columns of the longest verdict.
const VERDICT: usize = 14;

/// Every arm's effect on one primary response, pooled and at each grid point: `├─●─┤`, with the line of no
/// change and, dotted, the margin within which a change counts as none. Ratios are on a logarithmic axis.
pub fn intervals(findings: &Findings, response: &str, look: &Look) -> String {
    let of = |e: &&Effect| e.response == response && !e.exploratory;
    let mut lines: Vec<(String, &Effect)> = vec![];
    for answer in findings.answers.iter().filter(of) {
        lines.push((answer.arm.clone(), answer));
        let points = findings.effects.iter().filter(of).filter(|e| e.arm == answer.arm);
        if answer.points > 1 {
            lines.extend(points.map(|e| (format!("  {}", levels(&e.levels)), e)));
        }
    }
    let Some((_, first)) = lines.first() else { return String::new() };
    let linear = first.scale == Linear.word();
    let Some(axis) = Axis::over(lines.iter().map(|(_, e)| *e), linear) else { return String::new() };
    let longest = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let names = longest.clamp(8, look.room() * 3 / 10);
    let width = look.room() - names - VERDICT - 4;
    let what = if linear {
        format!("difference from control in {}", first.unit)
    } else {
        "ratio to control".to_owned()
    };
    let margin = first.margin.map_or(String::new(), |_| ", ┊ the margin".to_owned());
    let heading = format!("{response}: {what}, axis {}; │ no change{margin}", between(axis.low, axis.high));
    let mut text = wrapped(&super::look::line(&heading), look.room());
    for (name, effect) in lines.iter().take(MOST_LINES) {
        let drawn = axis.line(effect, width);
        let painted = format!("{drawn} {}", effect.verdict.word());
        let painted = look.paint(effect.verdict, painted.trim_end());
        let _ = writeln!(text, "  {} {painted}", column(name, names));
    }
    if lines.len() > MOST_LINES {
        let more = format!("and {} more effects, which the page has", lines.len() - MOST_LINES);
        text.push_str(&wrapped(&more, look.room()));
    }
    text
}

/// From the lowest end to the highest one, no change and the margin included.
struct Axis {
    low: f64,
    high: f64,
    linear: bool,
}

impl Axis {
    fn over<'a>(effects: impl Iterator<Item = &'a Effect>, linear: bool) -> Option<Axis> {
        let none = if linear { 0.0 } else { 1.0 };
        let (mut low, mut high): (f64, f64) = (none, none);
        for effect in effects {
            let margins = margins(effect).into_iter().flatten();
            let ends = effect.interval.map(|i| [i.low, i.high]).or(effect.bounds.map(|b| [b.low, b.high]));
            let value = effect.ratio.or(effect.difference);
            for at in ends.into_iter().flatten().chain(margins).chain(value) {
                if at.is_finite() && (linear || at > 0.0) {
                    (low, high) = (low.min(at), high.max(at));
                }
            }
        }
        (high > low).then_some(Axis { low, high, linear })
    }

    /// Column of a number, cut off at the edges.
    fn place(&self, at: f64, width: usize) -> usize {
        let along = |v: f64| if self.linear { v } else { v.ln() };
        let part = (along(at) - along(self.low)) / (along(self.high) - along(self.low));
        // An open end lies at the edge.
        (part.clamp(0.0, 1.0) * (width - 1) as f64).round() as usize
    }

    fn line(&self, effect: &Effect, width: usize) -> String {
        let mut drawn = vec![' '; width];
        for at in margins(effect).into_iter().flatten() {
            drawn[self.place(at, width)] = '┊';
        }
        drawn[self.place(if self.linear { 0.0 } else { 1.0 }, width)] = '│';
        if let Some((low, high)) = effect.interval.map(|i| (i.low, i.high)) {
            let (from, to) = (self.place(low, width), self.place(high, width));
            drawn[from..=to].fill('─');
            drawn[from] = if low.is_finite() && low > f64::MIN { '├' } else { '«' };
            drawn[to] = if high.is_finite() { '┤' } else { '»' };
        }
        if let Some(value) = effect.ratio.or(effect.difference) {
            drawn[self.place(value, width)] = '●';
        }
        drawn.into_iter().collect()
    }
}

fn margins(effect: &Effect) -> Option<[f64; 2]> {
    let margin = effect.margin?;
    Some(if effect.scale == Linear.word() { [-margin, margin] } else { [1.0 / (1.0 + margin), 1.0 + margin] })
}

/// The effect as numbers, for a line of its own.
pub fn in_words(effect: &Effect) -> String {
    let Some(value) = effect.ratio.or(effect.difference) else { return "no number".to_owned() };
    let interval = effect.interval.map_or(String::new(), |i| format!(" [{}]", between(i.low, i.high)));
    format!("{}{interval}", ratio(value))
}
