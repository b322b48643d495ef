//! Figures as SVG text that stands in a page without a script.

pub mod axis;
pub mod bar;
pub mod chart;
pub mod forest;
pub mod svg;
#[cfg(test)]
mod tests;
pub mod thin;

pub use axis::Axis;
pub use bar::bar;
pub use chart::{Chart, Layer, Mark, Side};
pub use svg::{escape, key};
