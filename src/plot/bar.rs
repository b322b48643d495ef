//! A sum as one bar: its parts side by side, each as wide as its share.

use super::svg::{Svg, escape};

/// One part of a sum.
#[derive(Debug, Clone)]
pub struct Part {
    pub name: String,
    pub count: u64,
    /// Class of its colour and pattern.
    pub class: String,
    /// Where a click leads.
    pub href: String,
    /// Outcome that a script filters by.
    pub filter: String,
}

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 22.0;
/// A part of few beside many is still seen and hit.
const NARROWEST: f64 = 14.0;

/// The bar; empty parts are not drawn.
pub fn bar(told: &str, parts: &[Part]) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let parts: Vec<&Part> = parts.iter().filter(|p| p.count > 0).collect();
    let all: u64 = parts.iter().map(|p| p.count).sum();
    let share = |p: &Part| WIDTH * p.count as f64 / all.max(1) as f64;
    let wanting: f64 = parts.iter().map(|p| (NARROWEST - share(p)).max(0.0)).sum();
    let spare: f64 = parts.iter().map(|p| (share(p) - NARROWEST).max(0.0)).sum();
    let mut x = 0.0;
    for part in parts {
        let own = share(part);
        let width = own.max(NARROWEST) - (own - NARROWEST).max(0.0) / spare.max(1e-9) * wanting;
        let (shown, label) = (part.count.to_string(), format!("{} {}", part.count, part.name));
        let mut piece = Svg::new(WIDTH, HEIGHT);
        piece.rect(&part.class, (x, 0.0), (width - 1.0, HEIGHT));
        if width > 8.0 * shown.len() as f64 + 4.0 {
            piece.text("m in-bar", (x + width / 2.0, 15.5), &shown);
        }
        let filter = escape(&part.filter);
        svg.labelled(Some(&part.href), &label, &format!("<g data-filter=\"{filter}\">{}</g>", piece.body()));
        x += width;
    }
    svg.finish("bar", told)
}
