//! Numbers as people read them.

/// Five significant digits with an SI prefix: `12.346 ms`, `1.2346 M frames/s`. Symbols take the
/// prefix directly, words after a space.
pub fn quantity(value: f64, unit: &str) -> String {
    let (scaled, prefix) = prefixed(value);
    let number = digits(scaled);
    format!("{number} {}", with_prefix(prefix, unit)).trim_end().to_owned()
}

fn with_prefix(prefix: &str, unit: &str) -> String {
    // A remark may follow the unit.
    let plain = unit.split(',').next().unwrap_or(unit);
    let symbol = plain.len() <= 2 || unit.starts_with("bit/") || unit.starts_with("B/");
    if prefix.is_empty() || symbol { format!("{prefix}{unit}") } else { format!("{prefix} {unit}") }
}

/// One unit, one prefix and one number of decimals for a whole column, so that the unit stands once
/// in its heading and the digits stand below each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    size: f64,
    decimals: usize,
    /// Unit with its prefix; empty where the values lie too far apart to share one.
    pub heading: String,
    /// The unit that each value carries itself where they cannot share one.
    alone: Option<String>,
}

/// More decimals than this make a column harder to read than values with units of their own.
const MOST_DECIMALS: i32 = 6;

impl Scale {
    /// For these values: the prefix of the largest, and four significant digits for the smallest.
    pub fn of(values: impl IntoIterator<Item = f64>, unit: &str) -> Scale {
        let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        let largest = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let smallest = values.iter().filter(|v| **v != 0.0).fold(largest, |least, v| least.min(v.abs()));
        if largest < 1e5 && values.iter().all(|v| v.fract() == 0.0) {
            return Scale { size: 1.0, decimals: 0, heading: unit.to_owned(), alone: None };
        }
        let (scaled, prefix) = prefixed(largest);
        let size = largest / scaled;
        let decimals = 3 - (smallest / size).log10().floor() as i32;
        if decimals > MOST_DECIMALS {
            return Scale { size: 1.0, decimals: 0, heading: String::new(), alone: Some(unit.to_owned()) };
        }
        let heading = with_prefix(prefix, unit);
        Scale { size, decimals: decimals.max(0) as usize, heading, alone: None }
    }

    /// One value of the column.
    pub fn text(&self, value: f64) -> String {
        match &self.alone {
            Some(unit) => quantity(value, unit),
            None => format!("{:.*}", self.decimals, value / self.size),
        }
    }

    /// Two ends of the column; an open one is left out.
    pub fn between(&self, low: f64, high: f64) -> String {
        match (low.is_finite(), high.is_finite()) {
            (true, true) => format!("{} to {}", self.text(low), self.text(high)),
            (true, false) => format!("above {}", self.text(low)),
            (false, true) => format!("below {}", self.text(high)),
            (false, false) => "unbounded".to_owned(),
        }
    }

    /// A round value beside an axis: no more digits than it has.
    pub fn tick(&self, value: f64) -> String {
        match &self.alone {
            Some(unit) => quantity(value, unit),
            None => trimmed(format!("{:.*}", self.decimals.max(3), value / self.size)),
        }
    }

    /// A name with the unit of its values: `wall_time, ms`.
    pub fn named(&self, name: &str) -> String {
        if self.heading.is_empty() { name.to_owned() } else { format!("{name}, {}", self.heading) }
    }

    /// One value outside of the column, with its unit.
    pub fn with_unit(&self, value: f64) -> String {
        format!("{} {}", self.text(value), self.heading).trim_end().to_owned()
    }
}

/// A time of the journal to the second: `2026-11-30 10:00:05 UTC`; other text stays as it is.
pub fn moment(at: &str) -> String {
    match (at.get(..10), at.get(10..11), at.get(11..19)) {
        (Some(day), Some("T"), Some(time)) if at.ends_with('Z') => format!("{day} {time} UTC"),
        _ => at.to_owned(),
    }
}

