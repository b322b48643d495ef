//! Numbers as people read them.

/// Five significant digits with an SI prefix: `12.346 ms`, `1.2346 M frames/s`. Symbols take the
/// prefix directly, words after a space.
pub fn quantity(value: f64, unit: &str) -> String {
    let (scaled, prefix) = prefixed(value);
    let number = digits(scaled);
    let symbol = unit.len() <= 2 || unit.starts_with("bit/") || unit.starts_with("B/");
    match (prefix, unit) {
        ("", "") => number,
        ("", unit) => format!("{number} {unit}"),
        (prefix, unit) if symbol => format!("{number} {prefix}{unit}"),
        (prefix, unit) => format!("{number} {prefix} {unit}"),
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
        assert_eq!(exact(0.1 + 0.2), "0.30000000000000004");
        assert_eq!(duration(1_500_000), "1.5 ms");
    }
}
