//! Names of measured values for tools that know neither our names nor our units.

/// A unit in words: `s` is `seconds`, `frames/s` is `frames_per_second`. A remark after a comma (`software
/// stamps`) stays, because it changes what the number means.
pub fn unit(unit: &str) -> String {
    let (plain, remark) = unit.split_once(',').unwrap_or((unit, ""));
    let part = |part: &str| match part {
        "s" => "seconds".to_owned(),
        "B" => "bytes".to_owned(),
        "bit" => "bits".to_owned(),
        other => other.to_owned(),
    };
    let words = match plain.split_once('/') {
        Some((over, "s")) => format!("{}_per_second", part(over)),
        Some((over, under)) => format!("{}_per_{under}", part(over)),
        None => part(plain),
    };
    let remark = word(remark.trim());
    let words = word(&words);
    if remark.is_empty() { words } else { format!("{words}_{remark}") }
}

/// A response with its unit: `wall_time` in `s` is `wall_time_seconds`.
pub fn measure(response: &str, of_unit: &str) -> String {
    let (name, unit) = (word(response), unit(of_unit));
    if unit.is_empty() { name } else { format!("{name}_{unit}") }
}

/// Letters, digits and underscores, the first no digit.
pub fn word(text: &str) -> String {
    let kept: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if kept.starts_with(|c: char| c.is_ascii_digit()) { format!("_{kept}") } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_in_names_as_words() {
        for (response, of, expected) in [
            ("wall_time", "s", "wall_time_seconds"),
            ("peak_rss", "B", "peak_rss_bytes"),
            ("tx_rate", "frames/s", "tx_rate_frames_per_second"),
            ("tx_bits_l1", "bit/s", "tx_bits_l1_bits_per_second"),
            ("latency_p50", "s, software stamps", "latency_p50_seconds_software_stamps"),
            ("hits", "", "hits"),
            ("9p-rate", "%", "_9p_rate__"),
        ] {
            assert_eq!(measure(response, of), expected);
        }
    }
}