/// Text from outside with its control characters written out (`\x1b`), so that no escape sequence acts on a
/// reader's screen, and likewise what turns the direction of writing, so that nothing reads as another text than
/// it is; line ends and tabs stay.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if acts(c) && u32::from(c) < 256 => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if acts(c) => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// Characters that do something instead of being seen: controls (C0, delete, C1) and marks, embeddings, overrides
/// and isolates of the writing direction (Unicode Standard Annex 9).
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `1 run`, `2 runs`; for words whose plural is an s more.
pub fn plural(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// Four significant digits, without a unit and without zeros at the end.
pub fn short(value: f64) -> String {
    let decimals = |digits: f64| (3.0 - digits).clamp(0.0, 9.0) as usize;
    match value.abs() {
        0.0 => "0".to_owned(),
        v if (1e-4..1e6).contains(&v) => trimmed(format!("{value:.*}", decimals(v.log10().floor()))),
        _ => format!("{value:.3e}"),
    }
}

/// All digits, as short as reads back to the same number.
pub fn exact(value: f64) -> String {
    value.to_string()
}

/// A duration in nanoseconds, with a unit that suits it.
pub fn duration(ns: u64) -> String {
    quantity(ns as f64 / 1e9, "s")
}

const PREFIXES: [(f64, &str); 8] =
    [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];

fn prefixed(value: f64) -> (f64, &'static str) {
    // Half a step of the fifth digit below 1000 would be shown as 1000.0.
    let found = PREFIXES.iter().find(|(size, _)| value.abs() >= size * 0.999_995);
    match found {
        Some((size, prefix)) if value.is_finite() => (value / size, prefix),
        _ => (value, ""),
    }
}

fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if !(0.1..1000.0).contains(&v) => format!("{value:.4e}"),
        v if v >= 99.9995 => trimmed(format!("{value:.2}")),
        v if v >= 9.99995 => trimmed(format!("{value:.3}")),
        _ => trimmed(format!("{value:.4}")),
    }
}

fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_five_digits_and_a_prefix() {
        for (value, unit, expected) in [
            (0.012_345_67, "s", "12.346 ms"),
            (1_234_567.0, "frames/s", "1.2346 M frames/s"),
            (9.87e9, "bit/s", "9.87 Gbit/s"),
            (999_999.9, "B", "1 MB"),
            (-22.75, "s", "-22.75 s"),
            (0.0, "frames", "0 frames"),
            (3.0, "", "3"),
            (4e-12, "s", "4.0000e-12 s"),
        ] {
            assert_eq!(quantity(value, unit), expected);
        }
        let shorts = [0.95, 1.0, 12_345.6, 0.000_123_456, 2e-7, -3.5].map(short);
        assert_eq!(shorts, ["0.95", "1", "12346", "0.0001235", "2.000e-7", "-3.5"]);
        assert_eq!(exact(0.1 + 0.2), "0.30000000000000004");
        assert_eq!(duration(1_500_000), "1.5 ms");
    }

    #[test]
    fn a_column_has_one_unit_and_aligned_digits() {
        let shown = |values: &[f64], unit: &str| {
            let scale = Scale::of(values.iter().copied(), unit);
            let texts: Vec<String> = values.iter().map(|v| scale.text(*v)).collect();
            (scale.heading.clone(), texts.join(" "))
        };
        let of = |heading: &str, texts: &str| (heading.to_owned(), texts.to_owned());
        assert_eq!(shown(&[1_341_000.0, 926_970.0], "frames/s"), of("M frames/s", "1.3410 0.9270"));
        assert_eq!(shown(&[0.0331, 0.007_402_8], "s"), of("ms", "33.100 7.403"));
        assert_eq!(shown(&[0.0, 3.0, 12.0], "frames"), of("frames", "0 3 12"));
        assert_eq!(shown(&[5e9, 100.5], "B"), of("", "5 GB 100.5 B"), "too far apart");
        assert_eq!(shown(&[], "s"), of("s", ""));
        assert_eq!(shown(&[f64::NAN, 0.25], "s"), of("ms", "NaN 250.0"));
    }

    #[test]
    fn what_a_program_wrote_cannot_act_on_a_screen() {
        assert_eq!(visible("a\tb\n\u{1b}[31mred\u{9b}m\u{7f}"), "a\tb\n\\x1b[31mred\\x9bm\\x7f");
        assert_eq!(visible("a\u{202e}b\u{2066}"), "a\\u{202e}b\\u{2066}", "nor turn what is read");
        assert_eq!(moment("2026-11-30T19:58:08.777Z"), "2026-11-30 19:58:08 UTC");
        assert_eq!(moment("yesterday"), "yesterday");
    }
}
