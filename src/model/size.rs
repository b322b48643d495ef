//! Sizes in bytes as people write them.

const UNITS: [(&str, u64); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// A whole number with its unit, such as `512B`, `64KiB` or `10MB`. None for anything else: `64K` could be
/// 64000 or 65536.
pub fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
    let number = number.trim_end();
    let padded = number.len() > 1 && number.starts_with('0');
    let plain = !number.is_empty() && !padded && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| plain)?.checked_mul(unit)
}

/// A size for reading: `16.0 MiB`, and below one KiB the bytes themselves.
pub fn shown(bytes: f64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let fits = units.iter().find(|(_, power)| bytes.abs() >= f64::from(1u32 << power));
    match fits {
        Some((name, power)) => format!("{:.1} {name}", bytes / f64::from(1u32 << power)),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_need_a_unit_that_means_one_thing() {
        assert_eq!(bytes("1MiB"), Some(1 << 20));
        assert_eq!(bytes("10MB"), Some(10_000_000));
        for wrong in ["64K", "64", "1.5MiB", "-1B", "01B", "MiB", "99999999999GiB"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
        assert_eq!((shown(16_777_216.0), shown(500.0)), ("16.0 MiB".to_owned(), "500 B".to_owned()));
    }
}
