//! The pieces of a figure: escaped text, rounded coordinates, and the marks of series.

use std::fmt::Write;

/// Kinds of marks; more series than this share them.
pub const SERIES: usize = 6;

/// Text from anywhere as it may stand between tags and in quoted attributes.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // XML has no way to write these.
            c if c.is_control() && c != '\n' && c != '\t' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// A coordinate with at most one decimal, so that bytes are stable; what is no number becomes 0.
pub fn at(coordinate: f64) -> String {
    let rounded = (if coordinate.is_finite() { coordinate } else { 0.0 } * 10.0).round() / 10.0;
    // Minus zero would be written with its sign.
    format!("{}", rounded + 0.0)
}

/// A figure under construction, in CSS pixels from the top left.
#[derive(Debug)]
pub struct Svg {
    pub width: f64,
    pub height: f64,
    body: String,
    links: bool,
}

impl Svg {
    pub fn new(width: f64, height: f64) -> Svg {
        Svg { width, height, body: String::new(), links: false }
    }

    /// What has been drawn so far, for a group inside of another figure.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Markup that is escaped already.
    pub fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = write!(
            self.body,
            "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
            at(x1),
            at(y1),
            at(x2),
            at(y2)
        );
    }

    pub fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            at(x),
            at(y),
            at(width.max(0.0)),
            at(height.max(0.0))
        );
    }

    pub fn path(&mut self, class: &str, d: &str) {
        let _ = write!(self.body, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    /// `class` holds the anchor too: `l` for left, `m` for middle, `r` for right.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let _ = write!(
            self.body,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
            at(x),
            at(y),
            escape(text)
        );
    }

    /// Marks with a tooltip, which may be a link; out of the tab order, since a table beside the figure
    /// has the same links.
    pub fn labelled(&mut self, href: Option<&str>, label: &str, mark: &str) {
        let title =
            if label.is_empty() { String::new() } else { format!("<title>{}</title>", escape(label)) };
        let _ = match href {
            Some(href) => {
                self.links = true;
                let label = escape(label);
                write!(
                    self.body,
                    "<a href=\"{}\" tabindex=\"-1\" aria-label=\"{label}\">{mark}{title}</a>",
                    escape(href)
                )
            }
            None if title.is_empty() => write!(self.body, "{mark}"),
            None => write!(self.body, "<g>{mark}{title}</g>"),
        };
    }

    /// The finished figure; `told` is what a reader without eyes for it hears.
    pub fn finish(self, class: &str, told: &str) -> String {
        // Nothing inside of an image can be reached by a screen reader, so a figure with links is a group.
        let role = if self.links { "group" } else { "img" };
        let (width, height) = (at(self.width), at(self.height));
        format!(
            "<svg class=\"{class}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"{role}\" \
             aria-label=\"{}\">{}</svg>",
            escape(told),
            self.body
        )
    }
}

/// The mark of a series at a point: shape and colour both tell it apart. Series 0 is the control.
pub fn mark(series: usize, x: f64, y: f64) -> String {
    let kind = series % SERIES;
    let class = format!("s{kind}");
    let (x, y) = (at(x), at(y));
    match kind {
        0 => format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"3\"/>"),
        1 => format!("<path class=\"{class}\" d=\"M{x} {y}m-3-3h6v6h-6z\"/>"),
        2 => format!("<path class=\"{class}\" d=\"M{x} {y}m0-4l4 7h-8z\"/>"),
        3 => format!("<path class=\"{class}\" d=\"M{x} {y}m0-4l4 4l-4 4l-4-4z\"/>"),
        4 => format!("<path class=\"{class}\" d=\"M{x} {y}m0 4l4-7h-8z\"/>"),
        _ => format!("<path class=\"{class}\" d=\"M{x} {y}m-1-4h2v3h3v2h-3v3h-2v-3h-3v-2h3z\"/>"),
    }
}

/// The mark of a series for a legend, beside its name in text.
pub fn key(series: usize) -> String {
    format!(
        "<svg class=\"key\" width=\"12\" height=\"12\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">{}</svg>",
        mark(series, 6.0, 6.0)
    )
}
