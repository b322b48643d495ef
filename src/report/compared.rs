//! Two records beside each other, in words for a terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::look::{NARROWEST, line, wrapped};
use super::number::{Scale, moment};
use crate::analysis::findings::Interval;
use crate::analysis::verdict::confidence;
use crate::compare::comparison::{Comparison, FactDifference, Level, Moved, Side};

/// Plain text of at most `width` columns: the two records, facts that differ, numbers, the answer.
pub fn text(found: &Comparison, width: u16) -> String {
    let width = width.max(NARROWEST);
    let mut text = side("before", &found.before) + &side("after", &found.after) + "\n";
    if !found.facts.is_empty() {
        text += &grid(width, &["fact", "before", "after"], found.facts.iter().map(fact).collect(), 0);
    }
    let mut responses: Vec<(&str, &str)> = vec![];
    for own in &found.numbers {
        if !responses.contains(&(&own.response, &own.unit)) && own.why.is_none() {
            responses.push((&own.response, &own.unit));
        }
    }
    for (response, unit) in responses {
        text += &numbers(found, response, unit, width);
    }
    for own in found.numbers.iter().filter(|own| own.why.is_some()) {
        let why = own.why.as_deref().unwrap_or_default();
        text += &wrapped(
            &line(&format!("{} {}: {}: {why}", own.cell, own.response, own.way.word())),
            width.into(),
        );
    }
    for (cells, when) in [(&found.only_before, "before"), (&found.only_after, "after")] {
        if !cells.is_empty() {
            text += &wrapped(&line(&format!("only {when}: {}", cells.join(", "))), width.into());
        }
    }
    for note in &found.notes {
        text += &wrapped(&line(note), width.into());
    }
    text + wrapped(&line(&found.sentence), width.into()).trim_end()
}

fn side(when: &str, own: &Side) -> String {
    let under = if own.condition.is_empty() { String::new() } else { format!(", as {}", own.condition) };
    line(&format!("{when:7} {} of {}, begun {}{under}", own.record, own.campaign, moment(&own.at))) + "\n"
}

fn fact(own: &FactDifference) -> Vec<String> {
    let of = match own.cells.as_slice() {
        [] => own.fact.clone(),
        [one] => format!("{} ({one})", own.fact),
        [first, rest @ ..] => format!("{} ({first} and {} more)", own.fact, rest.len()),
    };
    let said = |value: &Option<String>| match value.as_deref() {
        None => "(absent)".to_owned(),
        Some("") => "(empty)".to_owned(),
        // A digest is known by its beginning; --json has all of it.
        Some(text) if text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()) => {
            text[..12].to_owned()
        }
        Some(text) => line(text),
    };
    vec![line(&of), said(&own.before), said(&own.after)]
}

fn numbers(found: &Comparison, response: &str, unit: &str, width: u16) -> String {
    let own: Vec<&Moved> = found.numbers.iter().filter(|own| own.response == response).collect();
    let medians = own.iter().flat_map(|own| [own.before.median, own.after.median]).flatten();
    let scale = Scale::of(medians, unit);
    let rows = own.iter().map(|own| row(own, &scale)).collect();
    let heading = format!("{response} {}", scale.heading);
    grid(
        width,
        &["cell", &format!("before\n{}", heading.trim_end()), "after", "after / before [interval]", ""],
        rows,
        3,
    )
}

fn row(own: &Moved, scale: &Scale) -> Vec<String> {
    let level = |level: &Level| {
        level.median.map_or("–".to_owned(), |median| format!("{} (n {})", scale.text(median), level.n))
    };
    let interval = |shown: &dyn Fn(f64) -> String| {
        own.interval.map_or(String::new(), |Interval { low, high, confidence: sure }| {
            format!(" [{}–{}], {}", shown(low), shown(high), confidence(sure))
        })
    };
    let effect = match (own.ratio, own.difference) {
        (Some(ratio), _) => format!("{ratio:.4}{}", interval(&|v| format!("{v:.4}"))),
        (_, Some(difference)) => format!("{:+}{}", scale.text(difference), interval(&|v| scale.text(v))),
        _ => "–".to_owned(),
    };
    vec![line(&own.cell), level(&own.before), level(&own.after), effect, own.way.word().to_owned()]
}

fn grid(width: u16, heading: &[&str], rows: Vec<Vec<String>>, right: usize) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(heading.iter().copied());
    table.add_rows(rows);
    for at in 1..right {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n", table.trim_fmt())
}
