//! Lists of processors, as the kernel writes them (`0-3,6`) and as masks of its bitmaps (`4f`).

use std::collections::BTreeSet;

/// More than any kernel is built for (`CONFIG_NR_CPUS` is at most 8192).
const MOST: u32 = 8192;

/// The processors of a list such as `0-3,6`.
///
/// # Errors
/// What was expected.
pub fn parse(list: &str) -> Result<BTreeSet<u32>, String> {
    let bad = || "a list of processors like `0-3,6`".to_owned();
    let mut found = BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|n| *n < MOST).ok_or_else(bad);
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(bad());
        }
        found.extend(first..=last);
    }
    Ok(found)
}

/// The shortest list of the processors; `off` for none.
pub fn list(cpus: &BTreeSet<u32>) -> String {
    let mut spans: Vec<(u32, u32)> = vec![];
    for cpu in cpus {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => spans.push((*cpu, *cpu)),
        }
    }
    let spans = spans.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    let text: Vec<String> = spans.collect();
    if text.is_empty() { "off".into() } else { text.join(",") }
}

/// The bitmap of the processors, in groups of 32 bits, the highest first.
pub fn mask(cpus: &BTreeSet<u32>) -> String {
    let groups = cpus.last().map_or(1, |last| last / 32 + 1);
    let group = |index: u32| -> u32 {
        (0..32).filter(|bit| cpus.contains(&(index * 32 + bit))).map(|bit| 1u32 << bit).sum()
    };
    let mut text: Vec<String> = (0..groups).rev().map(|index| format!("{:08x}", group(index))).collect();
    if let Some(first) = text.first_mut() {
        *first = first.trim_start_matches('0').to_owned();
        if first.is_empty() {
            "0".clone_into(first);
        }
    }
    text.join(",")
}

/// The processors of a bitmap; None for what is none.
pub fn of_mask(mask: &str) -> Option<BTreeSet<u32>> {
    let mut found = BTreeSet::new();
    for (index, group) in mask.trim().split(',').rev().enumerate() {
        let bits = u32::from_str_radix(group, 16).ok()?;
        let first = u32::try_from(index).ok()?.checked_mul(32)?;
        found.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| first + bit));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_masks_say_the_same() {
        for (text, bits) in
            [("0", "1"), ("0-3,6", "4f"), ("31-32", "1,80000000"), ("64", "1,00000000,00000000")]
        {
            let cpus = parse(text).unwrap();
            assert_eq!((list(&cpus).as_str(), mask(&cpus).as_str()), (text, bits));
            assert_eq!(of_mask(bits), Some(cpus));
        }
        assert_eq!(list(&parse("3,1,2,0").unwrap()), "0-3");
        assert_eq!((list(&BTreeSet::new()).as_str(), mask(&BTreeSet::new()).as_str()), ("off", "0"));
        assert_eq!(of_mask("00000000,00000003"), Some(BTreeSet::from([0, 1])));
        for bad in ["", "a", "3-1", "0-99999999", "1,,2", "-1"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
