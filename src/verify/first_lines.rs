//! The first lines in which two texts differ.

use std::collections::BTreeMap;

use super::answer::Text;
use super::fields::field;

/// Lines shown of each kind of difference.
const MOST: usize = 4;
/// Characters shown of a line.
const WIDTH: usize = 160;

/// The first differing lines of two texts, each with whose it is.
pub fn differing(reference: (&str, &Text), own: (&str, &Text)) -> Vec<String> {
    let ((theirs, a), (ours, b)) = (reference, own);
    let (lines_a, lines_b) = (lines(a), lines(b));
    let mut shown = match a.ordered {
        true => in_order((theirs, &lines_a), (ours, &lines_b)),
        false => as_sets((theirs, &lines_a), (ours, &lines_b)),
    };
    if shown.is_empty() && !(a.whole && b.whole) {
        let compared = a.bytes.len().min(b.bytes.len());
        shown.push(format!("their first {compared} bytes are equal; they differ after that"));
    } else if shown.is_empty() && a.bytes != b.bytes {
        shown.push("their lines are equal; only the end of the last line differs".to_owned());
    }
    shown
}

/// Complete lines without their ends; of a text that is cut, the broken last line is left out.
fn lines(text: &Text) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.bytes.split(|byte| *byte == b'\n').collect();
    if !text.whole || lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

fn in_order((theirs, a): (&str, &[&[u8]]), (ours, b): (&str, &[&[u8]])) -> Vec<String> {
    let pairs = (0..a.len().max(b.len())).map(|at| (at, a.get(at), b.get(at)));
    let mut found: Vec<String> = pairs
        .filter(|(_, a, b)| a != b)
        .take(MOST)
        .flat_map(|(at, a, b)| one((theirs, a.copied()), (ours, b.copied()), at + 1))
        .collect();
    let all = (0..a.len().max(b.len())).filter(|at| a.get(*at) != b.get(*at)).count();
    if all > MOST {
        found.push(format!("{} more lines differ", all - MOST));
    }
    found
}

/// A pair of lines; of `name=value` words only those that differ.
fn one((theirs, a): (&str, Option<&[u8]>), (ours, b): (&str, Option<&[u8]>), number: usize) -> Vec<String> {
    if let Some(fields) = a.zip(b).and_then(|(a, b)| differing_fields(a, b)) {
        return fields
            .into_iter()
            .map(|(name, a, b)| {
                let (name, a, b) = (visible(name), visible(a), visible(b));
                format!("line {number}, {name}: {theirs} has {a}, {ours} has {b}")
            })
            .collect();
    }
    let shown =
        |line: Option<&[u8]>| line.map_or("no such line".to_owned(), |line| format!("`{}`", visible(line)));
    vec![format!("line {number}: {theirs} has {}, {ours} has {}", shown(a), shown(b))]
}

type Field<'a> = (&'a [u8], &'a [u8], &'a [u8]);

/// None where the lines are not made of the same names.
fn differing_fields<'a>(a: &'a [u8], b: &'a [u8]) -> Option<Vec<Field<'a>>> {
    let words = |line: &'a [u8]| -> Vec<&'a [u8]> {
        line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
    };
    let (a, b) = (words(a), words(b));
    if a.len() != b.len() {
        return None;
    }
    let mut found = vec![];
    for (a, b) in a.into_iter().zip(b).filter(|(a, b)| a != b) {
        let ((name, theirs), (own, ours)) = (field(a)?, field(b)?);
        if name != own {
            return None;
        }
        found.push((name, theirs, ours));
    }
    (!found.is_empty()).then_some(found)
}

/// Lines that one side has more often than the other.
fn as_sets((theirs, a): (&str, &[&[u8]]), (ours, b): (&str, &[&[u8]])) -> Vec<String> {
    let mut counts: BTreeMap<&[u8], (i64, usize)> = BTreeMap::new();
    for (at, line) in a.iter().enumerate() {
        counts.entry(line).or_insert((0, at)).0 += 1;
    }
    for (at, line) in b.iter().enumerate() {
        counts.entry(line).or_insert((0, at)).0 -= 1;
    }
    let mut found = vec![];
    for (who, sign) in [(theirs, 1), (ours, -1)] {
        let mut more: Vec<(&[u8], i64, usize)> =
            counts.iter().map(|(line, (n, at))| (*line, n * sign, *at)).filter(|(_, n, _)| *n > 0).collect();
        more.sort_by_key(|(.., at)| *at);
        found.extend(more.iter().take(MOST).map(|(line, n, _)| {
            let times = if *n == 1 { "once".to_owned() } else { format!("{n} times") };
            format!("only {who} has `{}` ({times} more)", visible(line))
        }));
        if more.len() > MOST {
            found.push(format!("{} more lines that only {who} has", more.len() - MOST));
        }
    }
    found
}

/// Bytes for a terminal: what is not printable is escaped, and a long line is cut.
fn visible(line: &[u8]) -> String {
    let mut text = String::new();
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() { text.extend(c.escape_default()) } else { text.push(c) }
        }
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
        if text.len() > 8 * WIDTH {
            break;
        }
    }
    match text.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
